"""meta/v1: the types that every Kubernetes object shares.

Times are timezone-aware `datetime`s. `Time` has seconds, `MicroTime` microseconds, as in Kubernetes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import field

from kapstan.machinery.base import Model
from kapstan.machinery.duration import Duration
from kapstan.machinery.markers import Format, IntOrStringMarker, ListAtomic, ListMap
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.rules import schema_keywords

__all__ = (
    "Condition",
    "ConditionStatus",
    "DeleteOptions",
    "Duration",
    "Int32",
    "Int64",
    "IntOrString",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "ManagedFieldsEntry",
    "MicroTime",
    "ObjectMeta",
    "OwnerReference",
    "Preconditions",
    "Quantity",
    "Status",
    "StatusCause",
    "StatusDetails",
    "Time",
    "now",
)

Int32: TypeAlias = Annotated[int, Format("int32")]
Int64: TypeAlias = Annotated[int, Format("int64")]
IntOrString: TypeAlias = Annotated[int | str, IntOrStringMarker()]
Time: TypeAlias = datetime
ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]


class MicroTime(datetime):
    """A time that is written with all six digits of its microseconds, as Kubernetes demands of leases and events."""


class OwnerReference(Model):
    """Who owns an object: it is collected when its last owner is gone."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Model):
    """The fields that one manager owns."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: Time | None = None
    fields_type: str = ""
    fields_v1: dict[str, Any] | None = field(default=None, name="fieldsV1")
    subresource: str = ""


class ObjectMeta(Model):
    """What every object carries: its name, its labels, its place in time and ownership."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    self_link: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: Annotated[list[OwnerReference], ListMap("uid")] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)
    managed_fields: list[ManagedFieldsEntry] = field(default_factory=list)


class ListMeta(Model):
    """What every list carries."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: Int64 | None = None
    self_link: str = ""


class Condition(Model):
    """One observation about an object's state.

    The API demands reason, message and lastTransitionTime: the texts are written even when they are empty, which their
    default being made anew each time achieves; a time that nobody has set is left for the server to complain about.
    """

    type: str
    status: ConditionStatus
    reason: str = field(default_factory=str)
    message: str = field(default_factory=str)
    last_transition_time: Time | None = None
    observed_generation: Int64 | None = None


class LabelSelectorRequirement(Model):
    """`key operator values`."""

    key: str
    """The label's key."""
    operator: str
    """How key and values relate: In, NotIn, Exists or DoesNotExist."""
    values: Annotated[list[str], ListAtomic()] = field(default_factory=list)
    """The values for In and NotIn; empty for the others."""


@schema_keywords(**{"x-kubernetes-map-type": "atomic"})
class LabelSelector(Model):
    """Which labels an object must have; an empty one matches everything."""

    match_labels: dict[str, str] = field(default_factory=dict)
    """Pairs that must all be there."""
    match_expressions: Annotated[list[LabelSelectorRequirement], ListAtomic()] = field(default_factory=list)
    """Requirements that must all hold."""


class StatusCause(Model):
    """One of several reasons for a refusal."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Model):
    """What a refusal was about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = field(default_factory=list)
    retry_after_seconds: int = 0


class Status(Model):
    """The answer of an API server that is not an object."""

    kind: str = ""  # first, as Go writes it: people compare the text of errors
    api_version: str = ""
    metadata: ListMeta = field(default_factory=ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0

    def __post_init__(self) -> None:
        self.api_version, self.kind = self.api_version or "v1", self.kind or "Status"


class Preconditions(Model):
    """What must hold for a deletion to happen."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Model):
    """How to delete."""

    api_version: str = ""
    kind: str = ""
    grace_period_seconds: Int64 | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] = field(default_factory=list)


def now() -> datetime:
    """The present second, as Kubernetes writes it."""
    return datetime.now(UTC).replace(microsecond=0)
