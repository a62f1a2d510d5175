"""`kapstan edit`: change how a project is laid out."""

from __future__ import annotations

from pathlib import Path

import click

from kapstan.cli.scaffolding import regenerate, switch, tell
from kapstan.scaffold import commands

__all__ = ("edit",)

_EXAMPLES = """\b
Examples:
  kapstan edit --multigroup
  kapstan edit --namespaced
  kapstan edit --namespaced=false
"""


@click.command(epilog=_EXAMPLES)
@switch("--multigroup", default=None, help="Kinds of several groups; new ones are in a folder of their group.")
@switch(
    "--namespaced", default=None, help="The operator works in one namespace, and has a Role instead of a ClusterRole."
)
@click.option("--force", is_flag=True, help="Overwrite files that were changed by hand.")
def edit(multigroup: bool | None, namespaced: bool | None, force: bool) -> None:
    """Change how a project is laid out.

    Kinds that are there stay where they are. What you changed in files that have to change is merged.
    """
    if multigroup is None and namespaced is None:
        raise click.UsageError("Say what to change: --multigroup or --namespaced.")
    root = Path.cwd()
    tell(commands.edit(root, multigroup=multigroup, namespaced=namespaced, force=force))
    regenerate(root)
