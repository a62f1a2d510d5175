"""What remains of v1beta1 in the status of v1beta2, for whoever still reads it.

Of it we write what providers say of failures. Conditions and counters of the old form are not written: those of v1beta2
say more, and who reads v1beta1 asks a server that converts."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, field

from kapstan.machinery.meta import Int32, Time
from kapstan.machinery.model import Model

__all__ = (
    "Deprecated",
    "DeprecatedCondition",
    "DeprecatedConditions",
    "DeprecatedMachineDeployment",
    "DeprecatedMachinePool",
    "DeprecatedMachineSet",
)


class DeprecatedCondition(Model):
    """A condition in the form of v1beta1."""

    type: Annotated[str, Meta(min_length=1, max_length=256)]
    """What was observed."""
    status: str
    """True, False or Unknown."""
    severity: Annotated[str, Meta(max_length=32)] | None = None
    """How bad it is, where the status is not True."""
    last_transition_time: Time
    """When the status last changed."""
    reason: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """Why it changed, in one word."""
    message: Annotated[str, Meta(min_length=1, max_length=10240)] | None = None
    """Details for a person."""


FailureMessage: TypeAlias = Annotated[str, Meta(min_length=1, max_length=10240)]


class ConditionsStatus(Model):
    """The status of v1beta1: its conditions."""

    conditions: list[DeprecatedCondition] = field(default_factory=list)
    """Conditions in the form of v1beta1."""


class FailureStatus(ConditionsStatus):
    """The status of v1beta1: its conditions and the terminal failure."""

    failure_reason: str | None = None
    """Why the object was thought to have failed for good, in one word."""
    failure_message: FailureMessage | None = None
    """Why the object was thought to have failed for good."""


class MachineSetStatus(FailureStatus):
    """The status of a MachineSet in v1beta1."""

    fully_labeled_replicas: Int32 | None = None
    """Machines that carry all labels of the template."""
    ready_replicas: Int32 | None = None
    """Machines whose node is ready."""
    available_replicas: Int32 | None = None
    """Machines whose node has been ready for long enough."""


class MachinePoolStatus(FailureStatus):
    """The status of a MachinePool in v1beta1."""

    ready_replicas: Int32 | None = None
    """Machines whose node is ready."""
    available_replicas: Int32 | None = None
    """Machines whose node has been ready for long enough."""
    unavailable_replicas: Int32 | None = None
    """Machines that are missing or not available."""


class MachineDeploymentStatus(ConditionsStatus):
    """The status of a MachineDeployment in v1beta1."""

    updated_replicas: Int32 | None = None
    """Machines made from the present template."""
    ready_replicas: Int32 | None = None
    """Machines whose node is ready."""
    available_replicas: Int32 | None = None
    """Machines whose node has been ready for long enough."""
    unavailable_replicas: Int32 | None = None
    """Machines that are missing or not available."""


class Deprecated(Model):
    """What remains of older versions of the API."""

    v1beta1: FailureStatus | None = None
    """The status as v1beta1 had it."""


class DeprecatedConditions(Model):
    """What remains of older versions of the API."""

    v1beta1: ConditionsStatus | None = None
    """The status as v1beta1 had it."""


class DeprecatedMachineSet(Model):
    """What remains of older versions of the API."""

    v1beta1: MachineSetStatus | None = None
    """The status as v1beta1 had it."""


class DeprecatedMachinePool(Model):
    """What remains of older versions of the API."""

    v1beta1: MachinePoolStatus | None = None
    """The status as v1beta1 had it."""


class DeprecatedMachineDeployment(Model):
    """What remains of older versions of the API."""

    v1beta1: MachineDeploymentStatus | None = None
    """The status as v1beta1 had it."""
