"""`kapstan cluster scale`: how many workers, how many replicas of the control plane."""

from __future__ import annotations

from functools import partial

import click

from kapstan.cli import run
from kapstan.cli.cluster.session import connected, existing, named_cluster
from kapstan.cli.cluster.waiting import wait_options, wait_until
from kapstan.cli.examples import examples
from kapstan.client import Client, Patch
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.management.changing import control_plane_of, worker_deployment, worker_deployments
from kapstan.cluster.management.following import is_scaled

__all__ = ("scale",)


@click.command(
    epilog=examples(
        "kapstan cluster scale demo --workers 5 --wait",
        "kapstan cluster scale demo --workers 2 --machine-deployment demo-md-0",
        "kapstan cluster scale demo --control-plane 0    # hibernates; 1 wakes it",
    )
)
@named_cluster
@click.option("--workers", type=click.IntRange(min=0), metavar="N", help="How many workers.")
@click.option(
    "--control-plane",
    type=click.IntRange(min=0),
    metavar="N",
    help="Replicas of the control plane; 0 hibernates a hosted one.",
)
@click.option("--machine-deployment", default="", metavar="NAME", help="Which workers, if there are several sorts.")
@wait_options
def scale(
    name: str,
    namespace: str,
    kubeconfig: str,
    context: str,
    workers: int | None,
    control_plane: int | None,
    machine_deployment: str,
    wait: bool,
    timeout: float,
) -> None:
    """Change how many machines cluster NAME has."""
    if workers is None and control_plane is None:
        raise click.UsageError("Say what to scale: --workers N, --control-plane N, or both.")

    async def go() -> None:
        async with connected(kubeconfig, context) as client:
            cluster = await existing(client, name, namespace)
            if control_plane is not None:
                await _scale_control_plane(client, cluster, control_plane)
            if workers is not None:
                await _scale_workers(client, cluster, machine_deployment, workers)
            if wait:
                total = await _wanted_workers(client, cluster) if workers is not None else None
                done = partial(is_scaled, workers=total, control_plane=control_plane)
                await wait_until(client, cluster, done, title=f"Scaling cluster {cluster.key}", timeout=timeout)

    run(go())


async def _scale_control_plane(client: Client, cluster: Cluster, replicas: int) -> None:
    document = await control_plane_of(client, cluster)
    await client.patch(document, Patch.merge({"spec": {"replicas": replicas}}))
    click.echo(f"{document['kind']} {document['metadata']['name']} is scaled to {replicas}")


async def _scale_workers(client: Client, cluster: Cluster, name: str, replicas: int) -> None:
    deployment = await worker_deployment(client, cluster, name)
    await client.patch(deployment, Patch.merge({"spec": {"replicas": replicas}}))
    click.echo(f"MachineDeployment {deployment.name} is scaled from {deployment.spec.replicas or 0} to {replicas}")


async def _wanted_workers(client: Client, cluster: Cluster) -> int:
    """Of all sorts."""
    return sum(deployment.spec.replicas or 0 for deployment in await worker_deployments(client, cluster))
