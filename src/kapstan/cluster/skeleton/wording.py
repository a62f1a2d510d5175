"""Words that several conditions share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

__all__ = ("rfc3339", "shortened")


def shortened(names: Iterable[str], limit: int = 5) -> str:
    """Names, and how many more there are."""
    known = list(names)
    more = [f"... ({len(known) - limit} more)"] if len(known) > limit else []
    return ", ".join([*known[:limit], *more])


def rfc3339(time: datetime) -> str:
    """A time as Kubernetes writes it."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
