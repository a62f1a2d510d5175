"""Core, played by the test: it owns providers' objects, and says of clusters and machines what core would say.

A provider is tested by itself, for it may rely on the contract only: any core may be beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from kapstan.client import Client, Patch
from kapstan.client.interface import Unstructured
from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.core.controllers import SCOPES
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.model import Resource
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions
from kapstan.testing import Environment

from .providers import Provider, Sample

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
PAUSED = "cluster.x-k8s.io/paused"
MANAGED_BY = "cluster.x-k8s.io/managed-by"
_QUIET = 0.7  # seconds


class Core:
    """A namespace of a management cluster without core, in which a provider runs."""

    def __init__(self, env: Environment, namespace: str, provider: Provider, folder: Path) -> None:
        self.env, self.namespace, self.provider, self._folder = env, namespace, provider, folder

    @property
    def client(self) -> Client:
        return self.env.client

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The provider runs inside the block, and may be started again after it."""
        manager = Manager(self.env.config, ManagerOptions(scopes=SCOPES, namespaces=(self.namespace,)))
        async with self.provider.serve(manager, self._folder), manager.running():
            yield

    # --- What core makes --------------------------------------------------------------------------------------------

    async def cluster(self, *, paused: bool = False, **refs: Resource) -> Cluster:
        spec: dict[str, Any] = {"paused": paused}
        for name, obj in refs.items():
            spec[name] = {"apiGroup": obj.__resource__.group, "kind": obj.kind, "name": obj.name}
        metadata = {"name": "c", "namespace": self.namespace}
        return await self.client.create(convert({"metadata": metadata, "spec": spec}, Cluster))

    async def machine(self, infrastructure: Resource, name: str = "m") -> Machine:
        """A machine, as one looks whose bootstrap provider has not been heard of yet."""
        ref = {"apiGroup": infrastructure.__resource__.group, "kind": infrastructure.kind, "name": infrastructure.name}
        labels = {CLUSTER_NAME: "c"}
        metadata = {"name": name, "namespace": self.namespace, "labels": labels}
        config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "Config", "name": name}
        spec = {
            "clusterName": "c",
            "bootstrap": {"configRef": config},
            "infrastructureRef": ref,
            "version": "v1.36.3",
        }
        return await self.client.create(convert({"metadata": metadata, "spec": spec}, Machine))

    async def sample(self, sample: Sample, name: str = "x", **metadata: Any) -> Any:
        """A provider's object as a user, or core from a template, makes it."""
        meta = {"name": name, "namespace": self.namespace, **metadata}
        info = sample.kind.__resource__
        document = {"apiVersion": info.api_version, "kind": sample.kind.__name__, "metadata": meta, "spec": sample.spec}
        made = await self.client.create(document)
        return convert(made, sample.kind)

    # --- What core says ---------------------------------------------------------------------------------------------

    async def owns(self, owner: Resource, obj: Resource, *, controller: bool = False) -> None:
        """Owner and label, as core sets them."""
        ref: dict[str, Any] = {"apiVersion": owner.api_version, "kind": owner.kind}
        ref |= {"name": owner.name, "uid": owner.uid}
        if controller:
            ref |= {"controller": True}
        metadata = {"ownerReferences": [ref], "labels": {CLUSTER_NAME: "c"}}
        await self.client.patch(obj, Patch.merge({"metadata": metadata}))

    async def infrastructure_provisioned(self, cluster: Cluster) -> None:
        status = {"initialization": {"infrastructureProvisioned": True}}
        await self.client.patch(cluster, Patch.merge({"status": status}), subresource="status")

    async def bootstrapped(self, machine: Machine, secret: str = "s") -> None:
        """Bootstrap data is there."""
        metadata = {"name": secret, "namespace": self.namespace, "labels": {CLUSTER_NAME: "c"}}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "cluster.x-k8s.io/secret"}
        await self.client.apply(convert({**made, "data": {"value": ""}}, Secret), force=True)
        await self.client.patch(machine, Patch.merge({"spec": {"bootstrap": {"dataSecretName": secret}}}))

    async def pause(self, obj: Resource, *, on: bool = True) -> None:
        annotations = {PAUSED: "" if on else None}
        await self.client.patch(obj, Patch.merge({"metadata": {"annotations": annotations}}))

    # --- What is seen -----------------------------------------------------------------------------------------------

    async def document(self, obj: Resource) -> Unstructured:
        """A provider's object as it is now, the way core reads it."""
        return await self.client.get(obj.__resource__.gvk, obj.name, self.namespace)

    async def when(self, obj: Resource, holds: Any) -> Unstructured:
        """Wait until a provider's object is so, the way core reads it."""
        found = await self.env.eventually(type(obj), obj.name, self.namespace, lambda one: holds(to_builtins(one)))
        return await self.document(found)

    async def gone(self, obj: Resource) -> None:
        await self.env.gone(type(obj), obj.name, self.namespace)

    async def settled(self, obj: Resource) -> str:
        """Wait until nobody has written to the object for a moment; its version then.

        For what shall not happen there is nothing to wait for. A machine that is too slow sees less, never too much.
        """
        version = ""
        async with self.client.watch(type(obj), self.namespace, fields={"metadata.name": obj.name}) as events:
            with suppress(TimeoutError):
                while True:
                    async with asyncio.timeout(_QUIET):
                        event = await anext(events)
                    version = event.object.metadata.resource_version
        return version


def status(document: Unstructured, *path: str) -> Any:
    """What is at a path of the status; None if it is absent."""
    value: Any = document.get("status")
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def condition(document: Unstructured, type: str) -> str:
    """The status of a condition; empty if there is none."""
    return next((one["status"] for one in status(document, "conditions") or () if one["type"] == type), "")


def provisioned(document: Unstructured) -> bool:
    return status(document, "initialization", "provisioned") is True


def is_paused(document: Unstructured) -> bool:
    return condition(document, "Paused") == "True"
