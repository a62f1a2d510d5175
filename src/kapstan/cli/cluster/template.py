"""Which template a command uses, and which values its variables have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from kapstan.cli.values import kubernetes_version
from kapstan.cluster.templates.flavors import DEFAULT_FLAVOR, flavor, template_in
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.names import dns1123_label_errors

__all__ = ("TemplateChoice", "template_options")

F = TypeVar("F", bound=Callable[..., Any])


class TemplateChoice(Struct, frozen=True, kw_only=True):
    """What was said about the template on the command line."""

    flavor: str = DEFAULT_FLAVOR
    source: Path | None = None
    kubernetes_version: str | None = None
    workers: int | None = None
    control_plane: int | None = None
    settings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return template_in(self.source) if self.source is not None else flavor(self.flavor)

    def values(self, name: str, namespace: str) -> dict[str, str]:
        """The environment, then what was set, then what has an option of its own."""
        if errors := dns1123_label_errors(name):
            raise ConfigError(f"{name!r} cannot be the name of a cluster: {errors[0]}")
        if namespace and (errors := dns1123_label_errors(namespace)):
            raise ConfigError(f"{namespace!r} cannot be the name of a namespace: {errors[0]}")
        given = {
            "CLUSTER_NAME": name,
            "NAMESPACE": namespace,
            "KUBERNETES_VERSION": self.kubernetes_version,
            "WORKER_MACHINE_COUNT": self.workers,
            "CONTROL_PLANE_MACHINE_COUNT": self.control_plane,
        }
        chosen = {key: str(value) for key, value in given.items() if value is not None and value != ""}
        return {**os.environ, **dict(map(_setting, self.settings)), **chosen}


def template_options(command: F) -> F:
    """Options that choose a template and its values; the command is given a `choice`."""
    options = (
        click.option("--flavor", default=DEFAULT_FLAVOR, show_default=True, help="The template: simulated or hosted."),
        click.option(
            "--from",
            "source",
            type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
            metavar="FILE",
            help="A template file; - is standard input.",
        ),
        click.option(
            "--kubernetes-version", type=kubernetes_version, metavar="VERSION", help="The version of Kubernetes."
        ),
        click.option("--workers", type=click.IntRange(min=0), metavar="N", help="How many workers."),
        click.option("--control-plane", type=click.IntRange(min=0), metavar="N", help="Replicas of the control plane."),
        click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A variable; can be repeated."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"--set {text!r}: write NAME=VALUE")
    return name, value
