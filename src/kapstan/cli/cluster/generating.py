"""`kapstan generate cluster`: the manifests of a cluster, from a template."""

from __future__ import annotations

import click

from kapstan.cli.cluster.session import namespace_option
from kapstan.cli.cluster.template import TemplateChoice, template_options
from kapstan.cli.examples import examples
from kapstan.cluster.templates.rendering import documents_of
from kapstan.cluster.templates.substitution import substitute, variables_of

__all__ = ("generate_cluster",)


@click.command(
    "cluster",
    epilog=examples(
        "kapstan generate cluster demo --workers 5 | kubectl apply -f -",
        "kapstan generate cluster demo --flavor hosted --kubernetes-version v1.36.3 --namespace team",
        "kapstan generate cluster --list-variables",
        "cat template.yaml | kapstan generate cluster demo --from - --set WORKER_CPU=16",
    ),
)
@click.argument("name", required=False, default="", metavar="NAME")
@namespace_option
@template_options
@click.option("--list-variables", is_flag=True, help="Show which variables the template has, and their defaults.")
def generate_cluster(name: str, namespace: str, list_variables: bool, **template: object) -> None:
    """Print the manifests of cluster NAME, made from a template.

    Templates are written as for clusterctl: ${NAME}, ${NAME:=default}. Variables without an option of their own come
    from --set, else from the environment.
    """
    choice = TemplateChoice(**template)  # type: ignore[arg-type]
    text = choice.text
    if list_variables:
        for variable in variables_of(text):
            click.echo(f"{variable.name}  {_told(variable.default)}")
        return
    if not name:
        raise click.UsageError("Name the cluster: kapstan generate cluster NAME")
    values = choice.values(name, namespace)
    documents_of(text, values)  # what does not make sense is not printed
    click.echo(substitute(text, values), nl=False)


def _told(default: str | None) -> str:
    return "(required)" if default is None else f"(default: {default!r})"
