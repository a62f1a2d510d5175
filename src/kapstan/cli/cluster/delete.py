"""`kapstan cluster delete`: a cluster, and with it all that belongs to it, in order."""

from __future__ import annotations

import click

from kapstan.cli import run
from kapstan.cli.cluster.session import connected, existing, named_cluster
from kapstan.cli.cluster.waiting import wait_options, wait_until_gone
from kapstan.cli.examples import examples
from kapstan.cluster.api.core import Cluster

__all__ = ("delete",)


@click.command(epilog=examples("kapstan cluster delete demo --wait --timeout 5m"))
@named_cluster
@wait_options
def delete(name: str, namespace: str, kubeconfig: str, context: str, wait: bool, timeout: float) -> None:
    """Delete cluster NAME: its workers, its control plane, its infrastructure."""
    run(_delete(name, namespace, kubeconfig, context, wait, timeout))


async def _delete(name: str, namespace: str, kubeconfig: str, context: str, wait: bool, timeout: float) -> None:
    async with connected(kubeconfig, context) as client:
        cluster = await existing(client, name, namespace)
        await client.delete(Cluster, cluster.name, cluster.namespace, uid=cluster.uid)
        if wait:
            await wait_until_gone(client, cluster.key, timeout=timeout)
            click.echo(f"Cluster {cluster.key} is gone.")
        else:
            click.echo(f"Cluster {cluster.key} is being deleted.")
