"""SharedEtcd: one etcd for many control planes, each below a prefix of its own.

It has an authority of its own, which no tenant ever sees. Roles inside etcd would keep prefixes apart as well, but
cost the API servers their fast reads; instead, nobody but the API servers of this machine's manager can get in.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path

import aiohttp
import msgspec

from kapstan.cluster.controlplane.hosted.certificates import etcd_leaves
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentState, Datastore
from kapstan.cluster.controlplane.hosted.runtime.ports import PortTable
from kapstan.cluster.controlplane.hosted.runtime.process.component import Component
from kapstan.cluster.controlplane.hosted.runtime.process.probes import etcd_probes
from kapstan.cluster.controlplane.hosted.runtime.process.programs import Programs
from kapstan.cluster.pki.leaves import Issuance, Issuer, renew
from kapstan.components.etcd import Etcd, etcd_arguments
from kapstan.components.files import write_private
from kapstan.components.process import Backoff, Command
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.pki import CertificateAuthority, load_ca, new_ca

__all__ = ("SharedEtcd",)

_OWNER = ObjectKey("", "shared-etcd")
_ADDRESS = "127.0.0.1"
_QUOTA = 8 << 30
_SECONDS = 30.0


class SharedEtcd:
    """The etcd that control planes share. It runs from the first that needs it to the last."""

    def __init__(
        self,
        path: Path,
        programs: Programs,
        ports: PortTable,
        tasks: asyncio.TaskGroup,
        changed: Callable[[], None],
        *,
        backoff: Backoff | None = None,
    ) -> None:
        self._path = path
        self._pki = path / "pki"
        self._programs = programs
        self._ports = ports
        self._component = Component("etcd", path, tasks, self._on_change, backoff=backoff)
        self._changed = changed
        self._lock = asyncio.Lock()

    @property
    def state(self) -> ComponentState:
        return self._component.state

    async def ensure(self, prefix: str) -> Datastore:
        """Have it running; where a control plane finds its part of it."""
        async with self._lock:
            authority = self._authority()
            client, peer = self._listening()
            self._write_leaves(authority)
            await self._component.ensure(await self._command(client, peer), "", lambda: etcd_probes(self._pki, client))
        return Datastore(servers=(f"https://{_ADDRESS}:{client}",), prefix=f"/{prefix}", authority=authority)

    async def delete(self, prefix: str) -> None:
        """Delete every key of a control plane. The slash behind it matters: `/a` is also how `/ab/` begins."""
        datastore = await self.ensure(prefix)
        key = f"{datastore.prefix}/".encode()
        body = {"key": _encoded(key), "range_end": _encoded(key[:-1] + bytes([key[-1] + 1]))}
        try:
            async with asyncio.timeout(_SECONDS):
                await self._component.wait_ready()
                await self._post(f"{datastore.servers[0]}/v3/kv/deleterange", body)
        except (TimeoutError, aiohttp.ClientError) as error:
            why = self.state.message or str(error) or "it does not answer"
            raise KapstanError(f"the data {prefix!r} cannot be deleted from the shared etcd: {why}") from error

    async def remove(self) -> None:
        """End it, and leave nothing of it."""
        async with self._lock:
            await self._component.stop(0)
            self._ports.release(self._listening() if self._path.is_dir() else ())
            await asyncio.to_thread(shutil.rmtree, self._path, ignore_errors=True)

    async def stop(self, grace: float) -> None:
        await self._component.stop(grace)

    async def detach(self) -> None:
        await self._component.detach()

    def _on_change(self) -> None:
        if self.state.reason == "AddressInUse":
            (self._path / "ports.json").unlink(missing_ok=True)  # the next who needs it finds others
        self._changed()

    async def _command(self, client: int, peer: int) -> Command:
        member = Etcd(
            client_port=client,
            peer_port=peer,
            certificates=self._pki,
            data=self._path / "data",
            extra_arguments=[("quota-backend-bytes", str(_QUOTA))],
        )
        return Command((str(await self._programs.etcd()), *etcd_arguments(member)))

    def _listening(self) -> tuple[int, int]:
        """The ports of the last time, or free ones."""
        noted = self._path / "ports.json"
        if noted.is_file():
            client, peer = msgspec.json.decode(noted.read_bytes(), type=tuple[int, int])
            self._ports.keep((client, peer), _OWNER)
        else:
            client, peer = self._ports.choose(2, _ADDRESS, _OWNER)
            write_private(noted, msgspec.json.encode((client, peer)))
        return client, peer

    def _authority(self) -> CertificateAuthority:
        certificate, key = self._pki / "etcd" / "ca.crt", self._pki / "etcd" / "ca.key"
        if not key.is_file():
            made = new_ca("shared-etcd-ca")
            write_private(certificate, made.cert_pem)
            write_private(key, made.key_pem)  # last: with it, the authority is there
        return load_ca(certificate.read_bytes(), key.read_bytes())

    def _write_leaves(self, authority: CertificateAuthority) -> None:
        files = {
            name: path.read_bytes()
            for leaf in etcd_leaves()
            for name in (f"{leaf.name}.crt", f"{leaf.name}.key")
            if (path := self._pki / name).is_file()
        }
        for name, content in renew(etcd_leaves(), {Issuer.ETCD: authority}, files, Issuance()).files.items():
            write_private(self._pki / name, content)

    async def _post(self, url: str, body: dict[str, str]) -> None:
        etcd = self._pki / "etcd"
        context = ssl.create_default_context(cafile=str(etcd / "ca.crt"))
        context.load_cert_chain(etcd / "healthcheck-client.crt", etcd / "healthcheck-client.key")
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.post(url, json=body) as response,
        ):
            response.raise_for_status()


def _encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()
