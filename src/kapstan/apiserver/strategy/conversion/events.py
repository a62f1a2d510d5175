"""Events: one store under two names. The core group's form is stored; events.k8s.io calls some fields otherwise."""

from __future__ import annotations

from typing import Any

__all__ = ("to_core", "to_events")

Object = dict[str, Any]

# The name of a field in the core group, and in events.k8s.io.
_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_EVENTS = dict(_NAMES)
_TO_CORE = {other: name for name, other in _NAMES}


def to_core(event: Object) -> Object:
    """An event of events.k8s.io as the core group has it."""
    return {"apiVersion": "v1", "kind": "Event", **_renamed(event, _TO_CORE)}


def to_events(event: Object) -> Object:
    """An event of the core group as events.k8s.io has it."""
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", **_renamed(event, _TO_EVENTS)}


def _renamed(event: Object, names: dict[str, str]) -> Object:
    return {names.get(name, name): value for name, value in event.items() if name not in ("apiVersion", "kind")}
