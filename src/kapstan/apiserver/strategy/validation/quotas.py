"""Limit ranges and resource quotas."""

from __future__ import annotations

from collections.abc import Mapping

from kapstan.apiserver.strategy.resources import is_overcommitted
from kapstan.apiserver.strategy.validation.common import IMMUTABLE, Object, Rules, qualified_name
from kapstan.apiserver.strategy.validation.resources import (
    COUNTED,
    container_resource_name,
    is_quota_huge_page,
    quantity_value,
    resource_name,
)
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import FieldError, Path

__all__ = ("limit_range", "limit_range_update", "quota", "quota_status", "quota_update")

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_QUOTA = COUNTED.union(
    _COMPUTE,
    (f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE),
    ("requests.storage",),
)
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)
_POD_COMPUTE = frozenset(
    "pods" if name == "pods" else f"{prefix}{name}"
    for name in ("pods", "cpu", "memory", "ephemeral-storage")
    for prefix in ("", "requests.", "limits.")
)


def limit_range(obj: Object) -> Rules:
    types: set[str] = set()
    for position, limit in enumerate(obj["spec"].get("limits") or ()):
        at = Path("spec", "limits").index(position)
        kind = limit.get("type", "")
        yield from _limit_type(kind, at.child("type"))
        if kind in types:
            yield FieldError.duplicate(at.child("type"), kind)
        types.add(kind)
        yield from _limit_names(limit, kind, at)
        yield from _limit_amounts(limit, kind, at)


def limit_range_update(obj: Object, old: Object) -> Rules:
    return limit_range(obj)


def _limit_type(kind: str, path: Path) -> Rules:
    errors = list(qualified_name(kind, path))
    yield from errors
    if not errors and "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
        yield FieldError.invalid(path, kind, "must be a standard limit type or fully qualified")


def _limit_names(limit: Object, kind: str, path: Path) -> Rules:
    rule = container_resource_name if kind in ("Pod", "Container") else resource_name
    for field in ("max", "min"):
        for name in limit.get(field) or ():
            yield from rule(name, path.child(field).key(name))
    for field in ("default", "defaultRequest"):
        if kind == "Pod" and limit.get(field):
            yield FieldError.forbidden(path.child(field), "may not be specified when `type` is 'Pod'")
        elif kind != "Pod":
            for name in limit.get(field) or ():
                yield from rule(name, path.child(field).key(name))
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(field) or {}) for field in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield FieldError.required(path.child("limits"), detail)
    for name in limit.get("maxLimitRequestRatio") or ():
        yield from rule(name, path.child("maxLimitRequestRatio").key(name))


def _limit_amounts(limit: Object, kind: str, path: Path) -> Rules:
    fields = ["min", "max", "maxLimitRequestRatio"] + ([] if kind == "Pod" else ["default", "defaultRequest"])
    texts = {field: limit.get(field) or {} for field in fields}
    for name in sorted({name for values in texts.values() for name in values}):
        yield from _one_amount({field: values[name] for field, values in texts.items() if name in values}, name, path)


def _one_amount(texts: Mapping[str, str], name: str, path: Path) -> Rules:
    def greater(one: str, other: str) -> bool:
        return one in texts and other in texts and Quantity(texts[one]) > Quantity(texts[other])

    def wrong(field: str, shown: str, detail: str) -> FieldError:
        return FieldError.invalid(path.child(field).key(name), texts[shown], detail)

    low, high = texts.get("min"), texts.get("max")
    default, request, ratio = texts.get("default"), texts.get("defaultRequest"), texts.get("maxLimitRequestRatio")
    if greater("min", "max"):
        yield wrong("min", "min", f"min value {low} is greater than max value {high}")
    if greater("min", "defaultRequest"):
        detail = f"min value {low} is greater than default request value {request}"
        yield wrong("defaultRequest", "defaultRequest", detail)
    if greater("defaultRequest", "max"):
        detail = f"default request value {request} is greater than max value {high}"
        yield wrong("defaultRequest", "defaultRequest", detail)
    if greater("defaultRequest", "default"):
        detail = f"default request value {request} is greater than default limit value {default}"
        yield wrong("defaultRequest", "defaultRequest", detail)
    if greater("min", "default"):
        yield wrong("default", "min", f"min value {low} is greater than default value {default}")
    if greater("default", "max"):
        yield wrong("default", "max", f"default value {default} is greater than max value {high}")
    if ratio is not None and Quantity(ratio) < 1:
        yield wrong("maxLimitRequestRatio", "maxLimitRequestRatio", f"ratio {ratio} is less than 1")
    if ratio is not None and low is not None and high is not None and Quantity(low) > 0:
        limit = float(Quantity(high).value / Quantity(low).value)
        if float(Quantity(ratio).value) > limit:
            detail = f"ratio {ratio} is greater than max/min = {limit:f}"
            yield wrong("maxLimitRequestRatio", "maxLimitRequestRatio", detail)
    if default is not None and request is not None and not is_overcommitted(name) and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield wrong("defaultRequest", "defaultRequest", detail)


def quota(obj: Object) -> Rules:
    spec = obj["spec"]
    yield from _amounts(spec.get("hard") or {}, Path("spec", "hard"))
    yield from _scopes(spec)
    selector = spec.get("scopeSelector")
    if selector is not None:
        yield from _scope_selector(selector, Path("spec", "scopeSelector", "matchExpressions"))


def _amounts(values: Mapping[str, str], path: Path) -> Rules:
    for name, amount in values.items():
        at = path.key(name)
        yield from resource_name(name, at)
        if "/" not in name and name not in _QUOTA and not is_quota_huge_page(name):
            yield FieldError.invalid(at, name, "must be a standard resource for quota")
        yield from quantity_value(name, amount, at)


def _scopes(spec: Object) -> Rules:
    scopes, path = spec.get("scopes") or [], Path("spec", "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            yield FieldError.invalid(path, scopes, "unsupported scope")
        for name in sorted(spec.get("hard") or {}):
            if (name in _QUOTA or is_quota_huge_page(name)) and not _scope_fits(scope, name):
                yield FieldError.invalid(path, scopes, "unsupported scope applied to resource")
    for one, other in (("BestEffort", "NotBestEffort"), ("NotTerminating", "Terminating")):
        if one in scopes and other in scopes:
            yield FieldError.invalid(path, scopes, "conflicting scopes")


def _scope_fits(scope: str, name: str) -> bool:
    if scope in ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"):
        return name in _POD_COMPUTE
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return name == "pods" if scope == "BestEffort" else True


def _scope_selector(selector: Object, path: Path) -> Rules:
    for expression in selector.get("matchExpressions") or ():
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        values = expression.get("values") or ()
        if scope not in _SCOPES:
            yield FieldError.invalid(path.child("scopeName"), scope, "unsupported scope")
        if scope in _SCOPES and scope not in ("PriorityClass", "VolumeAttributesClass") and operator != "Exists":
            detail = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            yield FieldError.invalid(path.child("operator"), operator, detail)
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield FieldError.required(path.child("values"), detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield FieldError.invalid(path.child("values"), values, detail)
        else:
            yield FieldError.invalid(path.child("operator"), operator, "not a valid selector operator")


def quota_update(obj: Object, old: Object) -> Rules:
    yield from quota(obj)
    scopes = obj["spec"].get("scopes") or []
    if set(scopes) != set(old["spec"].get("scopes") or ()):
        yield FieldError.invalid(Path("spec", "scopes"), scopes or None, IMMUTABLE)


def quota_status(obj: Object, old: Object) -> Rules:
    for field in ("hard", "used"):
        yield from _amounts((obj.get("status") or {}).get(field) or {}, Path("status", field))
