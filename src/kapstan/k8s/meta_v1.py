"""meta/v1: what all kinds share. The types are the machinery's own; only the rarely used stand here."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kapstan.machinery.base import Model
from kapstan.machinery.markers import ListAtomic
from kapstan.machinery.meta import (
    Condition,
    ConditionStatus,
    DeleteOptions,
    Duration,
    Int32,
    Int64,
    IntOrString,
    LabelSelector,
    LabelSelectorRequirement,
    ListMeta,
    ManagedFieldsEntry,
    MicroTime,
    ObjectMeta,
    OwnerReference,
    Preconditions,
    Quantity,
    Status,
    StatusCause,
    StatusDetails,
    Time,
    now,
)

__all__ = (
    "Condition",
    "ConditionStatus",
    "DeleteOptions",
    "Duration",
    "FieldSelectorRequirement",
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


class FieldSelectorRequirement(Model):
    """`key operator values`, over fields."""

    key: str
    operator: str
    values: Annotated[list[str], ListAtomic()] = field(default_factory=list)
