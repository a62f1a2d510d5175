"""`kapstan cluster create`: a cluster from a template, and, if one likes, the wait until it is available."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import click

from kapstan.cli import run
from kapstan.cli.cluster.session import connected, named, named_cluster
from kapstan.cli.cluster.template import TemplateChoice, template_options
from kapstan.cli.cluster.waiting import wait_options, wait_until
from kapstan.cli.examples import examples
from kapstan.client import Client, NoKindMatch
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.management.following import is_available
from kapstan.cluster.management.namespaces import ensure_namespace
from kapstan.cluster.templates.rendering import Document, documents_of
from kapstan.machinery.errors import ConfigError, KapstanError, NotFound
from kapstan.machinery.gvk import ObjectKey

__all__ = ("create",)


@click.command(
    epilog=examples(
        "kapstan cluster create demo --workers 3 --wait",
        "kapstan cluster create demo --flavor hosted --kubernetes-version v1.36.3 --namespace team",
        "kapstan cluster create demo --from template.yaml --set WORKER_CPU=16",
    )
)
@named_cluster
@template_options
@wait_options
def create(
    name: str, namespace: str, kubeconfig: str, context: str, wait: bool, timeout: float, **template: object
) -> None:
    """Create cluster NAME from a template.

    `kapstan generate cluster NAME` prints what would be created, `--list-variables` what can be set.
    """
    run(_create(name, namespace, kubeconfig, context, TemplateChoice(**template), wait, timeout))  # type: ignore[arg-type]


async def _create(
    name: str, namespace: str, kubeconfig: str, context: str, choice: TemplateChoice, wait: bool, timeout: float
) -> None:
    async with connected(kubeconfig, context) as client:
        key = ObjectKey(namespace or client.config.namespace, name)
        documents = documents_of(choice.text, choice.values(key.name, key.namespace))
        _refuse_others(documents, key)
        await _refuse_existing(client, key)
        await ensure_namespace(client, key.namespace)
        for document in documents:
            document["metadata"].setdefault("namespace", key.namespace)
        await _try_all(client, documents)
        await _create_all(client, documents)
        if wait:
            cluster = await client.get(Cluster, key.name, key.namespace)
            title = f"Creating cluster {key}"
            reached = partial(is_available, workers=_workers_of(documents))
            await wait_until(client, cluster, reached, title=title, timeout=timeout, new=True)
            click.echo(f"Cluster {key} is available:  kapstan cluster kubeconfig {named(client, key)}")
        else:
            click.echo(f"Cluster {key} is being created:  kapstan cluster describe {named(client, key)}")


def _workers_of(documents: list[Document]) -> int:
    deployments = [document for document in documents if document["kind"] == "MachineDeployment"]
    return sum(deployment.get("spec", {}).get("replicas", 1) for deployment in deployments)


def _refuse_others(documents: list[Document], key: ObjectKey) -> None:
    """A template that makes something else is not what somebody means who creates a cluster."""
    made = [one for one in documents if one["kind"] == "Cluster" and one["metadata"]["name"] == key.name]
    if not made:
        raise ConfigError(
            f"the template makes no Cluster {key.name}: name it ${{CLUSTER_NAME}}, or create it with kubectl apply"
        )
    if (namespace := made[0]["metadata"].get("namespace", key.namespace)) != key.namespace:
        raise ConfigError(
            f"the template makes Cluster {key.name} in namespace {namespace}, not {key.namespace}: "
            f"use ${{NAMESPACE}} there, or say --namespace {namespace}"
        )


async def _refuse_existing(client: Client, key: ObjectKey) -> None:
    if await client.find(Cluster, key.name, key.namespace) is not None:
        raise ConfigError(f"cluster {key} exists already: choose another name, or delete it first")


async def _try_all(client: Client, documents: list[Document]) -> None:
    """Whatever is refused is refused before controllers have begun with the rest."""
    for document in documents:
        with suppress(NotFound, NoKindMatch):  # it may belong to something that comes before it
            await client.create(document, dry_run=True)


async def _create_all(client: Client, documents: list[Document]) -> None:
    """All or nothing: what was created before something is refused after all is deleted again."""
    created: list[Document] = []  # the last first
    try:
        for document in documents:
            created.insert(0, await client.create(document))
    except KapstanError:
        for document in created:
            await client.delete(document)
        raise
