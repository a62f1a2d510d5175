"""Parts that several kinds of the group share."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.machinery.markers import CEL, ListAtomic, ListMap, MinProperties
from kapstan.machinery.meta import Condition, ConditionStatus, Int32, Int64, IntOrString
from kapstan.machinery.model import Model

__all__ = (
    "ClusterName",
    "ConditionGate",
    "Conditions",
    "ContractReference",
    "HealthChecks",
    "KubernetesVersion",
    "MachineTaint",
    "ObservedGeneration",
    "RemediationTrigger",
    "TemplateMetadata",
    "VersionCount",
    "VersionedReference",
)

SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"

Subdomain: TypeAlias = Annotated[str, Meta(min_length=1, max_length=253, pattern=f"^{SUBDOMAIN}$")]
KindName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=63, pattern="^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$")]
ConditionType: TypeAlias = Annotated[str, Meta(min_length=1, max_length=316, pattern=f"^({SUBDOMAIN}/)?{_QUALIFIED}$")]
ApiVersion: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=317, pattern=rf"^{SUBDOMAIN}\/[a-z]([-a-z0-9]*[a-z0-9])?$")
]
ClusterName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=63)]
KubernetesVersion: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
FailureDomainName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
Seconds: TypeAlias = Annotated[Int32, Meta(ge=0)]
ObservedGeneration: TypeAlias = Annotated[Int64, Meta(ge=1)]
Conditions: TypeAlias = Annotated[list[Condition], Meta(max_length=32), ListMap("type")]


class ContractReference(Model):
    """A provider's object in the same namespace. Its version follows from the contract that its CRD declares."""

    api_group: Subdomain
    """The API group of the object."""
    kind: KindName
    """The kind of the object."""
    name: Subdomain
    """The name of the object."""


class VersionedReference(Model):
    """A template in the same namespace, with its version."""

    api_version: ApiVersion
    """The API group and version of the object."""
    kind: KindName
    """The kind of the object."""
    name: Subdomain
    """The name of the object."""


class TemplateMetadata(Model):
    """Labels and annotations for what is made from a template."""

    labels: dict[str, str] = field(default_factory=dict)
    """Labels to set."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations to set."""


class ConditionGate(Model):
    """A condition of one's own that must also hold."""

    condition_type: ConditionType
    """The type of a condition in the object's status; one that is not there counts as unknown."""
    polarity: Literal["Positive", "Negative"] | None = None
    """Whether True (Positive, the default) or False (Negative) means that all is well."""


class MachineTaint(Model):
    """A taint for the node of a machine."""

    key: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=317,
            pattern=rf"^({SUBDOMAIN}\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
        ),
    ]
    """The taint's key."""
    value: Annotated[str, Meta(min_length=1, max_length=63, pattern=f"^{_QUALIFIED}?$")] | None = None
    """The taint's value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What happens to pods that do not tolerate the taint."""
    propagation: Literal["Always", "OnInitialization"]
    """Whether the taint is kept on the node (Always) or only set once, when the node appears (OnInitialization)."""


class DeletionTimeouts(Model):
    """How long the steps of a machine's deletion may take."""

    node_drain_timeout_seconds: Seconds | None = None
    """How long to try to drain the node; 0 or absent: without limit."""
    node_volume_detach_timeout_seconds: Seconds | None = None
    """How long to wait for volumes to be detached from the node; 0 or absent: without limit."""
    node_deletion_timeout_seconds: Seconds | None = None
    """How long to try to delete the Node after the machine is gone; 0: without limit. Ten seconds if absent."""


class UnhealthyNodeCondition(Model):
    """A node whose condition has that status for that long is unhealthy."""

    type: Annotated[str, Meta(min_length=1)]
    """The type of the node's condition."""
    status: Annotated[str, Meta(min_length=1)]
    """The status that is not well."""
    timeout_seconds: Seconds
    """How long the status must have lasted."""


class UnhealthyMachineCondition(Model):
    """A machine whose condition has that status for that long is unhealthy."""

    type: Annotated[
        ConditionType,
        CEL(
            "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])",
            message="type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, "
            "ExternallyRemediated",
        ),
    ]
    """The type of the machine's condition. Those that follow from health itself cannot be used."""
    status: ConditionStatus
    """The status that is not well."""
    timeout_seconds: Seconds
    """How long the status must have lasted."""


class HealthChecks(Model):
    """What makes a machine unhealthy. One check that fails is enough."""

    node_startup_timeout_seconds: Seconds | None = None
    """How long a node may take to appear; 0 switches the check off. Ten minutes if absent."""
    unhealthy_node_conditions: Annotated[
        list[UnhealthyNodeCondition], Meta(min_length=1, max_length=100), ListAtomic()
    ] = field(default_factory=list)
    """Conditions of the node that are not well."""
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition], Meta(min_length=1, max_length=100), ListAtomic()
    ] = field(default_factory=list)
    """Conditions of the machine that are not well."""


class RemediationTrigger(Model):
    """How many machines may be unhealthy for remediation to go on. Beyond that something larger is wrong."""

    unhealthy_less_than_or_equal_to: IntOrString | None = None
    """At most that many, or that percentage, are unhealthy."""
    unhealthy_in_range: Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^\[[0-9]+-[0-9]+\]$")] | None = None
    """The number of unhealthy machines lies in this range, such as [3-5]. It outweighs the other field."""


class VersionCount(Model):
    """How many machines run a version of Kubernetes."""

    version: KubernetesVersion
    """The version."""
    replicas: Annotated[Int32, Meta(ge=1)] | None = None
    """How many run it."""


Gates: TypeAlias = Annotated[list[ConditionGate], Meta(min_length=1, max_length=32), ListMap("conditionType")]
Taints: TypeAlias = Annotated[list[MachineTaint], Meta(min_length=1, max_length=64), ListMap("key", "effect")]
NonEmptyMetadata: TypeAlias = Annotated[TemplateMetadata, MinProperties(1)]
