"""Autoscalers, in the shape of autoscaling/v2."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

from kapstan.apiserver.strategy.conversion.autoscaling import to_v2
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_label,
    nonnegative,
    nonnegative_quantity,
    path_segment,
)
from kapstan.apiserver.strategy.validation.resources import container_resource_name
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import FieldError, Path

__all__ = ("autoscaler", "autoscaler_status", "autoscaler_update")

_SPEC = Path("spec")
_STATUS = Path("status")
_MAX_WINDOW, _MAX_PERIOD = 3600, 1800
_EITHER_TARGET = "must set either a target raw value or a target utilization"
_BOTH_TARGETS = "may not set both a target raw value and a target utilization"
_POPULATE = "must populate information for the given metric source"


def autoscaler(obj: Object) -> Rules:
    obj = _as_v2(obj)
    target = obj["spec"]["scaleTargetRef"]
    yield from _spec(obj["spec"], 1, target.get("kind") == "ReplicationController", checked=True)


def _as_v2(obj: Object) -> Object:
    return to_v2(copy.deepcopy(obj)) if obj["apiVersion"] == "autoscaling/v1" else obj


def autoscaler_update(obj: Object, old: Object) -> Rules:
    obj, old = _as_v2(obj), _as_v2(old)
    target, before = obj["spec"]["scaleTargetRef"], old["spec"]["scaleTargetRef"]
    same = all(target.get(field) == before.get(field) for field in ("apiVersion", "kind"))
    least = 0 if old["spec"].get("minReplicas") == 0 else 1
    yield from _spec(obj["spec"], least, target.get("kind") == "ReplicationController", checked=not same)


def _spec(spec: Object, least: int, may_be_core: bool, *, checked: bool) -> Rules:
    low, high, path = spec.get("minReplicas"), spec.get("maxReplicas", 0), _SPEC.child("maxReplicas")
    if low is not None and low < least:
        yield FieldError.invalid(_SPEC.child("minReplicas"), low, f"must be greater than or equal to {least}")
    if not high:
        yield FieldError.required(path, "must be set and greater than 0")
    elif high < 0:
        yield FieldError.invalid(path, high, "must be greater than or equal to 1")
    if low is not None and high < low:
        yield FieldError.invalid(path, high, "must be greater than or equal to `minReplicas`")
    at = _SPEC.child("scaleTargetRef")
    yield from _reference(spec["scaleTargetRef"], at, may_be_core=may_be_core, checked=checked)
    metrics = spec.get("metrics") or ()
    for position, metric in enumerate(metrics):
        yield from _metric(metric, _SPEC.child("metrics").index(position))
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield FieldError.forbidden(_SPEC.child("metrics"), detail)
    for direction in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(direction)
        if rules is not None:
            yield from _scaling(rules, _SPEC.child("behavior", direction))


def _reference(reference: Object, path: Path, *, may_be_core: bool, checked: bool = True) -> Rules:
    for field in ("kind", "name"):
        if reference.get(field):
            yield from path_segment(reference[field], path.child(field))
        else:
            yield FieldError.required(path.child(field))
    version = reference.get("apiVersion", "")
    if checked and (why := _version_error(version, may_be_core)):
        yield FieldError.invalid(path.child("apiVersion"), version, why)


def _version_error(version: str, may_be_core: bool) -> str:
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if not may_be_core and not version.rpartition("/")[0]:
        return "apiVersion must specify API group"
    return ""


def _scaling(rules: Object, path: Path) -> Rules:
    window, at = rules.get("stabilizationWindowSeconds"), path.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield FieldError.invalid(at, window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW:
        yield FieldError.invalid(at, window, f"must be less than or equal to {_MAX_WINDOW}")
    select = rules.get("selectPolicy")
    if select is not None and select not in ("Disabled", "Max", "Min"):
        yield FieldError.not_supported(path.child("selectPolicy"), select, ("Disabled", "Max", "Min"))
    if not rules.get("policies"):
        yield FieldError.required(path.child("policies"), "must specify at least one Policy")
    for position, policy in enumerate(rules.get("policies") or ()):
        yield from _policy(policy, path.child("policies").index(position))
    if rules.get("tolerance") is not None:
        yield from nonnegative_quantity(rules["tolerance"], path.child("tolerance"))


def _policy(policy: Object, path: Path) -> Rules:
    kind, period = policy.get("type", ""), policy.get("periodSeconds", 0)
    if kind not in ("Pods", "Percent"):
        yield FieldError.not_supported(path.child("type"), kind, ("Percent", "Pods"))
    for field in ("value", "periodSeconds"):
        if policy.get(field, 0) <= 0:
            yield FieldError.invalid(path.child(field), policy.get(field, 0), "must be greater than zero")
    if period > _MAX_PERIOD:
        detail = f"must be less than or equal to {_MAX_PERIOD}"
        yield FieldError.invalid(path.child("periodSeconds"), period, detail)


# Metrics --------------------------------------------------------------------------------------------------------------


def _metric(metric: Object, path: Path) -> Rules:
    kind, supported = metric.get("type", ""), tuple(sorted(_FIELDS))
    unknown = FieldError.not_supported(path.child("type"), kind, supported)
    if not kind:
        yield FieldError.required(path.child("type"), "must specify a metric source type")
    if kind not in _FIELDS:
        yield unknown
    present = [field for field in _SOURCES if metric.get(field) is not None]
    if present:
        yield from _SOURCES[present[0]](metric[present[0]], path.child(present[0]))
    wanted = _FIELDS.get(kind)
    if wanted is None:
        yield unknown
    elif wanted not in present:
        yield FieldError.required(path.child(wanted), _POPULATE)
    if len(present) != 1:
        for field in present:
            if field != wanted:
                yield FieldError.forbidden(path.child(field), "must populate the given metric source only")


def _object(source: Object, path: Path) -> Rules:
    yield from _reference(source["describedObject"], path.child("describedObject"), may_be_core=True)
    yield from _identifier(source["metric"], path.child("metric"))
    yield from _target(source["target"], path.child("target"))
    yield from _either(source["target"], "value", path, "must set either a target value or averageValue")


def _external(source: Object, path: Path) -> Rules:
    target = source["target"]
    yield from _identifier(source["metric"], path.child("metric"))
    yield from _target(target, path.child("target"))
    detail = "must set either a target value for metric or a per-pod target"
    yield from _either(target, "value", path, detail)
    if target.get("value") is not None and target.get("averageValue") is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        yield FieldError.forbidden(path.child("target", "value"), detail)


def _either(target: Object, other: str, path: Path, detail: str) -> Rules:
    if target.get(other) is None and target.get("averageValue") is None:
        yield FieldError.required(path.child("target", "averageValue"), detail)


def _pods(source: Object, path: Path) -> Rules:
    yield from _identifier(source["metric"], path.child("metric"))
    yield from _target(source["target"], path.child("target"))
    if source["target"].get("averageValue") is None:
        detail = "must specify a positive target averageValue"
        yield FieldError.required(path.child("target", "averageValue"), detail)


def _resource(source: Object, path: Path) -> Rules:
    if not source.get("name"):
        yield FieldError.required(path.child("name"), "must specify a resource name")
    yield from _resource_target(source, path)


def _container_resource(source: Object, path: Path) -> Rules:
    if source.get("name"):
        yield from container_resource_name(source["name"], path.child("name"))
    else:
        yield FieldError.required(path.child("name"), "must specify a resource name")
    if source.get("container"):
        yield from dns_label(source["container"], path.child("container"))
    else:
        yield FieldError.required(path.child("container"), "must specify a container")
    yield from _resource_target(source, path)


def _resource_target(source: Object, path: Path) -> Rules:
    target = source["target"]
    yield from _target(target, path.child("target"))
    utilization, value = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and value is None:
        yield FieldError.required(path.child("target", "averageUtilization"), _EITHER_TARGET)
    if utilization is not None and value is not None:
        yield FieldError.forbidden(path.child("target", "averageValue"), _BOTH_TARGETS)


def _identifier(metric: Object, path: Path) -> Rules:
    if metric.get("name"):
        yield from path_segment(metric["name"], path.child("name"))
    else:
        yield FieldError.required(path.child("name"), "must specify a metric name")


def _target(target: Object, path: Path) -> Rules:
    kind = target.get("type", "")
    if not kind:
        yield FieldError.required(path.child("type"), "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        detail = "must be either Utilization, Value, or AverageValue"
        yield FieldError.invalid(path.child("type"), kind, detail)
    for field in ("value", "averageValue"):
        if target.get(field) is not None and Quantity(target[field]) <= 0:
            yield FieldError.invalid(path.child(field), target[field], "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield FieldError.invalid(path.child("averageUtilization"), utilization, "must be greater than 0")


_SOURCES: Mapping[str, Callable[[Object, Path], Rules]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
_FIELDS: Mapping[str, str] = {field[0].upper() + field[1:]: field for field in _SOURCES}


def autoscaler_status(obj: Object, old: Object) -> Rules:
    status = obj.get("status") or {}
    fields: Sequence[str] = ("currentReplicas", "desiredReplicas")
    for field in fields:
        yield from nonnegative(status.get(field, 0), _STATUS.child(field))
