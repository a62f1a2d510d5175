"""`kapstan cluster list`: every cluster with its versions, its machines, and what it waits for."""

from __future__ import annotations

import click

from kapstan.cli import run
from kapstan.cli.cluster.session import connected
from kapstan.cli.examples import examples
from kapstan.cli.plane import connection_options
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ReplicaCounts

__all__ = ("list_clusters",)


@click.command("list", epilog=examples("kapstan cluster list", "kapstan cluster list --namespace team"))
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace.  [default: all]")
@connection_options
def list_clusters(namespace: str, kubeconfig: str, context: str) -> None:
    """List clusters: the versions that they run, how many of their machines are available, what they wait for."""
    run(_list(namespace, kubeconfig, context))


async def _list(namespace: str, kubeconfig: str, context: str) -> None:
    from kapstan.cli.cluster.drawing import age, console, listed, show
    from kapstan.cluster.management.following import is_available, waits_for

    async with connected(kubeconfig, context) as client:
        clusters = await client.list(Cluster, namespace)
    if not clusters:
        where = f" in namespace {namespace}" if namespace else ""
        option = f" --namespace {namespace}" if namespace else ""
        click.echo(f"There are no clusters{where}. The first: kapstan cluster create demo{option} --wait", err=True)
        return
    table = listed("NAMESPACE", "NAME", "AVAILABLE", "CONTROL PLANE", "WORKERS", "VERSION", "AGE", "WAITING FOR")
    for one in sorted(clusters, key=lambda cluster: cluster.key):
        table.add_row(
            one.namespace,
            one.name,
            "deleting" if one.deleting else "yes" if is_available(one) else "no",
            _counted(one.status.control_plane),
            _counted(one.status.workers),
            _versions(one),
            age(one.metadata.creation_timestamp),
            waits_for(one),
        )
    show(console(), table)


def _counted(counts: ReplicaCounts | None) -> str:
    return "" if counts is None else f"{counts.available_replicas or 0}/{counts.desired_replicas or 0}"


def _versions(cluster: Cluster) -> str:
    """What runs, the control plane's first."""
    counts = (cluster.status.control_plane, cluster.status.workers)
    found = [one.version for part in counts if part is not None for one in part.versions]
    return ", ".join(dict.fromkeys(found))
