"""Webhooks of a management plane that is one process: served on this machine, with a certificate that lives as long
as the process does, and made known to the API server for just that time."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from kapstan.client import Client, Config
from kapstan.cluster.management.providers import Provider, webhooks_of
from kapstan.components.ports import free_ports
from kapstan.generate.webhook import ClientConfig, webhook_configurations
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.pki import Usage, new_ca
from kapstan.runtime.options import Certificate
from kapstan.runtime.webhook.declaration import Admission, declared

__all__ = ("LOOPBACK", "Address", "address", "configurations_of", "is_local", "made_known")

LOOPBACK = "127.0.0.1"
_PREFIX = "kapstan-"


class Address(Struct, frozen=True):
    """Where webhooks are served, and how to know them."""

    host: str
    port: int
    certificate: Certificate
    ca_bundle: bytes

    @property
    def client_config(self) -> ClientConfig:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return ClientConfig(url=f"https://{host}:{self.port}", ca_bundle=self.ca_bundle)


@contextmanager
def address(host: str = LOOPBACK) -> Iterator[Address]:
    """An address of this machine with a certificate for it, inside the block."""
    (port,) = free_ports(1)
    authority = new_ca("kapstan webhooks")
    serving = authority.issue("webhooks", ip_addresses=(host,), usages=[Usage.SERVER])
    with tempfile.TemporaryDirectory(prefix="kapstan-webhooks-") as name:
        folder = Path(name)
        (folder / "tls.crt").write_bytes(serving.cert_pem)
        (folder / "tls.key").touch(mode=0o600)
        (folder / "tls.key").write_bytes(serving.key_pem)
        yield Address(host, port, Certificate(name), authority.cert_pem)


def is_local(config: Config) -> bool:
    """Whether the API server runs on this machine, so that it can call us."""
    host = urlsplit(config.server).hostname or ""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


@asynccontextmanager
async def made_known(client: Client, configurations: Iterable[dict[str, Any]]) -> AsyncIterator[None]:
    """Have the API server call webhooks inside the block; afterwards nobody waits for an answer in vain."""
    async with AsyncExitStack() as stack:
        for configuration in configurations:
            await client.apply(configuration, force=True)
            stack.push_async_callback(_forgotten, client, configuration)
        yield


def configurations_of(providers: Collection[Provider], place: Address) -> list[dict[str, Any]]:
    """What tells an API server of the webhooks of providers. Each has its own: somebody else may run the others."""
    found: list[dict[str, Any]] = []
    for provider in providers:
        admissions = [one for one in map(declared, webhooks_of([provider])) if isinstance(one, Admission)]
        found += webhook_configurations(admissions, place.client_config, prefix=f"{_PREFIX}{provider}-")
    return found


async def _forgotten(client: Client, configuration: dict[str, Any]) -> None:
    with suppress(KapstanError):  # an API server that is gone calls nobody
        await client.delete(configuration)
