"""Node: the object that a simulated computer registers, and the lease by which it shows that it lives."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from kapstan.k8s.coordination_v1 import Lease, LeaseSpec
from kapstan.k8s.core_v1 import (
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeStatus,
    NodeSystemInfo,
)
from kapstan.k8s.core_v1 import NodeSpec as CoreNodeSpec
from kapstan.machinery.meta import MicroTime, ObjectMeta, Quantity
from kapstan.machinery.owners import owner_reference
from kapstan.simulation.kubelets.settings import NodeSpec

__all__ = (
    "LEASES",
    "LEASE_SECONDS",
    "RANGE",
    "desired_lease",
    "desired_node",
    "desired_status",
    "internal_ip",
    "micro_now",
    "range_of",
)

LEASES = "kube-node-lease"
RANGE = "simulation.kapstan.dev/pod-range"
LEASE_SECONDS = 40

_HEALTHY = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
_READY = ("KubeletReady", "kubelet is posting ready status")
_NOT_READY = ("KubeletNotReady", "container runtime is down (simulated)")


def range_of(node: Node) -> str:
    """The addresses that a node gives to its pods. Its own word comes first: what a controller manager assigns to the
    node comes later, when some pods may have addresses already."""
    return node.metadata.annotations.get(RANGE) or node.spec.pod_cidr or ""


def desired_node(spec: NodeSpec, pod_range: str, now: datetime) -> Node:
    """The node as its kubelet registers it; `pod_range` is for one whose spec names none.

    It is no podCIDR: those are for a controller manager to give, which refuses to start among others than its own.
    """
    annotations = {**spec.annotations, **({RANGE: pod_range} if pod_range else {})}
    return Node(
        metadata=ObjectMeta(name=spec.name, labels=labels_of(spec), annotations=annotations),
        spec=CoreNodeSpec(
            provider_id=spec.provider_id or None,
            pod_cidr=spec.pod_cidr or None,
            pod_cidrs=[spec.pod_cidr] if spec.pod_cidr else [],
            taints=list(spec.taints),
        ),
        status=desired_status(spec, NodeStatus(), spec.ready, now),
    )


def labels_of(spec: NodeSpec) -> dict[str, str]:
    system = {"arch": "amd64", "os": "linux"}
    known = {f"{prefix}kubernetes.io/{key}": value for prefix in ("", "beta.") for key, value in system.items()}
    return {**known, "kubernetes.io/hostname": spec.name, **spec.labels}


def desired_status(spec: NodeSpec, had: NodeStatus, ready: bool, now: datetime) -> NodeStatus:
    """What the kubelet says of itself; conditions that did not change keep their times, others' are left alone."""
    capacity = {
        "cpu": Quantity(spec.cpu),
        "memory": Quantity(spec.memory),
        "ephemeral-storage": Quantity("100Gi"),
        "pods": Quantity(str(spec.pods)),
        **{name: Quantity(amount) for name, amount in spec.extended.items()},
    }
    return had.replace(
        capacity=capacity,
        allocatable=dict(capacity),
        addresses=[NodeAddress(type=type, address=address) for type, address in _addresses(spec)],
        conditions=_conditions(had, ready, now),
        daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=10250)),
        node_info=_system(spec),
    )


def internal_ip(spec: NodeSpec) -> str:
    """The address that pods of the host's network have."""
    return next((address for type, address in _addresses(spec) if type == "InternalIP"), _made_up(spec.name))


def desired_lease(node: Node) -> Lease:
    return Lease(
        metadata=ObjectMeta(name=node.name, namespace=LEASES, owner_references=[owner_reference(node)]),
        spec=LeaseSpec(holder_identity=node.name, lease_duration_seconds=LEASE_SECONDS, renew_time=micro_now()),
    )


def micro_now() -> MicroTime:
    return MicroTime.now(UTC)


def _conditions(had: NodeStatus, ready: bool, now: datetime) -> list[NodeCondition]:
    said: dict[str, tuple[str, str, str]] = {type: ("False", *words) for type, words in _HEALTHY.items()}
    said["Ready"] = ("True", *_READY) if ready else ("False", *_NOT_READY)
    known = {one.type: one for one in had.conditions}
    conditions = [one for one in had.conditions if one.type not in said]
    for type, (status, reason, message) in said.items():
        old = known.get(type)
        if old is not None and (old.status, old.reason, old.message) == (status, reason, message):
            conditions.append(old)
            continue
        since = old.last_transition_time if old is not None and old.status == status else now
        conditions.append(
            NodeCondition(
                type=type,
                status=status,
                reason=reason,
                message=message,
                last_heartbeat_time=now,
                last_transition_time=since,
            )
        )
    return conditions


def _addresses(spec: NodeSpec) -> list[tuple[str, str]]:
    return list(spec.addresses) or [("InternalIP", _made_up(spec.name)), ("Hostname", spec.name)]


def _made_up(name: str) -> str:
    """An address of 172.16.0.0/12 that is always the same for the same name."""
    number = int.from_bytes(_digest(name)[:4], "big") % (2**20 - 2) + 1
    return f"172.{16 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _system(spec: NodeSpec) -> NodeSystemInfo:
    known: dict[str, Any] = {
        name: _digest(f"{name} {spec.provider_id or spec.name}").hex()
        for name in ("machine_id", "system_uuid", "boot_id")
    }
    return NodeSystemInfo(
        **known,
        kernel_version="6.12.0-simulated",
        os_image="Kapstan simulation",
        container_runtime_version="simulated://1.0.0",
        kubelet_version=spec.version,
        kube_proxy_version="",
        operating_system="linux",
        architecture="amd64",
    )


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
