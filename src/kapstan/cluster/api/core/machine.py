"""Machine: one computer that is, or will be, a node of a cluster."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import (
    ClusterName,
    Conditions,
    ContractReference,
    DeletionTimeouts,
    FailureDomainName,
    Gates,
    KubernetesVersion,
    NonEmptyMetadata,
    ObservedGeneration,
    Seconds,
    Subdomain,
    Taints,
)
from kapstan.cluster.api.core.deprecated import Deprecated
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION, condition_column
from kapstan.machinery.markers import ListAtomic, MinProperties
from kapstan.machinery.meta import Int64, Time
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = (
    "Bootstrap",
    "Machine",
    "MachineAddress",
    "MachineAddresses",
    "MachinePhase",
    "MachineSpec",
    "MachineStatus",
    "MachineTemplate",
)

MachinePhase: TypeAlias = Literal[
    "Pending", "Provisioning", "Provisioned", "Running", "Updating", "Deleting", "Deleted", "Failed", "Unknown"
]


class Bootstrap(Model):
    """How the machine becomes a node."""

    config_ref: ContractReference | None = None
    """The bootstrap provider's object that makes the data."""
    data_secret_name: Annotated[str, Meta(min_length=0, max_length=253)] | None = None
    """The Secret with the data that the machine starts with. Copied from the bootstrap provider's object, or given."""


class MachineSpec(Model):
    """What is wanted of a machine."""

    cluster_name: ClusterName
    """The cluster that the machine belongs to."""
    bootstrap: Bootstrap
    """How the machine becomes a node."""
    infrastructure_ref: ContractReference
    """The infrastructure provider's object that stands for the computer."""
    version: KubernetesVersion | None = None
    """The version of Kubernetes to run."""
    provider_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = field(default=None, name="providerID")
    """How the infrastructure calls the computer. Copied from its object; the Node says the same, and is found by it."""
    failure_domain: FailureDomainName | None = None
    """The failure domain that the computer shall be in."""
    min_ready_seconds: Seconds | None = None
    """How long the machine must have been ready before it counts as available."""
    readiness_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Ready."""
    deletion: Annotated[DeletionTimeouts, MinProperties(1)] | None = None
    """How long the steps of the deletion may take."""
    taints: Taints = field(default_factory=list)
    """Taints for the node."""


class MachineTemplate(Model):
    """What machines are made from."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the machines."""
    spec: MachineSpec
    """What is wanted of the machines."""


class MachineInitialization(Model):
    """Steps that are taken once, when the machine is made."""

    infrastructure_provisioned: bool | None = None
    """The infrastructure provider has said that the computer is there."""
    bootstrap_data_secret_created: bool | None = None
    """The bootstrap provider has said that the data is there."""


class NodeReference(Model):
    """A Node of the workload cluster."""

    name: Subdomain
    """The name of the Node."""


class NodeSwap(Model):
    """Swap memory of a node."""

    capacity: Int64 | None = None
    """In bytes."""


class NodeInfo(Model):
    """What the node says about itself."""

    machine_id: str = field(name="machineID")
    """The machine id of the operating system."""
    system_uuid: str = field(name="systemUUID")
    """The UUID of the hardware."""
    boot_id: str = field(name="bootID")
    """Changes with every boot."""
    kernel_version: str
    """The version of the kernel."""
    os_image: str
    """The operating system."""
    container_runtime_version: str
    """The container runtime and its version."""
    kubelet_version: str
    """The version of the kubelet."""
    kube_proxy_version: str
    """No longer kept by Kubernetes."""
    operating_system: str
    """The kind of operating system."""
    architecture: str
    """The architecture of the processor."""
    swap: NodeSwap | None = None
    """Swap memory."""


class MachineAddress(Model):
    """An address of the computer."""

    type: Literal["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]
    """What the address is, and where from it can be reached."""
    address: Annotated[str, Meta(min_length=1, max_length=256)]
    """The address."""


class MachineDeletionStatus(Model):
    """How far the deletion has come."""

    wait_for_pre_drain_hook_start_time: Time | None = None
    """When the wait for the hooks before draining began."""
    node_drain_start_time: Time | None = None
    """When draining began."""
    wait_for_node_volume_detach_start_time: Time | None = None
    """When the wait for volumes to be detached began."""
    wait_for_pre_terminate_hook_start_time: Time | None = None
    """When the wait for the hooks before termination began."""


MachineAddresses: TypeAlias = Annotated[list[MachineAddress], Meta(max_length=256), ListAtomic()]


class MachineStatus(Model):
    """What was last seen of a machine."""

    conditions: Conditions = field(default_factory=list)
    """Available, Ready, UpToDate, Updating, BootstrapConfigReady, InfrastructureReady, NodeReady, NodeHealthy,
    Deleting, Paused and, where a health check looks at the machine, HealthCheckSucceeded and OwnerRemediated."""
    initialization: Annotated[MachineInitialization, MinProperties(1)] | None = None
    """Steps that are taken once. Use conditions to follow the machine after that."""
    node_ref: NodeReference | None = None
    """The Node, once there is one."""
    node_info: NodeInfo | None = None
    """What the Node says about itself."""
    last_updated: Time | None = None
    """When the phase last changed."""
    failure_domain: FailureDomainName | None = None
    """The failure domain that the computer is in."""
    addresses: MachineAddresses = field(default_factory=list)
    """The addresses of the computer."""
    phase: MachinePhase | None = None
    """A word for a person. Programs read the conditions."""
    certificates_expiry_date: Time | None = None
    """When the first certificate of a control plane machine expires."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""
    deletion: MachineDeletionStatus | None = None
    """How far the deletion has come."""
    deprecated: Deprecated | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["ma"],
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("Node Name", ".status.nodeRef.name"),
        Column("Provider ID", ".spec.providerID", priority=10),
        Column("Failure domain", ".status.failureDomain"),
        condition_column("Ready", "Ready"),
        condition_column("Available", "Available"),
        condition_column("Up-to-date", "UpToDate"),
        Column("Internal-IP", '.status.addresses[?(@.type=="InternalIP")].address', priority=10),
        Column("External-IP", '.status.addresses[?(@.type=="ExternalIP")].address', priority=10),
        Column("OS-Image", ".status.nodeInfo.osImage", priority=10),
        condition_column("Paused", "Paused", priority=10),
        Column("Phase", ".status.phase"),
        Column.age(),
        Column("Version", ".spec.version"),
    ],
)
class Machine(Resource):
    """One computer that is, or will be, a node of a cluster."""

    spec: MachineSpec
    """What is wanted."""
    status: Annotated[MachineStatus, MinProperties(1)] = field(default_factory=MachineStatus)
    """What was last seen."""
