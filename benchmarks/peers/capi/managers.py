"""Cluster API's managers as processes on an API server, with their kinds and webhooks.

    async with managers(client, kubeconfig, folder, ("core", "bootstrap")) as running:
        running["core"].process.pid

What kustomize and cert-manager do where they are deployed is done here: CRDs get the contract's labels and say who
converts them, webhooks are called at an address of this machine, with a certificate of ours.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from benchmarks.peers.capi.build import PROVIDERS, Built, Document, build
from kapstan.client import Client
from kapstan.components.guard import Guard
from kapstan.components.ports import free_ports
from kapstan.components.process import Command, Process
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.pki import Usage, new_ca
from kapstan.testing.installing import install

__all__ = ("GoManager", "managers")

_HOST = "127.0.0.1"
_CONTRACTS = {"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"}
_PATIENCE = 120.0  # seconds


class _Place(Struct, frozen=True):
    """Where a manager listens, and how its callers know it."""

    webhooks: int
    health: int
    metrics: int
    certificates: Path
    ca_bundle: str

    def client_config(self, path: str) -> Document:
        return {"url": f"https://{_HOST}:{self.webhooks}{path}", "caBundle": self.ca_bundle}


class GoManager(Struct, frozen=True):
    """A manager that runs."""

    process: Process
    metrics_port: int

    async def requests_to(self, server: str) -> int:
        """How many requests it has made to the API server at this host and port, watches included."""
        text = (await _get(self.metrics_port, "/metrics"))[1]
        lines = (line for line in text.splitlines() if line.startswith("rest_client_requests_total{"))
        return int(sum(float(line.rpartition(" ")[2]) for line in lines if f'host="{server}"' in line))


@asynccontextmanager
async def managers(
    client: Client,
    kubeconfig: Path,
    folder: Path,
    providers: Iterable[str] = tuple(PROVIDERS),
    *,
    flags: Iterable[str] = (),
) -> AsyncIterator[Mapping[str, GoManager]]:
    """Have these providers work inside the block, on the API server of `client` and of the kubeconfig file.

    Their logs are in the folder. Afterwards their webhooks are no longer known; their kinds stay.
    """
    built = await asyncio.to_thread(build)
    # One at a time on a machine: the simulated clusters have the same ports in every process.
    with built.folder.with_suffix(".lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        async with _managers(built, client, kubeconfig, folder, providers, flags) as running:
            yield running


@asynccontextmanager
async def _managers(
    built: Built, client: Client, kubeconfig: Path, folder: Path, providers: Iterable[str], flags: Iterable[str]
) -> AsyncIterator[Mapping[str, GoManager]]:
    places = {provider: _place(folder / provider) for provider in providers}
    for provider, place in places.items():
        await install(client, [_definition(one, place) for one in built.definitions(provider)])
    configurations: list[Document] = []
    guard = Guard(folder)
    running = {name: _process(built, name, place, kubeconfig, folder, flags) for name, place in places.items()}
    try:
        for process in running.values():
            await process.start()
        for provider, process in running.items():
            await process.wait_ready(_PATIENCE)
            for document in built.webhooks(provider):
                configurations.append(_configuration(document, provider, places[provider]))
                await client.apply(configurations[-1], force=True)
        yield {name: GoManager(process, places[name].metrics) for name, process in running.items()}
    finally:
        await _forget(client, configurations)
        for process in running.values():
            await process.stop()
        guard.release()


def _place(folder: Path) -> _Place:
    authority = new_ca("webhooks")
    serving = authority.issue("webhooks", ip_addresses=(_HOST,), usages=[Usage.SERVER])
    folder.mkdir(mode=0o700, parents=True)
    (folder / "tls.crt").write_bytes(serving.cert_pem)
    (folder / "tls.key").touch(mode=0o600)
    (folder / "tls.key").write_bytes(serving.key_pem)
    webhooks, health, metrics = free_ports(3)
    return _Place(webhooks, health, metrics, folder, base64.b64encode(authority.cert_pem).decode())


def _process(built: Built, name: str, place: _Place, kubeconfig: Path, folder: Path, flags: Iterable[str]) -> Process:
    argv = (
        str(built.program(name)),
        f"--kubeconfig={kubeconfig}",
        f"--webhook-port={place.webhooks}",
        f"--webhook-cert-dir={place.certificates}",
        f"--health-addr={_HOST}:{place.health}",
        f"--diagnostics-address={_HOST}:{place.metrics}",
        "--insecure-diagnostics=true",
        *flags,
    )

    async def probe() -> str | None:
        return await _readyz(place.health)

    return Process(name, Command(argv, {"POD_IP": _HOST, "POD_NAMESPACE": "default"}), folder, probe=probe)


async def _readyz(port: int) -> str | None:
    """None if a manager is ready, else why not."""
    try:
        status, _ = await _get(port, "/readyz")
    except OSError as error:
        return str(error)
    return None if " 200 " in f"{status} " else f"/readyz says {status}"


async def _get(port: int, path: str) -> tuple[str, str]:
    """The status line and the text that a manager answers with."""
    reader, writer = await asyncio.open_connection(_HOST, port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {_HOST}\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode(errors="replace").partition("\r\n\r\n")
    finally:
        writer.transport.abort()
    return head.partition("\r\n")[0], body


def _definition(document: Document, place: _Place) -> Document:
    """A CRD with what kustomize would add."""
    if not document["spec"]["group"].startswith(("cluster.", "addons.", "ipam.", "runtime.")):
        document["metadata"]["labels"] = document["metadata"].get("labels", {}) | _CONTRACTS
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": place.client_config("/convert")}
    document["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return document


def _configuration(document: Document, provider: str, place: _Place) -> Document:
    """A webhook configuration of a provider's own name, calling it on this machine."""
    document["metadata"]["name"] = f"capi-{provider}-{document['metadata']['name']}"
    for webhook in document["webhooks"]:
        webhook["clientConfig"] = place.client_config(webhook["clientConfig"]["service"]["path"])
    return document


async def _forget(client: Client, configurations: Iterable[Document]) -> None:
    for configuration in configurations:
        with suppress(KapstanError):  # an API server that is gone calls nobody
            await client.delete(configuration)
