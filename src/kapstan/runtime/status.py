"""Status: change a status like any object, and what changed is written when the block ends, however it ends.

    async with self.status(memcached) as status:
        status.ready = 3
        status.set_condition("Available", True, reason="Ready")

Nothing is written if nothing changed. A merge patch replaces lists as a whole, so one that changes a list is refused
by the server if the object is not as it was read; the reconcile is then tried again on what it is now.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, get_args, get_type_hints

import msgspec

from kapstan.client.interface import Patch
from kapstan.machinery import conditions
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.meta import Condition, ConditionStatus, ObjectMeta
from kapstan.machinery.patch import diff, replaces_list

if TYPE_CHECKING:
    from kapstan.client.client import Client

__all__ = ("HasStatus", "StatusDraft")

S = TypeVar("S")

log = logging.getLogger(__name__)


class HasStatus(Protocol[S]):
    """An object with a status."""

    metadata: ObjectMeta
    status: S


class StatusDraft(Generic[S]):
    """A status to be changed: its fields are this object's attributes. `value` is the status itself."""

    value: S

    def __init__(self, client: Client, obj: HasStatus[S]) -> None:
        before = {} if obj.status is None else to_builtins(obj.status)
        own = vars(self)
        own["_client"], own["_obj"], own["_before"] = client, obj, before
        own["value"] = convert(before, _status_type(obj))

    def set_condition(
        self, type: str, status: bool | ConditionStatus | None, *, reason: str, message: str = ""
    ) -> bool:
        """Set one condition; True if that changed anything. Its time moves only when its status does."""
        found: list[Condition] = getattr(self.value, "conditions", None) or []
        changed = conditions.set_condition(
            found,
            type,
            status,
            reason=reason,
            message=message,
            observed_generation=self._obj.metadata.generation or None,
        )
        self.value.conditions = found  # type: ignore[attr-defined]
        return changed

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["value"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["value"], name, value)

    async def __aenter__(self) -> StatusDraft[S]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            return  # cancelled: whoever cancels wants an end, not a request
        try:
            await self.write()
        except KapstanError as failure:
            if error is None:
                raise
            log.warning("The status could not be written after an error: %s", failure)

    async def write(self) -> None:
        """Write what has changed so far; the object then has the new status and version."""
        after = to_builtins(self.value)
        changes = diff(self._before, after)
        if not changes:
            return
        body: dict[str, Any] = {"status": changes}
        if replaces_list(self._before, changes):
            body["metadata"] = {"resourceVersion": self._obj.metadata.resource_version}
        written = await self._client.patch(self._obj, Patch.merge(body), subresource="status")
        self._obj.status = written.status
        self._obj.metadata.resource_version = written.metadata.resource_version
        vars(self)["_before"] = after


def _status_type(obj: HasStatus[S]) -> type[S]:
    """The class of an object's status, also where there is none yet."""
    if obj.status is not None:
        return type(obj.status)
    hint = get_type_hints(type(obj))["status"]
    for candidate in (hint, *get_args(hint)):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate  # type: ignore[return-value]
    raise TypeError(f"{type(obj).__qualname__}.status is of no type that could be made: {hint}")
