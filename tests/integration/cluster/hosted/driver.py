"""A control plane without a controller: what a reconciler would do, reduced to the runtime's part of it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.unit.cluster.controlplane.hosted.builders import some_settings

from kapstan.client import Client, Config, RetryPolicy
from kapstan.cluster.controlplane.hosted.certificates import renewed_leaves
from kapstan.cluster.controlplane.hosted.desired import desired_state
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, Instance, Observation, Runtime
from kapstan.cluster.controlplane.hosted.runtime.process.runtime import ProcessRuntime
from kapstan.cluster.controlplane.hosted.settings import Endpoint, Settings
from kapstan.cluster.controlplane.hosted.tenant.objects import apply_objects, bootstrap_objects
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.cluster.pki.kubeconfig import Administrator
from kapstan.components.process import Backoff
from kapstan.components.releases import DEFAULT_VERSION
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.pki import CertificateAuthority, new_ca, new_signing_key

PATIENCE = 180.0
NEW = DEFAULT_VERSION


def manager(data: Path) -> ProcessRuntime:
    """A runtime under a manager. When it goes, its processes run on."""
    return ProcessRuntime(data, backoff=Backoff(first=0.05, limit=1.0))


class Tenant:
    """One control plane, and what is wanted of it."""

    def __init__(self, runtime: Runtime, name: str = "c1", *, id: str = "", **spec: Any) -> None:
        self.runtime = runtime
        self.name = name
        self.spec = spec
        self.id = id or name
        self.now = datetime.now(UTC)
        self.authorities = some_authorities(self.now)
        self.endpoint: Endpoint | None = None
        self._changed = asyncio.Event()
        runtime.subscribe(self._wake)

    def of(self, runtime: Runtime) -> Tenant:
        """The same one, under another manager."""
        other = Tenant(runtime, self.name, id=self.id, **self.spec)
        other.authorities, other.endpoint = self.authorities, self.endpoint
        return other

    @property
    def settings(self) -> Settings:
        settings = some_settings(**self.spec)
        return replace(settings, key=ObjectKey("default", self.name), id=self.id)

    @property
    def instance(self) -> Instance:
        return Instance(ObjectKey("default", self.name), self.id)

    def age(self, by: timedelta) -> None:
        """As if it had been made so long ago."""
        self.now -= by
        self.authorities = some_authorities(self.now)

    @property
    def seen(self) -> Observation:
        return self.runtime.observe(self.instance)

    async def apply(self, **changes: Any) -> None:
        """Say what there shall be, as a reconciler does: from what is wanted and what is there."""
        self.spec.update(changes)
        settings = self.settings
        datastore = await self.runtime.ensure_datastore(self.instance, settings.datastore)
        self.endpoint = await self.runtime.ensure_endpoint(self.instance, settings.exposure, settings.published)
        layout, files = self.runtime.layout(self.instance), await self.runtime.files(self.instance)
        leaves = renewed_leaves(settings, self.authorities, datastore, self.endpoint, layout, files, now=self.now)
        await self.runtime.apply(self.instance, desired_state(settings, self.authorities, datastore, leaves, layout))

    async def until(self, condition: Callable[[Observation], object], timeout: float = PATIENCE) -> Observation:
        """Wait for an observation; as a reconciler would, it says again what there shall be after each change."""
        try:
            async with asyncio.timeout(timeout):
                while not condition(self.seen):
                    self._changed.clear()
                    await self._changed.wait()
                    await self.apply()
        except TimeoutError:
            raise AssertionError(f"not within {timeout:.0f} s; last seen: {self.seen}") from None
        return self.seen

    async def ready(self, timeout: float = PATIENCE) -> Observation:
        return await self.until(is_ready, timeout)

    async def bootstrap(self) -> None:
        """Put the objects there that nodes need to join."""
        assert self.endpoint is not None
        objects = bootstrap_objects(self.settings, self.endpoint, self.authorities.cluster.cert_pem)
        async with Client(self.runtime.connection(self.instance)) as client:
            await apply_objects(client, objects)

    def administrator(self) -> Config:
        """How somebody connects who has the kubeconfig of the cluster's Secret."""
        assert self.endpoint is not None
        admin = Administrator(cluster=self.name, server=self.endpoint.url, ca=self.authorities.cluster)
        return Config.from_kubeconfig(admin.kubeconfig())

    def client(self) -> Client:
        return Client(self.administrator())

    def folder(self, data: Path) -> Path:
        return data / self.name

    async def delete(self) -> None:
        await self.runtime.delete(self.instance)

    def _wake(self, key: ObjectKey) -> None:
        if key == self.instance.key:
            self._changed.set()


def some_authorities(now: datetime) -> ClusterAuthorities:
    return ClusterAuthorities(
        cluster=new_ca("kubernetes", now=now),
        front_proxy=new_ca("front-proxy-ca", now=now),
        service_account=new_signing_key(),
        etcd=new_ca("etcd-ca", now=now),
    )


def is_ready(seen: Observation) -> bool:
    wanted = [name for name in ComponentName if name in seen.components]
    return len(wanted) == len(ComponentName) and all(seen.component(name).ready for name in wanted)


class Asking:
    """Asks an API server all the time, on a new connection each time, and counts when it does not answer."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.answers = 0
        self._asking = True
        self.failures: list[str] = []

    @property
    def refused(self) -> bool:
        """Whether nobody listened for a while. A connection that is cut once, when the old one goes, is tried again."""
        cut = [failure for failure in self.failures if "reset by peer" in failure]
        return len(self.failures) - len(cut) > 0 or len(cut) > 3

    async def __aenter__(self) -> Asking:
        self._task = asyncio.create_task(self._ask())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._asking = False
        await self._task

    async def _ask(self) -> None:
        while self._asking:
            async with Client(self._config, retry=RetryPolicy(lost=0)) as client:
                try:
                    await client.request("GET", "/api/v1/namespaces/default")
                    self.answers += 1
                except KapstanError as failure:
                    self.failures.append(str(failure))


def served_until(authority: CertificateAuthority, port: int, client: tuple[Path, Path] | None = None) -> datetime:
    """When the certificate ends that whoever listens on a port shows."""
    context = ssl.create_default_context(cadata=authority.cert_pem.decode())
    if client is not None:
        context.load_cert_chain(*client)
    with (
        socket.create_connection(("127.0.0.1", port)) as connection,
        context.wrap_socket(connection, server_hostname="localhost") as tls,
    ):
        certificate = tls.getpeercert()
    assert certificate
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
