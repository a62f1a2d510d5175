"""Webhooks under test: served on this machine, and made known to the API server while a test runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from kapstan.client import Client
from kapstan.components.ports import free_ports
from kapstan.generate.crd import crd_of
from kapstan.generate.webhook import ClientConfig, crd_conversion, webhook_configurations
from kapstan.k8s.core_v1 import ConfigMap
from kapstan.machinery.errors import Forbidden, InternalError
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource, resource_info
from kapstan.machinery.pki import Usage, new_ca
from kapstan.runtime.options import Certificate
from kapstan.runtime.webhook.declaration import Admission, Conversion, declared, defaulter, validator
from kapstan.testing.installing import install

__all__ = ("WebhookAddress", "WebhooksUnderTest")

Document: TypeAlias = dict[str, Any]

_PROBE = "kapstan.dev/webhook-probe"
_PATIENCE = 60.0
_REFUSAL = "this webhook is called"


class WebhookAddress:
    """A port of this machine, and a certificate for it.

    The first that is given back is used again. A CRD that names it then stays as it is from test to test: an API
    server takes a moment to follow a change of a CRD's conversion, and nothing says when it has.
    """

    _free: list[WebhookAddress] = []  # noqa: RUF012 - shared by all on purpose

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self.authority = new_ca("kapstan webhooks under test")
        self.serving = self.authority.issue(
            "webhooks", dns_names=("localhost",), ip_addresses=("127.0.0.1",), usages=[Usage.SERVER]
        )

    @classmethod
    def take(cls) -> WebhookAddress:
        return cls._free.pop() if cls._free else cls()

    def give_back(self) -> None:
        self._free.append(self)

    def write(self, folder: Path) -> Certificate:
        """The certificate as files, for a webhook server."""
        (folder / "tls.crt").write_bytes(self.serving.cert_pem)
        key = folder / "tls.key"
        key.touch(mode=0o600)
        key.write_bytes(self.serving.key_pem)
        return Certificate(str(folder))

    @property
    def client_config(self) -> ClientConfig:
        return ClientConfig(url=f"https://127.0.0.1:{self.port}", ca_bundle=self.authority.cert_pem)


class WebhooksUnderTest:
    """The webhooks of one manager, and how an API server gets to know them."""

    def __init__(self, functions: Iterable[Any], address: WebhookAddress) -> None:
        found = [declared(function) for function in functions]
        self._admissions = [one for one in found if isinstance(one, Admission)]
        self._conversions = [one for one in found if isinstance(one, Conversion)]
        self._client_config = address.client_config
        self._id = uuid4().hex[:8]
        self.probes = self._probes()

    async def install(self, client: Client) -> None:
        """Install the CRDs of kinds that are converted, so that we are asked to convert them."""
        versions: dict[GroupKind, dict[str, type[Resource]]] = {}
        for conversion in self._conversions:
            for cls in (conversion.source, conversion.target):
                info = resource_info(cls)
                versions.setdefault(info.group_kind, {})[info.version] = cls
        for classes in versions.values():
            definition = crd_of(*classes.values())
            definition["spec"]["conversion"] = crd_conversion(self._client_config)
            await install(client, [definition])

    @asynccontextmanager
    async def configured(self, client: Client) -> AsyncIterator[None]:
        """Have the API server call the webhooks inside the block, from its first line on."""
        probes = [one for probe in self.probes.values() if isinstance(one := declared(probe), Admission)]
        wanted = webhook_configurations([*self._admissions, *probes], self._client_config, prefix=f"test-{self._id}-")
        try:
            for configuration in wanted:
                await client.create(configuration)
            async with asyncio.timeout(_PATIENCE):
                for probe in self.probes:
                    await self._called(client, probe)
            yield
        finally:
            for configuration in wanted:
                await client.delete(configuration)

    def _probes(self) -> dict[str, Any]:
        """Webhooks that refuse what bears their label: who is refused knows that their configuration is in force."""
        probes: dict[str, Any] = {}
        for decorate in dict.fromkeys(defaulter if one.mutating else validator for one in self._admissions):
            label = f"{decorate.__name__}-{self._id}"
            selector = {"matchLabels": {_PROBE: label}}
            name = f"{label}.probe.kapstan.dev"
            declare = decorate(ConfigMap, on={"create"}, path=f"/{label}", name=name, object_selector=selector)
            probes[label] = declare(_refuse())
        return probes

    async def _called(self, client: Client, label: str) -> None:
        marked = ConfigMap(metadata=ObjectMeta(generate_name="probe-", namespace="default", labels={_PROBE: label}))
        while True:
            try:
                await client.create(marked, dry_run=True)
            except (Forbidden, InternalError) as error:
                if _REFUSAL in str(error):
                    return
            await asyncio.sleep(0.01)  # there is nothing to watch: a server does not say when it follows


def _refuse() -> Callable[[ConfigMap], None]:
    """A function of its own each time: a webhook's declaration is written on its function."""

    def refuse(new: ConfigMap, *_: Any) -> None:
        raise Forbidden(_REFUSAL)

    return refuse
