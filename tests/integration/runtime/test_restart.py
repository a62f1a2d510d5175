"""Informers and operators while their API server is restarted, and has forgotten what was before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from kapstan import Client, Config, Manager, ManagerOptions, ObjectMeta, Patch, Reconciler, controller
from kapstan.apiserver.server import EmbeddedServer
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.runtime.factory import InformerFactory
from kapstan.runtime.scope import Scope

Eventually = Callable[[Callable[[], object]], Awaitable[None]]
Restart = Callable[[], Awaitable[None]]


class OnDisk:
    """The embedded server with its data on disk, so that there is something to come back with."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = AsyncExitStack()

    async def start(self, port: int = 0) -> EmbeddedServer:
        self._server = await self._stack.enter_async_context(EmbeddedServer(data_dir=self._folder, port=port))
        return self._server

    async def stop(self) -> None:
        await self._stack.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start(self._server.endpoint.port)


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def restartable(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Config, Restart]]:
    if request.param == "real":
        server = request.getfixturevalue("real_api_server")
        yield Config.from_kubeconfig(server.kubeconfig()), server.plane.restart_apiserver
        return
    embedded = OnDisk(tmp_path)
    try:
        yield Config.from_kubeconfig((await embedded.start()).kubeconfig()), embedded.restart
    finally:
        await embedded.stop()


@pytest.fixture
def config(restartable: tuple[Config, Restart]) -> Config:
    return restartable[0]


@pytest.fixture
def restart(restartable: tuple[Config, Restart]) -> Restart:
    return restartable[1]


def config_map(name: str, namespace: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))


async def test_what_happened_while_nobody_watched_is_told_afterwards(
    restart: Restart, client: Client, fragile: Client, proxy: Any, namespace: str, eventually: Eventually
) -> None:
    """Objects come and go, and the server forgets its history: the informer lists again, and tells what vanished and
    what was replaced."""
    for name in ("kept", "deleted", "replaced"):
        await client.create(config_map(name, namespace))
    factory = InformerFactory(fragile, scope=Scope(namespaces=(namespace,)))
    heard: list[tuple[str, str]] = []

    def hear(old: ConfigMap | None, new: ConfigMap | None) -> None:
        state = new or old
        assert state is not None
        if state.name != "kube-root-ca.crt":
            heard.append(("-" if new is None else "+" if old is None else "~", state.name))

    informer = factory[ConfigMap]
    informer.on_change(hear)
    async with factory.running():
        first = informer.lister(namespace).get("replaced")
        await proxy.close()
        heard.clear()
        await client.delete(ConfigMap, "deleted", namespace)
        await client.delete(ConfigMap, "replaced", namespace)
        second = await client.create(config_map("replaced", namespace))
        await client.create(config_map("new", namespace))
        await restart()
        await proxy.open()
        await eventually(lambda: len(heard) == 4)
        assert sorted(heard) == [("+", "new"), ("+", "replaced"), ("-", "deleted"), ("-", "replaced")]
        found = informer.lister(namespace).get("replaced")
        assert first is not None and found is not None
        assert first.uid != found.uid == second.uid


@controller(ConfigMap, name="stamper")
class Stamper(Reconciler[ConfigMap]):
    async def reconcile(self, config_map: ConfigMap) -> None:
        if "wanted" in config_map.data and config_map.data.get("done") != config_map.data["wanted"]:
            await self.client.patch(config_map, Patch.merge({"data": {"done": config_map.data["wanted"]}}))


async def test_an_operator_works_on_as_if_nothing_had_been(
    restart: Restart, config: Config, client: Client, namespace: str, eventually: Eventually
) -> None:
    """Without its own restart, and also if something was to be done while the server was away."""
    manager = Manager(config, ManagerOptions(namespaces=(namespace,)))
    manager.add(Stamper())
    done: dict[str, str] = {}

    def note(old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is not None and "done" in new.data:
            done[new.name] = new.data["done"]

    manager.informers[ConfigMap].on_change(note)
    async with manager.running():
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data={"wanted": "before"}))
        await eventually(lambda: done.get("a") == "before")
        await restart()
        await client.patch(config_map("a", namespace), Patch.merge({"data": {"wanted": "after"}}))
        await eventually(lambda: done.get("a") == "after")
