"""Environment: a management cluster for tests, and what tests do with it.

Nothing here sleeps: a test waits for what it wants to see, by watching it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from kapstan.client import Client, Config
from kapstan.components.controlplane import Options
from kapstan.k8s.core_v1 import Namespace, Node
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.errors import Expired
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.simulation import NodeSpec, Simulation, Timing
from kapstan.testing.expecting import Condition, Seen, unmet
from kapstan.testing.installing import Source, install
from kapstan.testing.running import Operator, Setup, running
from kapstan.testing.servers import APIServer, embedded_server, real_server

__all__ = ("DEFAULT_TIMEOUT", "Environment", "embedded", "real")

R = TypeVar("R", bound=Resource)

# Long enough for a machine that is busy with other tests; a test that passes never waits so long.
DEFAULT_TIMEOUT = 60.0


class Environment:
    """An API server, its administrator's client, and helpers for tests."""

    def __init__(self, server: APIServer, client: Client) -> None:
        self.server = server
        self.client = client

    @property
    def name(self) -> str:
        """Which API server it is: `embedded` or `real`."""
        return self.server.name

    @property
    def config(self) -> Config:
        """How the administrator connects."""
        return self.client.config

    def user(self, name: str, *groups: str) -> Config:
        """How somebody else connects: a user who may do what roles are bound to the name or the groups."""
        return Config.from_kubeconfig(self.server.kubeconfig(name, groups))

    def write_kubeconfig(self, path: Path, user: str = "", *groups: str) -> Path:
        """A kubeconfig file for programs such as kubectl, readable by its owner only."""
        path.touch(mode=0o600)
        path.write_text(to_yaml(self.server.kubeconfig(user, groups)))
        return path

    async def install(self, *sources: Source) -> None:
        """Install CRDs, and wait until they are served.

        From types, from documents, or from files and folders of manifests.
        """
        await install(self.client, sources)

    async def namespace(self, prefix: str = "test-") -> str:
        """A new namespace; its name."""
        created = await self.client.create(Namespace(metadata=ObjectMeta(generate_name=prefix)))
        return created.name

    def run(
        self, *things: Any, setup: Setup | None = None, least_privilege: bool = False, **options: Any
    ) -> AbstractAsyncContextManager[Operator]:
        """Run reconcilers, webhooks and whatever else a manager runs, inside the block.

            async with env.run(MemcachedReconciler(), default, validate) as operator:
                ...

        `setup` adds parts to the manager, as an operator's main module does; `options` are fields of ManagerOptions.
        With `least_privilege` the operator acts as a user who has only the generated roles, and the block ends with an
        AssertionError if a permission was missing, or was declared and never used.
        """
        return running(self, things, setup, least_privilege=least_privilege, **options)

    @asynccontextmanager
    async def simulate(self, *, nodes: int = 1, timing: Timing | None = None) -> AsyncIterator[Simulation]:
        """Have pods run inside the block, on nodes that are simulated: Deployments become Available.

        async with env.simulate():
            await env.eventually(Deployment, "web", "default", lambda web: web.status.available_replicas == 3)
        """
        names = [f"node-{number}" for number in range(nodes)]
        async with Simulation(self.config, timing=timing).running() as simulation:
            for name in names:
                await simulation.kubelets.register(NodeSpec(name=name))
            yield simulation
        for name in names:  # the next test on this API server has nodes of its own
            await self.client.delete(Node, name)

    async def eventually(
        self,
        kind: type[R],
        name: str,
        namespace: str = "",
        condition: Condition[R] = lambda obj: True,
        *,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> R:
        """Wait until the object is there and the condition holds, and give it.

        The condition gives something true, or asserts; or it is the fields that the object should have:

            await env.eventually(Deployment, "web", "default", {"spec": {"replicas": 3}})

        AssertionError shows the object as it was last seen, how it differs, and what changed in the meantime.
        """
        seen = Seen()
        try:
            async with asyncio.timeout(timeout):
                async for obj in self._states(kind, name, namespace):
                    if obj is None:
                        seen.deleted()
                    elif (reason := unmet(condition, obj)) is None:
                        return obj
                    else:
                        seen.note(obj, reason)
        except TimeoutError:
            pass
        raise AssertionError(_told(kind.__name__, name, namespace, timeout, seen))

    async def gone(
        self, kind: type[Resource], name: str, namespace: str = "", *, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        """Wait until there is no such object."""
        seen = Seen()
        fields = {"metadata.name": name}
        try:
            async with asyncio.timeout(timeout):
                while found := await self.client.list(kind, namespace, fields=fields):
                    seen.note(found[0], "it is still there")
                    # From where the list ended, so that nothing in between is missed.
                    version = found.resource_version
                    async with self.client.watch(kind, namespace, fields=fields, resource_version=version) as events:
                        async for event in events:
                            if event.type == "DELETED":
                                break
                return
        except TimeoutError:
            pass
        raise AssertionError(_told(kind.__name__, name, namespace, timeout, seen))

    async def _states(self, kind: type[R], name: str, namespace: str) -> AsyncIterator[R | None]:
        """Every state of an object from now on, None where it was deleted. Never ends."""
        while True:
            try:
                async with self.client.watch(kind, namespace, fields={"metadata.name": name}) as events:
                    async for event in events:
                        if event.type != "BOOKMARK":
                            yield None if event.type == "DELETED" else event.object
            except Expired:
                continue


def _told(kind: str, name: str, namespace: str, timeout: float, seen: Seen) -> str:
    where = f"{namespace}/{name}" if namespace else name
    return f"{kind} {where} was not as expected within {timeout:.0f} s: {seen.reason}{seen}"


@asynccontextmanager
async def embedded(*sources: Source, data_dir: Path | None = None) -> AsyncIterator[Environment]:
    """An environment on the embedded API server, with these CRDs installed."""
    async with embedded_server(data_dir) as server, opened(server, sources) as env:
        yield env


@asynccontextmanager
async def real(
    *sources: Source, folder: Path | None = None, options: Options | None = None
) -> AsyncIterator[Environment]:
    """An environment on a real etcd and kube-apiserver, with these CRDs installed."""
    with tempfile.TemporaryDirectory(prefix="kapstan-") as temporary:
        async with real_server(folder or Path(temporary), options) as server, opened(server, sources) as env:
            yield env


@asynccontextmanager
async def opened(server: APIServer, sources: Sequence[Source] = ()) -> AsyncIterator[Environment]:
    """An environment on an API server that runs already."""
    config = Config.from_kubeconfig(server.kubeconfig())
    async with Client(config, field_manager="kapstan-testing") as client:
        env = Environment(server, client)
        await env.install(*sources)
        yield env
