"""Events: lenient as they always were in the core group, strict in events.k8s.io."""

from __future__ import annotations

from kapstan.apiserver.strategy.conversion.events import to_core
from kapstan.apiserver.strategy.validation.common import Object, Rules, dns_subdomain, immutable, qualified_name
from kapstan.machinery.validation import FieldError, Path

__all__ = ("core_event", "core_event_update", "event", "event_update")

_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128}
_MAX_MESSAGE = 1024
_FIXED = ("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type")


def core_event(obj: Object) -> Rules:
    return _legacy(obj, "reportingComponent")


def core_event_update(obj: Object, old: Object) -> Rules:
    return _legacy(obj, "reportingComponent")


def event(obj: Object) -> Rules:
    found = to_core(obj)
    yield from _legacy(found, "reportingController")
    yield from _series(found)
    if not found.get("eventTime"):
        yield FieldError.required("eventTime")
    if found.get("type") not in ("Normal", "Warning"):
        yield FieldError.invalid("type", "", f"has invalid value: {found.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if found.get(field):
            yield FieldError.invalid(field, "", "needs to be unset")
    if any((found.get("source") or {}).values()):
        yield FieldError.invalid("source", "", "needs to be unset")


def event_update(obj: Object, old: Object) -> Rules:
    new, before = to_core(obj), to_core(old)
    yield from _legacy(new, "reportingController")
    if new.get("series") != before.get("series"):
        yield from _series(new)
    for field in (*_FIXED, "eventTime", "action", "related"):
        yield from immutable(new.get(field), before.get(field), Path(field))
    yield from immutable(new.get("reportingComponent"), before.get("reportingComponent"), Path("reportingController"))
    yield from immutable(new.get("reportingInstance"), before.get("reportingInstance"), Path("reportingInstance"))


def _series(found: Object) -> Rules:
    series = found.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield FieldError.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield FieldError.required("series.lastObservedTime")


def _legacy(found: Object, reporter: str) -> Rules:
    namespace = found["metadata"].get("namespace", "")
    about = (found.get("involvedObject") or {}).get("namespace", "")
    path = Path("involvedObject", "namespace")
    if not found.get("eventTime"):
        if about != namespace if about else namespace not in ("", "default"):
            yield FieldError.invalid(path, about, "does not match event.namespace")
    else:
        if not about and namespace not in ("default", "kube-system"):
            yield FieldError.invalid(path, about, "does not match event.namespace")
        yield from _reporting(found, reporter)
    yield from dns_subdomain(namespace, Path("namespace"))


def _reporting(found: Object, reporter: str) -> Rules:
    name = found.get("reportingComponent", "")
    if not name:
        yield FieldError.required(reporter)
    yield from qualified_name(name, Path(reporter))
    for field, limit in _LIMITS.items():
        value = found.get(field, "")
        if not value:
            yield FieldError.required(field)
        if len(value.encode()) > limit:
            yield FieldError.invalid(field, "", f"can have at most {limit} characters")
    if len(found.get("message", "").encode()) > _MAX_MESSAGE:
        yield FieldError.invalid("message", "", f"can have at most {_MAX_MESSAGE} characters")
