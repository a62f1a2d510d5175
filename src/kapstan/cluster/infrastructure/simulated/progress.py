"""Progress of steps that take time: when one began is kept in the status, so that a restart of the manager changes
nothing about when it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kapstan.machinery.meta import MicroTime

__all__ = ("remaining", "this_moment")


def this_moment() -> MicroTime:
    return MicroTime.now(UTC)


def remaining(since: datetime | None, takes: timedelta) -> timedelta:
    """How long a step still takes; nothing if it is over."""
    if since is None:
        return takes
    return max(timedelta(), since + takes - datetime.now(UTC))
