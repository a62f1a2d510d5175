"""`python -m benchmarks.cluster_program COUNT [KUBECONFIG] [--workers N]`: a management plane that makes clusters, and
deletes them.

The API server is the embedded one, or that of the kubeconfig. It says what it has measured as JSON, one object a line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from kapstan.client import Client, Config
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.management import ManagementPlane, management_plane
from kapstan.cluster.templates.flavors import flavor
from kapstan.cluster.templates.rendering import Document, documents_of
from kapstan.machinery.conditions import is_true
from kapstan.runtime.process import collect_rarely, new_event_loop

WORKERS = 3
_AT_ONCE = 20
_IDLE = 10.0  # seconds
_CALM = 1.0  # seconds without requests
_LONGEST_UNREST = 120.0  # seconds


class Requests:
    """The requests that the controllers make of the management API server."""

    def __init__(self, plane: ManagementPlane) -> None:
        self.count = 0
        transport = plane.manager.client.transport
        known = transport.observer

        def observe(method: str, host: str, code: str, seconds: float) -> None:
            self.count += 1
            if known is not None:
                known(method, host, code, seconds)

        transport.observer = observe

    async def so_far(self) -> int:
        return self.count


async def main(count: int, kubeconfig: Path | None, workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config.load(kubeconfig) if kubeconfig is not None else None
        async with management_plane(Path(folder), config=config) as plane:
            requests = Requests(plane)
            say("started")
            began = time.monotonic()
            await apply(plane.client, flavor("simulated"), count, workers)
            await until(plane.client, count, partial(is_up, workers=workers))
            say("available", seconds=time.monotonic() - began, requests=requests.count / count)
            await calm(requests.so_far)
            before = requests.count
            cpu = time.process_time()
            await asyncio.sleep(_IDLE)
            say("idle", cpu=(time.process_time() - cpu) / _IDLE, requests=(requests.count - before) / _IDLE)
            before, began = requests.count, time.monotonic()
            for cluster in await plane.client.list(Cluster, "default"):
                await plane.client.delete(cluster)
            await until(plane.client, 0, lambda cluster: True)
            say("deleted", seconds=time.monotonic() - began, requests=(requests.count - before) / count)


async def apply(client: Client, template: str, count: int, workers: int = WORKERS) -> None:
    """Make the objects of all clusters from a template, some clusters at a time, as fast as the server takes them."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(documents: list[Document]) -> None:
        async with gate:
            for document in documents:
                await client.create(document)

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            values = {"CLUSTER_NAME": f"c{number}", "WORKER_MACHINE_COUNT": str(workers)}
            group.create_task(one(documents_of(template, values)))


async def until(client: Client, count: int, counts: Callable[[Cluster], bool]) -> None:
    """Wait until that many clusters are so."""
    found = await client.list(Cluster, "default")
    so: dict[str, bool] = {cluster.name: counts(cluster) for cluster in found}
    if sum(so.values()) == count:
        return
    async with client.watch(Cluster, "default", resource_version=found.resource_version) as events:
        async for event in events:
            so[event.object.name] = event.type != "DELETED" and counts(event.object)
            if sum(so.values()) == count:
                return


async def calm(requests: Callable[[], Awaitable[int]], few: int = 0) -> None:
    """Wait until what is still to be done has been, events above all: until a second brings few requests or none."""
    deadline = time.monotonic() + _LONGEST_UNREST
    known, since = await requests(), -1
    while known - since > few and time.monotonic() < deadline:
        await asyncio.sleep(_CALM)
        known, since = await requests(), known


def is_up(cluster: Cluster, workers: int = WORKERS) -> bool:
    counts = cluster.status.workers
    ready = counts is not None and counts.available_replicas == workers
    return ready and is_true(cluster.status.conditions, "Available")


def say(event: str, **values: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"event": event, "process_cpu": time.process_time(), "peak": peak, **values}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("kubeconfig", type=Path, nargs="?")
    parser.add_argument("--workers", type=int, default=WORKERS)
    arguments = parser.parse_args()
    collect_rarely()  # as `kapstan up` does
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(arguments.count, arguments.kubeconfig, arguments.workers))
