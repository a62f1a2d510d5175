"""Mirror: a condition of a provider's object, shown on the object that refers to it.

A provider need not have conditions: the contract demands only that it says when it is done. So where it has none, that
stands in for it; and where there is no object at all, the condition says what that means.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kapstan.cluster.core.external import Referenced
from kapstan.cluster.skeleton.conditions import false, unknown
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.meta import Condition
from kapstan.machinery.model import Resource

__all__ = ("Mirror",)

# What the API server takes for a reason. That of a provider of v1beta1 may be any text.
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,1022}[A-Za-z0-9_])?")


class Mirror(NamedTuple):
    """Which condition of the provider's object becomes which of ours."""

    type: str
    source: str
    field: str  # where the provider says that it is done
    well: str = Reason.READY
    unwell: str = Reason.NOT_READY

    def of(self, referenced: Referenced[Any], owner: Resource, *, done: bool) -> Condition:
        """Our condition. `done` is what the provider has said once, and the owner remembers."""
        if referenced.found is not None:
            return self._reported(referenced, done)
        if not referenced.missing:
            return unknown(self.type, Reason.INTERNAL_ERROR, f"{referenced.kind} could not be read: {referenced.error}")
        if not done:
            return false(self.type, Reason.OBJECT_DOES_NOT_EXIST, f"{referenced.kind} does not exist")
        while_needed = "" if owner.deleting else f" while the {owner.kind} still exists"
        return false(self.type, Reason.OBJECT_DELETED, f"{referenced.kind} has been deleted{while_needed}")

    def _reported(self, referenced: Referenced[Any], done: bool) -> Condition:
        assert referenced.found is not None
        found: Condition | None = referenced.found.condition(self.source)
        if found is None:
            message = "" if done else f"{referenced.kind} {self.field} is false"
            return Condition(
                type=self.type,
                status="True" if done else "False",
                reason=self.well if done else self.unwell,
                message=message,
            )
        reason = found.reason or (self.well if found.status == "True" else Reason.NO_REASON_REPORTED)
        message = found.message
        if not _REASON.fullmatch(reason):
            reason, message = Reason.NO_REASON_REPORTED, f"{reason}: {message}"
        return found.replace(type=self.type, reason=reason, message=message, observed_generation=None)
