"""`kapstan generate cluster`: the manifests of a cluster, from a template."""

from __future__ import annotations

import click

from kapstan.cli.cluster.session import namespace_option
from kapstan.cli.cluster.template import TemplateChoice, template_options
from kapstan.cluster.templates.rendering import documents_of
from kapstan.cluster.templates.substitution import substitute, variables_of
from kapstan.machinery.errors import ConfigError

__all__ = ("generate_cluster",)


@click.command("cluster")
@click.argument("name", required=False, default="", metavar="NAME")
@namespace_option
@template_options
@click.option("--list-variables", is_flag=True, help="Show which variables the template has, and their defaults.")
def generate_cluster(name: str, namespace: str, list_variables: bool, **template: object) -> None:
    """Print the manifests of cluster NAME, made from a template.

    \b
    kapstan generate cluster demo --workers 5 | kubectl apply -f -
    """
    choice = TemplateChoice(**template)  # type: ignore[arg-type]
    if list_variables:
        for variable in variables_of(choice.text):
            click.echo(f"{variable.name}  {_told(variable.default)}")
        return
    if not name:
        raise ConfigError("name the cluster: kapstan generate cluster NAME")
    values = choice.values(name, namespace)
    documents_of(choice.text, values)  # what does not make sense is not printed
    click.echo(substitute(choice.text, values), nl=False)


def _told(default: str | None) -> str:
    return "(required)" if default is None else f"(default: {default!r})"
