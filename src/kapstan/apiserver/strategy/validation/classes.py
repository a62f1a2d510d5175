"""Small kinds that other objects name: priorities, runtimes, leases."""

from __future__ import annotations

import re

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_label,
    immutable,
    labels,
    one_of,
    qualified_name,
    struct,
)
from kapstan.apiserver.strategy.validation.resources import requirements
from kapstan.apiserver.strategy.validation.scheduling import tolerations
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "lease",
    "lease_candidate",
    "lease_candidate_update",
    "lease_update",
    "priority_class",
    "priority_class_update",
    "runtime_class",
    "runtime_class_update",
)

_SPEC = Path("spec")
_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_LEASE_STRATEGIES = ("OldestEmulationVersion",)
_NUMBER = "(0|[1-9][0-9]*)"
_SEMANTIC_VERSION = re.compile(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def priority_class(obj: Object) -> Rules:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        if why := _not_system(name, value, bool(obj.get("globalDefault"))):
            reserved = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield FieldError.forbidden(Path("metadata", "name"), reserved + why)
    elif value > _HIGHEST_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield FieldError.forbidden(Path("value"), detail)
    if obj.get("preemptionPolicy") is not None:
        yield from one_of(obj["preemptionPolicy"], Path("preemptionPolicy"), ("PreemptLowerPriority", "Never"))


def _not_system(name: str, value: int, is_default: bool) -> str:
    known = _SYSTEM_PRIORITIES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def priority_class_update(obj: Object, old: Object) -> Rules:
    if obj.get("value", 0) != old.get("value", 0):
        yield FieldError.forbidden(Path("value"), "may not be changed in an update.")
    yield from immutable(obj.get("preemptionPolicy"), old.get("preemptionPolicy"), Path("preemptionPolicy"))


def runtime_class(obj: Object) -> Rules:
    if obj.get("handler"):
        yield from dns_label(obj["handler"], Path("handler"))
    else:
        yield FieldError.required(Path("handler"))
    if obj.get("overhead") is not None:
        yield from requirements({"limits": obj["overhead"].get("podFixed")}, Path("overhead"))
    scheduling, path = obj.get("scheduling"), Path("scheduling")
    if scheduling is None:
        return
    yield from labels(scheduling.get("nodeSelector"), path.child("nodeSelector"))
    found = scheduling.get("tolerations") or ()
    yield from tolerations(found, path.child("tolerations"))
    seen: list[tuple[str, ...]] = []
    for position, toleration in enumerate(found):
        key = tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect"))
        if key in seen:
            names = ("Key", "Operator", "Value", "Effect")
            seconds = toleration.get("tolerationSeconds")
            shown = struct(**dict(zip(names, key, strict=True)), TolerationSeconds=seconds)
            yield FieldError.duplicate(path.child("tolerations").index(position), shown)
        seen.append(key)


def runtime_class_update(obj: Object, old: Object) -> Rules:
    return immutable(obj.get("handler", ""), old.get("handler", ""), Path("handler"))


# Leases ---------------------------------------------------------------------------------------------------------------


def lease(obj: Object) -> Rules:
    spec = obj["spec"]
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield FieldError.invalid(_SPEC.child("leaseDurationSeconds"), duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield FieldError.invalid(_SPEC.child("leaseTransitions"), transitions, "must be greater than or equal to 0")
    if spec.get("strategy") is not None:
        yield from _strategy(spec["strategy"], _SPEC.child("strategy"))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        yield FieldError.forbidden(_SPEC.child("preferredHolder"), "may only be specified if `strategy` is defined")


def lease_update(obj: Object, old: Object) -> Rules:
    return lease(obj)


def _strategy(name: str, path: Path) -> Rules:
    if "/" in name:
        yield from qualified_name(name, path.child("strategy"))
    elif name not in _LEASE_STRATEGIES:
        yield FieldError.not_supported(path.child("strategy"), name, _LEASE_STRATEGIES)


def lease_candidate(obj: Object) -> Rules:
    spec = obj["spec"]
    if not spec.get("leaseName"):
        yield FieldError.required(_SPEC.child("leaseName"))
    emulation, binary = spec.get("emulationVersion", ""), spec.get("binaryVersion", "")
    if emulation and not _SEMANTIC_VERSION.fullmatch(emulation):
        yield FieldError.invalid(_SPEC.child("emulationVersion"), emulation, "must be a valid semantic version")
    if not binary:
        yield FieldError.required(_SPEC.child("binaryVersion"))
    elif not _SEMANTIC_VERSION.fullmatch(binary):
        yield FieldError.invalid(_SPEC.child("binaryVersion"), binary, "must be a valid semantic version")
    if binary and emulation and _numbers(binary) < _numbers(emulation):
        detail = "must be greater than or equal to `emulationVersion`"
        yield FieldError.invalid(_SPEC.child("binaryVersion"), binary, detail)
    strategy, path = spec.get("strategy", ""), _SPEC.child("strategy")
    if not strategy:
        yield FieldError.required(path)
        return
    if strategy in _LEASE_STRATEGIES and _numbers(emulation) == (0, 0, 0):
        detail = "must be specified when `strategy` is 'OldestEmulationVersion'"
        yield FieldError.required(_SPEC.child("emulationVersion"), detail)
    yield from _strategy(strategy, path)


def _numbers(version: str) -> tuple[int, ...]:
    found = _SEMANTIC_VERSION.fullmatch(version)
    return tuple(int(found[group]) for group in (1, 3, 5)) if found else (0, 0, 0)


def lease_candidate_update(obj: Object, old: Object) -> Rules:
    yield from lease_candidate(obj)
    new, before = (one["spec"].get("leaseName", "") for one in (obj, old))
    yield from immutable(new, before, _SPEC.child("leaseName"))
