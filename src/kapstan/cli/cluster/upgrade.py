"""`kapstan cluster upgrade`: another version of Kubernetes, the control plane first."""

from __future__ import annotations

from functools import partial

import click

from kapstan.cli import run, values
from kapstan.cli.cluster.session import connected, existing, named_cluster
from kapstan.cli.cluster.waiting import wait_options, wait_until
from kapstan.cli.examples import examples
from kapstan.client import Client, Patch
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.management.changing import control_plane_of, worker_deployments
from kapstan.cluster.management.following import is_upgraded

__all__ = ("upgrade",)


@click.command(epilog=examples("kapstan cluster upgrade demo --kubernetes-version v1.36.4 --wait --timeout 30m"))
@named_cluster
@click.option(
    "--kubernetes-version",
    type=values.kubernetes_version,
    required=True,
    metavar="VERSION",
    help="The version to bring it to.",
)
@wait_options
def upgrade(
    name: str, namespace: str, kubeconfig: str, context: str, kubernetes_version: str, wait: bool, timeout: float
) -> None:
    """Bring cluster NAME to another version of Kubernetes.

    The control plane is upgraded first; workers follow when it is done, step by step.
    """

    async def go() -> None:
        async with connected(kubeconfig, context) as client:
            cluster = await existing(client, name, namespace)
            await _upgrade(client, cluster, kubernetes_version)
            if wait:
                done = partial(is_upgraded, version=kubernetes_version)
                await wait_until(client, cluster, done, title=f"Upgrading cluster {cluster.key}", timeout=timeout)

    run(go())


async def _upgrade(client: Client, cluster: Cluster, version: str) -> None:
    """All at once: workers of the new version are only made when the control plane has it."""
    document = await control_plane_of(client, cluster)
    before, name = document["spec"].get("version", "an unknown version"), document["metadata"]["name"]
    if before == version:
        click.echo(f"{document['kind']} {name} is at {version} already")
    else:
        await client.patch(document, Patch.merge({"spec": {"version": version}}))
        click.echo(f"{document['kind']} {name} goes from {before} to {version}")
    for deployment in await worker_deployments(client, cluster):
        if deployment.spec.template.spec.version == version:
            continue
        await client.patch(deployment, Patch.merge({"spec": {"template": {"spec": {"version": version}}}}))
        click.echo(f"MachineDeployment {deployment.name} follows")
