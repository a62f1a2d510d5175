"""The tree of a cluster: its objects, who belongs to whom, how each is and what it waits for.

Only what the contract says is read of providers' objects, so anybody's are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

from msgspec import Struct, field

from kapstan.client import Client, metadata_of
from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.contract.objects import ControlPlane, InfraCluster, ProviderObject
from kapstan.cluster.contract.version import contract_of, crd_name
from kapstan.cluster.skeleton import labels
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.machinery.conditions import find
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.meta import Condition
from kapstan.machinery.model import Resource

__all__ = ("Part", "load_tree", "waiting_for")

V = TypeVar("V", bound=ProviderObject)


class Part(Struct, kw_only=True):
    """One object of a cluster, or a word for several."""

    kind: str
    name: str = ""
    role: str = ""
    condition: Condition | None = None  # the one that says whether all is well
    detail: str = ""
    deleting: bool = False
    parts: list[Part] = field(default_factory=list)

    @property
    def well(self) -> bool:
        return self.condition is not None and self.condition.status == "True" and not self.deleting

    @property
    def title(self) -> str:
        own = f"{self.kind}/{self.name}" if self.name else self.kind
        return f"{self.role} - {own}" if self.role else own


# --- Loading ----------------------------------------------------------------------------------------------------------


async def load_tree(client: Client, cluster: Cluster) -> Part:
    """The tree of a cluster as it is now."""
    spec, namespace = cluster.spec, cluster.namespace
    of_cluster = {labels.CLUSTER_NAME: cluster.name}
    infrastructure = await _provider(client, InfraCluster, spec.infrastructure_ref, namespace)
    control_plane = await _provider(client, ControlPlane, spec.control_plane_ref, namespace)
    machines = await client.list(Machine, namespace, labels=of_cluster)
    sets = await client.list(MachineSet, namespace, labels=of_cluster)
    deployments = await client.list(MachineDeployment, namespace, labels=of_cluster)
    masters = [machine for machine in machines if labels.CONTROL_PLANE in machine.metadata.labels]
    workers = [machine for machine in machines if labels.CONTROL_PLANE not in machine.metadata.labels]
    top = _typed(cluster, "Available", detail=cluster.status.phase or "")
    if spec.infrastructure_ref is not None:
        top.parts.append(_provided("ClusterInfrastructure", "Ready", spec.infrastructure_ref, infrastructure))
    if spec.control_plane_ref is not None:
        part = _provided("ControlPlane", "Available", spec.control_plane_ref, control_plane)
        part.detail = _of_control_plane(control_plane) if isinstance(control_plane, ControlPlane) else ""
        part.parts = _machines(masters)
        top.parts.append(part)
    if found := _workers(deployments, sets, workers):
        top.parts.append(Part(kind="Workers", parts=found))
    return top


async def _provider(
    client: Client, view: type[V], ref: ContractReference | None, namespace: str
) -> V | KapstanError | None:
    """A provider's object; an error if it cannot be read, None if it is not there."""
    if ref is None:
        return None
    kind = GroupKind(ref.api_group, ref.kind)
    try:
        definition = await client.get(metadata_of(CustomResourceDefinition), crd_name(kind))
        contract = contract_of(kind, definition.metadata.labels)
        document = await client.find(contract.kind(kind), ref.name, namespace)
    except KapstanError as error:
        return error
    return None if document is None else view(document, contract)


# --- Parts ------------------------------------------------------------------------------------------------------------


def _workers(
    deployments: Sequence[MachineDeployment], sets: Sequence[MachineSet], machines: Sequence[Machine]
) -> list[Part]:
    parts: list[Part] = []
    owned: set[str] = set()
    for deployment in deployments:
        mine = {one.uid for one in sets if _is_owned(one, deployment.uid)}
        part = _typed(deployment, "Available", detail=_counted(deployment))
        part.parts = _machines([one for one in machines if any(_is_owned(one, uid) for uid in mine)])
        parts.append(part)
        owned |= mine
    for alone in (one for one in sets if one.uid not in owned):
        part = _typed(alone, "MachinesReady", detail=_counted(alone))
        part.parts = _machines([one for one in machines if _is_owned(one, alone.uid)])
        parts.append(part)
        owned.add(alone.uid)
    return [*parts, *_machines([one for one in machines if not any(_is_owned(one, uid) for uid in owned)])]


def _machines(machines: Iterable[Machine]) -> list[Part]:
    return [_typed(machine, "Ready", detail=_of_machine(machine)) for machine in sorted(machines, key=_by_name)]


def _by_name(obj: Resource) -> str:
    return obj.name


def _is_owned(obj: Resource, uid: str) -> bool:
    return any(ref.uid == uid for ref in obj.metadata.owner_references)


def _typed(obj: Cluster | Machine | MachineSet | MachineDeployment, condition: str, *, detail: str) -> Part:
    found = find(obj.status.conditions, condition)
    return Part(kind=obj.kind, name=obj.name, condition=found, detail=detail, deleting=obj.deleting)


def _provided(role: str, condition: str, ref: ContractReference, found: Any) -> Part:
    part = Part(role=role, kind=ref.kind, name=ref.name)
    if found is None:
        part.condition = Condition(type=condition, status="False", reason="DoesNotExist", message="It does not exist")
    elif isinstance(found, KapstanError):
        part.condition = Condition(type=condition, status="Unknown", reason="CannotBeRead", message=str(found))
    else:
        part.condition, part.deleting = found.condition(condition), found.deleting
    return part


def _of_control_plane(view: ControlPlane) -> str:
    running = " and ".join(one.version for one in view.versions)
    if view.version and running and running != view.version:
        return f"{running} → {view.version}"
    return running or view.version


def _of_machine(machine: Machine) -> str:
    node = machine.status.node_ref
    parts = (machine.status.phase, f"Node {node.name}" if node is not None else "", machine.spec.version)
    return ", ".join(part for part in parts if part)


def _counted(obj: MachineSet | MachineDeployment) -> str:
    status, wanted = obj.status, obj.spec.replicas or 0
    counted = f"{status.available_replicas or 0} of {wanted} available"
    version = obj.spec.template.spec.version
    return f"{counted}, {version}" if version else counted


# --- Waiting ----------------------------------------------------------------------------------------------------------


def waiting_for(tree: Part) -> Iterator[tuple[Part, str]]:
    """What is not as it should be, and why; of what is made of parts, the parts that are not well."""
    lower = [found for part in tree.parts for found in waiting_for(part)]
    if lower:
        yield from lower
    elif tree.condition is not None and not tree.well:
        yield tree, explained(tree.condition)
    elif tree.condition is None and not tree.parts:
        yield tree, "nothing has been reported yet"


def explained(condition: Condition) -> str:
    """Why a condition is as it is, in one line."""
    lines = [line.strip().removeprefix("* ") for line in condition.message.splitlines()]
    told = "; ".join(_together([line for line in lines if line]))
    return told.replace(":; ", ": ") or condition.reason  # a line that ends so is a heading


def _together(lines: Sequence[str]) -> Iterator[str]:
    """What several conditions say in a row is said once: `DatastoreReady, APIServerHealthy: no programs`."""
    for why, alike in groupby(lines, key=lambda line: line.partition(": ")[2]):
        names = [line.partition(": ")[0] for line in alike]
        yield f"{', '.join(names)}: {why}" if why else "; ".join(names)
