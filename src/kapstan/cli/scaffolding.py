"""What the scaffolding commands share: options as Go writes them, and how the outcome is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kapstan.scaffold.change import Outcome
from kapstan.scaffold.project import load

__all__ = ("gvk_options", "make_option", "regenerate", "switch", "tell")

F = TypeVar("F", bound=Callable[..., Any])


def switch(name: str, *, default: bool | None, help: str, hidden_default: bool = False) -> Callable[[F], F]:
    """An option as Go has it: `--resource`, `--resource=true`, `--resource=false`."""
    shown = "" if hidden_default or default is None else f"  [default: {'true' if default else 'false'}]"
    return click.option(
        name, type=bool, is_flag=False, flag_value=True, default=default, metavar="[=true|false]", help=help + shown
    )


def gvk_options(command: F) -> F:
    """Which kind it is about."""
    for option in (
        click.option("--kind", required=True, help="The kind, in CamelCase: Memcached."),
        click.option("--version", required=True, help="The version of the API: v1alpha1."),
        click.option("--group", required=True, help="The group of the API, without the domain: cache."),
    ):
        command = option(command)
    return command


make_option = switch("--make", default=True, help="Generate manifests afterwards, as `make manifests` does.")


def tell(outcome: Outcome) -> None:
    """Say what happened to files, and what is left to do by hand."""
    for path in outcome.created:
        click.echo(f"created {path}")
    for path in outcome.changed:
        click.echo(f"changed {path}")
    for path, difference in outcome.unmerged.items():
        click.secho(f"\n{path} was changed by hand where it would have to change; please do so yourself:", fg="yellow")
        click.echo(difference)


def regenerate(root: Path) -> None:
    """Generate manifests in a process of its own: the project's code is imported, and may be imported already."""
    project = load(root)
    namespace = ["--namespace", "system"] if project.namespaced else []
    command = [sys.executable, "-m", "kapstan", "generate", "manifests", project.repo, *namespace]
    if subprocess.run(command, cwd=root, check=False).returncode != 0:
        click.secho("Manifests could not be generated. When that is repaired: make manifests", fg="yellow", err=True)
