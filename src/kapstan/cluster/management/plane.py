"""A management plane, put together: what comes first is what the rest needs, and it ends in the opposite order.

    async with management_plane(folder) as plane:
        await plane.client.create(cluster)

The API server is the embedded one, its data in the folder, or that of an existing cluster. The folder also holds what
hosted control planes need. When the block ends nothing runs any more; all data stay for the next time.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from kapstan.client import Client, Config, definitions
from kapstan.client.loopback import reachable
from kapstan.cluster.core.controllers import SCOPES
from kapstan.cluster.management.election import NAMESPACE, leases_of, once_elected
from kapstan.cluster.management.namespaces import ensure_namespace
from kapstan.cluster.management.providers import ALL, Provider, add_providers, kinds_of, webhooks_of
from kapstan.cluster.management.runtimes import runtimes
from kapstan.cluster.management.webhooks import LOOPBACK, address, configurations_of, is_local, made_known
from kapstan.components.progress import QuietReporter, Reporter
from kapstan.generate.crd import crds_of
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.errors import ConfigError
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions

__all__ = ("ManagementPlane", "management_plane")


class ManagementPlane:
    """A management plane that runs."""

    def __init__(self, folder: Path, config: Config, client: Client, manager: Manager) -> None:
        self.folder, self.config, self.client, self.manager = folder, config, client, manager

    @property
    def url(self) -> str:
        """Where its API server is reached."""
        return self.config.server

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, where the API server is our own."""
        return kubeconfig_of(self.folder)


def kubeconfig_of(folder: Path) -> Path:
    """Where a management plane writes its administrator's kubeconfig."""
    return folder / "kubeconfig"


@asynccontextmanager
async def management_plane(
    folder: Path,
    *,
    config: Config | None = None,
    host: str = LOOPBACK,
    port: int = 0,
    namespaces: tuple[str, ...] = (),
    providers: Collection[Provider] = ALL,
    elect: bool = False,
    reporter: Reporter | None = None,
) -> AsyncIterator[ManagementPlane]:
    """Run a management plane inside the block, which begins when its controllers work.

    With a `config` the controllers run on that cluster; else on an embedded API server at `host` and `port`. They look
    after `namespaces`, or after all. With fewer `providers`, others do the rest. With `elect`, only one of several at
    a time works: the block begins at once, and `manager.elected` is set when it is this one's turn.
    """
    reporter = reporter or QuietReporter()
    async with AsyncExitStack() as stack:
        _make_folder(folder)
        if config is None:
            with reporter.step("Starting the API server"):
                config = await _embedded(stack, folder, host, port)
        client = await stack.enter_async_context(Client(config, field_manager="kapstan"))
        kinds = kinds_of(providers)
        with reporter.step(f"Installing {len(kinds)} kinds"):
            await definitions.install(client, crds_of(kinds))
        with reporter.step("Starting controllers"):
            options = ManagerOptions(scopes=SCOPES, namespaces=namespaces)
            if elect:
                options = await _elected(client, options, providers)
            manager = await _manager(stack, folder, options, providers, client, reporter)
        yield ManagementPlane(folder, config, client, manager)


async def _embedded(stack: AsyncExitStack, folder: Path, host: str, port: int) -> Config:
    """An API server of our own, and a kubeconfig that says how to reach it."""
    from kapstan.apiserver.loopback import Loopback
    from kapstan.apiserver.server import EmbeddedServer

    server = await stack.enter_async_context(EmbeddedServer(data_dir=folder / "apiserver", host=host, port=port))
    stack.enter_context(reachable(server.cluster.address, Loopback(server.cluster)))
    _write_kubeconfig(kubeconfig_of(folder), to_yaml(server.kubeconfig()))
    stack.callback(kubeconfig_of(folder).unlink, missing_ok=True)
    return Config.from_kubeconfig(server.kubeconfig())


async def _elected(client: Client, options: ManagerOptions, providers: Collection[Provider]) -> ManagerOptions:
    """Have the manager wait for its turn."""
    await ensure_namespace(client, NAMESPACE)
    leases = leases_of(providers)
    return replace(options, leader_election=True, leader_election_id=leases, leader_election_namespace=NAMESPACE)


async def _manager(
    stack: AsyncExitStack,
    folder: Path,
    options: ManagerOptions,
    providers: Collection[Provider],
    client: Client,
    reporter: Reporter,
) -> Manager:
    """The controllers, and the webhooks where the API server can call them."""
    config, place = client.config, None
    if is_local(config):
        place = stack.enter_context(address())
        serving = {"webhook_port": place.port, "webhook_certificate": place.certificate}
        options = replace(options, webhook_host=place.host, **serving)
    else:
        reporter.line("Webhooks are not served: the API server runs on another machine and cannot call this one.")
    manager = Manager(config, options)
    add_providers(manager, providers, await runtimes(stack, folder) if "hosted" in providers else {})
    if place is not None:
        manager.add(*webhooks_of(providers))
    await stack.enter_async_context(manager.running())
    if place is not None:
        known = made_known(client, configurations_of(providers, place))
        await stack.enter_async_context(once_elected(manager, known) if options.leader_election else known)
    return manager


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot use the data folder {folder}: {error.strerror or error}; choose another with --data-dir"
        ) from error


def _write_kubeconfig(path: Path, text: str) -> None:
    """Whole or not at all: whoever waits for the file may read it as soon as it is there. For the owner only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(text)
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write the kubeconfig {path}: {error.strerror or error}") from error
