"""`kapstan init`: begin an operator's project."""

from __future__ import annotations

from pathlib import Path

import click

from kapstan.cli.scaffolding import switch, tell
from kapstan.scaffold import commands
from kapstan.scaffold.names import package_of
from kapstan.scaffold.project import Project

__all__ = ("init",)

_EXAMPLES = """\b
Examples:
  kapstan init --domain example.com
  kapstan init --domain example.com --repo memcached_operator --project-name memcached-operator
  kapstan init --domain example.com --multigroup --namespaced
  kapstan init --domain example.com --license apache2 --owner "The Memcached Authors"

\b
Next:
  kapstan create api --group cache --version v1alpha1 --kind Memcached
"""


@click.command(epilog=_EXAMPLES)
@click.option("--domain", default="my.domain", show_default=True, help="What the groups of your APIs end with.")
@click.option("--repo", default="", metavar="NAME", help="The Python package.  [default: the project's name]")
@click.option("--project-name", default="", metavar="NAME", help="The project.  [default: the folder's name]")
@switch("--multigroup", default=False, help="Kinds of several groups, in a folder each.")
@switch(
    "--namespaced", default=False, help="The operator works in one namespace, and has a Role instead of a ClusterRole."
)
@click.option(
    "--license",
    type=click.Choice(["apache2", "none"]),
    default="apache2",
    show_default=True,
    help="What files begin with.",
)
@click.option("--owner", default="", help="Whose copyright it is.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def init(
    domain: str,
    repo: str,
    project_name: str,
    multigroup: bool,
    namespaced: bool,
    license: str,
    owner: str,
    force: bool,
) -> None:
    """Begin an operator's project in the current folder.

    It has a Makefile whose targets set up what they need, manifests for kustomize, tests that pass, and no kinds yet.
    """
    root = Path.cwd()
    name = project_name or root.name.lower().replace("_", "-")
    project = Project(
        domain=domain,
        project_name=name,
        repo=repo or package_of(name),
        multigroup=multigroup,
        namespaced=namespaced,
        license="" if license == "none" else license,
        owner=owner,
    )
    tell(commands.init(root, project, force=force))
    click.echo("\nNext: kapstan create api --group <group> --version v1alpha1 --kind <Kind>")
