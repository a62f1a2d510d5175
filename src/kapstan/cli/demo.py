"""`kapstan demo`, which is `make demo`: a cluster with a hosted control plane and three workers, on this machine.

Everything is in one temporary folder and one process; when it ends, nothing is left.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kapstan.cli.up import log_to_terminal

if TYPE_CHECKING:
    from kapstan.client import Client, Config
    from kapstan.cluster.api.core import Cluster
    from kapstan.cluster.management import ManagementPlane
    from kapstan.machinery.gvk import ObjectKey

__all__ = ("demo",)

_EXAMPLES = """\b
Examples:
  kapstan demo
  kapstan demo --real
"""
_NAME = "demo"
_WORKERS = 3
_REAL = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]


@click.command(epilog=_EXAMPLES)
@click.option("--real/--simulated", default=None, help="Fetch or build Kubernetes if it is missing, or do without it.")
def demo(real: bool | None) -> None:
    """Show what kapstan does: a management plane, a cluster with a hosted control plane, and something that runs in it.

    With Kubernetes' programs on this machine the control plane is made of them, else it is simulated. In a terminal
    everything goes on until Ctrl-C, else it ends by itself.
    """
    log_to_terminal(verbose=False)
    from kapstan.runtime.process import collect_rarely, new_event_loop

    collect_rarely()
    with asyncio.Runner(loop_factory=new_event_loop) as runner, tempfile.TemporaryDirectory(prefix="kapstan-") as name:
        runner.run(_stoppable(Path(name), real))


async def _stoppable(folder: Path, real: bool | None) -> None:
    """Run until done, or until somebody wants an end; either way everything is put away."""
    task = asyncio.ensure_future(_demo(folder, real))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    await asyncio.wait([task])
    if task.cancelled():
        click.echo("\nStopped; nothing is left behind.")
    else:
        task.result()


async def _demo(folder: Path, real: bool | None) -> None:
    from kapstan.cluster.management import management_plane
    from kapstan.components.progress import ConsoleReporter

    reporter, stopwatch = ConsoleReporter(), _Stopwatch()
    flavor = await _flavor(real)
    began = time.monotonic()
    async with management_plane(folder, reporter=reporter) as plane:
        stopwatch.add("Management plane ready", time.monotonic() - began)
        await _show(plane, flavor, stopwatch)
        if sys.stdout.isatty():
            await asyncio.Event().wait()


async def _flavor(real: bool | None) -> str:
    """What the control plane is made of: Kubernetes' own programs if they are here or asked for."""
    from kapstan.components import assets
    from kapstan.components.assets import MissingAsset
    from kapstan.components.progress import ConsoleReporter
    from kapstan.components.releases import DEFAULT_VERSION

    if real:
        await assets.fetch(_REAL, reporter=ConsoleReporter())
    try:
        if real is not False:
            await assets.find_all(_REAL, DEFAULT_VERSION)
    except MissingAsset:
        real = False
    if real is False:
        click.echo("The control plane is simulated; `make demo REAL=1` gets Kubernetes' own programs first.\n")
        return "simulated"
    click.echo(f"The control plane is Kubernetes' own, {DEFAULT_VERSION}, as processes; workers are simulated.\n")
    return "hosted"


async def _show(plane: ManagementPlane, flavor: str, stopwatch: _Stopwatch) -> None:
    from kapstan.cli.cluster.drawing import console, draw
    from kapstan.cluster.management.tree import load_tree
    from kapstan.machinery.gvk import ObjectKey

    key = ObjectKey("default", _NAME)
    await _create(plane.client, key, flavor)
    cluster = await _available(plane.client, key, stopwatch)
    tenant = await _kubeconfig(plane, key)
    with stopwatch.measuring("Deployment available"):
        await _deploy(tenant)
    click.echo("\n$ kapstan cluster describe demo")
    draw(console(), await load_tree(plane.client, cluster))
    stopwatch.show()
    _how_to_go_on(plane)


async def _create(client: Client, key: ObjectKey, flavor: str) -> None:
    from kapstan.cluster.templates.flavors import flavor as template_of
    from kapstan.cluster.templates.rendering import documents_of

    values = {"CLUSTER_NAME": key.name, "NAMESPACE": key.namespace, "WORKER_MACHINE_COUNT": str(_WORKERS)}
    for document in documents_of(template_of(flavor), values):
        await client.create(document)


async def _available(client: Client, key: ObjectKey, stopwatch: _Stopwatch) -> Cluster:
    """The cluster when it is available; what it reaches on the way is timed."""
    from kapstan.cluster.management.following import follow, is_available, milestones_of, steps_of, waits_for
    from kapstan.components.progress import ConsoleReporter
    from kapstan.machinery.errors import KapstanError

    began, told = time.monotonic(), set[str]()
    reporter = ConsoleReporter()
    with reporter.step(f"Creating cluster {key}") as step:
        async for cluster in follow(client, key):
            if cluster is None:
                break
            for milestone in milestones_of(cluster):
                if milestone.text not in told:
                    told.add(milestone.text)
                    stopwatch.add(milestone.text, time.monotonic() - began)
                    reporter.line(f"  {milestone.text} after {time.monotonic() - began:.1f} s")
            step.update(*steps_of(cluster), waits_for(cluster))
            if is_available(cluster, workers=_WORKERS):
                return cluster
    raise KapstanError(f"cluster {key} was deleted meanwhile")


async def _kubeconfig(plane: ManagementPlane, key: ObjectKey) -> Config:
    """How the new cluster is reached; its kubeconfig is a file now, too."""
    from kapstan.client import Config
    from kapstan.k8s.core_v1 import Secret

    secret = await plane.client.get(Secret, f"{key.name}-kubeconfig", key.namespace)
    file = _tenant_kubeconfig(plane)
    file.touch(mode=0o600)
    file.write_bytes(secret.data["value"])
    return Config.from_kubeconfig(secret.data["value"])


def _tenant_kubeconfig(plane: ManagementPlane) -> Path:
    return plane.folder / f"{_NAME}.kubeconfig"


async def _deploy(config: Config) -> None:
    """Something that runs in the new cluster."""
    from kapstan.cli.cluster.drawing import console, listed, show
    from kapstan.client import Client
    from kapstan.k8s.apps_v1 import Deployment
    from kapstan.k8s.core_v1 import Pod

    async with Client(config, field_manager="kapstan-demo") as client:
        await client.create(_WEB)
        async with client.watch(Deployment, "default", fields={"metadata.name": "web"}) as events:
            async for event in events:
                if event.object.status.available_replicas == _WORKERS:
                    break
        pods = await client.list(Pod, "default", labels="app=web")
    click.echo("\n$ kubectl get pods -o wide   # in the new cluster")
    table = listed("NAME", "STATUS", "IP", "NODE")
    for pod in sorted(pods, key=lambda one: one.name):
        table.add_row(pod.name, pod.status.phase, pod.status.pod_ip, pod.spec.node_name)
    show(console(), table)


_WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": _WORKERS,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.29", "ports": [{"containerPort": 80}]}]},
        },
    },
}


def _how_to_go_on(plane: ManagementPlane) -> None:
    if not sys.stdout.isatty():
        return
    click.echo(
        f"""
It runs until you press Ctrl-C. In another terminal:

  export KUBECONFIG={plane.kubeconfig}
  kapstan cluster scale demo --workers 5 --wait
  kapstan cluster describe demo
  kubectl get clusters,machines
  kubectl --kubeconfig {_tenant_kubeconfig(plane)} get nodes
"""
    )


class _Stopwatch:
    """How long each part took."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, what: str, seconds: float) -> None:
        self._seconds[what] = seconds

    @contextmanager
    def measuring(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.add(what, time.monotonic() - began)

    def show(self) -> None:
        click.echo("\nSeconds, those of the cluster since it was created:")
        for what, seconds in self._seconds.items():
            click.echo(f"  {seconds:6.1f}  {what}")
