"""The life of a cluster, whoever's controllers look after it: made, scaled, healed, upgraded, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from kapstan.client import Client, Config, Patch, metadata_of
from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.management.following import is_available, is_upgraded
from kapstan.cluster.templates.rendering import Document, documents_of
from kapstan.k8s.core_v1 import Node, Secret
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.testing import Environment

NAMESPACE = "default"
PATIENCE = 300.0  # seconds; the Go controllers alone need 45 on a machine that has nothing else to do
FIRST, NEXT = "v1.36.3", "v1.36.4"
CLUSTER_NAME, CONTROL_PLANE = "cluster.x-k8s.io/cluster-name", "cluster.x-k8s.io/control-plane"


class Life(Struct, frozen=True):
    """A cluster from a template, in the namespace `default` of a management cluster."""

    env: Environment
    template: str
    name: str = "c"

    @property
    def client(self) -> Client:
        return self.env.client

    @property
    def documents(self) -> list[Document]:
        return documents_of(self.template, {"CLUSTER_NAME": self.name, "KUBERNETES_VERSION": FIRST})

    async def begins(self) -> None:
        for document in self.documents:
            await self.client.create(document)

    async def becomes_available(self, workers: int = 3) -> None:
        """With its machines, and each of them the node that the workload cluster knows."""
        async with asyncio.timeout(PATIENCE):
            await self._eventually(lambda one: is_available(one) and _workers(one) == workers)
            while not await self._is_settled(workers):  # noqa: ASYNC110
                await asyncio.sleep(1)  # two API servers have to agree: no one event tells that

    async def _is_settled(self, workers: int) -> bool:
        machines = await self.machines()
        nodes = {one.status.node_ref.name for one in machines if one.status.node_ref}
        counted = sum(CONTROL_PLANE not in one.metadata.labels for one in machines)
        return counted == workers and len(nodes) == len(machines) and nodes == await self._nodes()

    async def is_scaled(self, workers: int) -> None:
        """As `kubectl scale` does it."""
        await self.client.scale(MachineDeployment, f"{self.name}-md-0", NAMESPACE, replicas=workers)
        await self.becomes_available(workers)

    async def heals(self) -> None:
        """A health check has a machine replaced that somebody has declared ill."""
        labels = {CLUSTER_NAME: self.name, "cluster.x-k8s.io/deployment-name": f"{self.name}-md-0"}
        check = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineHealthCheck",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "clusterName": self.name,
                "selector": {"matchLabels": labels},
                "checks": {
                    "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}],
                },
            },
        }
        await self.client.create(check)
        ill = next(one for one in await self.machines() if labels.items() <= one.metadata.labels.items())
        annotations = {"cluster.x-k8s.io/remediate-machine": ""}
        await self.client.patch(ill, Patch.merge({"metadata": {"annotations": annotations}}))
        await self.env.gone(Machine, ill.name, NAMESPACE, timeout=PATIENCE)
        await self.becomes_available()

    async def is_upgraded(self) -> None:
        """The control plane first, then the workers, which are replaced."""
        before = {one.name for one in await self.machines()}
        (plane,) = [one for one in self.documents if one["kind"].endswith("ControlPlane")]
        await self.client.patch(plane, Patch.merge({"spec": {"version": NEXT}}))
        await self._eventually(lambda one: _control_plane_versions(one) == {NEXT} and is_available(one))
        deployment = await self.client.get(MachineDeployment, f"{self.name}-md-0", NAMESPACE)
        await self.client.patch(deployment, Patch.merge({"spec": {"template": {"spec": {"version": NEXT}}}}))
        await self._eventually(lambda one: is_upgraded(one, NEXT) and _workers(one) == 3)
        await self.becomes_available()
        assert not before & {one.name for one in await self.machines()}

    async def ends(self) -> None:
        """Nothing that a controller has to take away is left; templates and Secrets are for garbage collection."""
        await self.client.delete(Cluster, self.name, NAMESPACE)
        await self.env.gone(Cluster, self.name, NAMESPACE, timeout=PATIENCE)
        left: list[str] = []
        for kind in (Machine, MachineSet, MachineDeployment, *self._machine_kinds()):
            found = await self.client.list(metadata_of(kind), NAMESPACE, labels={CLUSTER_NAME: self.name})
            left.extend(f"{one.kind} {one.metadata.name}" for one in found)
        assert left == []

    async def machines(self) -> list[Machine]:
        return list(await self.client.list(Machine, NAMESPACE, labels={CLUSTER_NAME: self.name}))

    def _machine_kinds(self) -> list[Any]:
        """What machines are made of: the kinds of the templates, without the template."""
        templates = [one for one in self.documents if one["kind"].endswith(("MachineTemplate", "ConfigTemplate"))]
        found = {(*one["apiVersion"].split("/"), one["kind"].removesuffix("Template")) for one in templates}
        return [GroupVersionKind(group, version, kind) for group, version, kind in sorted(found)]

    async def _nodes(self) -> set[str]:
        """The nodes that the workload cluster has."""
        secret = await self.client.get(Secret, f"{self.name}-kubeconfig", NAMESPACE)
        async with Client(Config.from_kubeconfig(secret.data["value"])) as workload:
            return {node.name for node in await workload.list(Node)}

    async def _eventually(self, condition: Callable[[Cluster], bool]) -> None:
        await self.env.eventually(Cluster, self.name, NAMESPACE, condition, timeout=PATIENCE)


def _workers(cluster: Cluster) -> int | None:
    """How many there are, if that is how many are wanted and available."""
    counts = cluster.status.workers
    if counts is None or not counts.desired_replicas == counts.replicas == counts.available_replicas:
        return None
    return counts.replicas


def _control_plane_versions(cluster: Cluster) -> set[str]:
    counts = cluster.status.control_plane
    return {one.version for one in counts.versions} if counts is not None else set()
