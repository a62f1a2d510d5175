"""Own status: a reconcile that writes the status of its object need not be woken by that.

What it wrote it has computed from all that it saw, the object included; looking again would find nothing to do. Only
the very change from what it read to what it wrote is held back: with anybody else's in between, it is woken.
"""

from __future__ import annotations

from kapstan.runtime.change import Change
from kapstan.runtime.predicate import predicate

__all__ = ("beyond_own_status", "wrote_status")

_MOST = 10_000  # of writes that nobody has heard of yet: far more than are ever on their way
_written: dict[str, tuple[str, str]] = {}  # by uid: the resourceVersions before and after


def wrote_status(uid: str, before: str, after: str) -> None:
    """A reconcile has written the status of its object."""
    if before == after:
        return  # nothing came of it: what is told of next with that version is told for another reason
    _written.pop(uid, None)  # what is written last comes last
    _written[uid] = before, after
    if len(_written) > _MOST:
        del _written[next(iter(_written))]  # of an object that is gone, or whose controller does not ask


@predicate
def beyond_own_status(change: Change) -> bool:
    """Anything but the status that a reconcile of the object has written itself. Deletions go on by every step."""
    old, new = change.old, change.new
    if new is None and old is not None:
        _written.pop(old.uid, None)
    if old is None or new is None or new.deleting:
        return True
    if _written.get(new.uid) != (old.resource_version, new.resource_version):
        return True
    del _written[new.uid]
    return False
