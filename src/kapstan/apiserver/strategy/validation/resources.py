"""Amounts of resources: which there are, and how requests and limits go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kapstan.apiserver.strategy.resources import is_huge_page, is_native, is_overcommitted
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_label,
    nonnegative_quantity,
    qualified_name,
)
from kapstan.machinery.names import qualified_name_errors
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import ErrorType, FieldError, Path

__all__ = (
    "COUNTED",
    "container_resource_name",
    "is_extended",
    "is_quota_huge_page",
    "pod_resource_name",
    "quantity_value",
    "requirements",
    "resource_name",
)

COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_STANDARD = COUNTED.union(
    _COMPUTE,
    (f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE),
    ("storage", "requests.storage"),
)
_QOS = ("cpu", "memory")

ResourceNameRule = Callable[[str, Path], Rules]


def is_quota_huge_page(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def is_extended(name: str) -> bool:
    """Whether a resource is one that somebody else than Kubernetes counts."""
    return not is_native(name) and not name.startswith("requests.") and not qualified_name_errors(f"requests.{name}")


def resource_name(name: str, path: Path) -> Rules:
    errors = list(qualified_name(name, path))
    yield from errors
    if not errors and "/" not in name and name not in _STANDARD and not is_quota_huge_page(name):
        yield FieldError.invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource_name(name: str, path: Path) -> Rules:
    yield from resource_name(name, path)
    if "/" not in name:
        if name not in _COMPUTE and not is_huge_page(name):
            yield FieldError.invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield FieldError.invalid(path, name, "doesn't follow extended resource name standard")


def pod_resource_name(name: str, path: Path) -> Rules:
    errors = list(resource_name(name, path))
    yield from errors
    if not errors and name not in _QOS and not is_huge_page(name):
        yield FieldError.not_supported(path, name, ("cpu", "hugepages-", "memory"))


def quantity_value(name: str, text: str, path: Path) -> Rules:
    yield from nonnegative_quantity(text, path)
    if (name in COUNTED or is_extended(name)) and Quantity(text).milli() % 1000:
        yield FieldError.invalid(path, text, "must be an integer")


def requirements(
    resources: Mapping[str, Any],
    path: Path,
    name_rule: ResourceNameRule = container_resource_name,
    claim_names: Sequence[str] = (),
) -> Rules:
    """Requests and limits of a container or a pod."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    limits_path, requests_path = path.child("limits"), path.child("requests")
    for name, text in limits.items():
        at = limits_path.key(name)
        yield from name_rule(name, at)
        yield from quantity_value(name, text, at)
        yield from _huge_page_value(name, text, at)
    for name, text in requests.items():
        at = requests_path.key(name)
        yield from name_rule(name, at)
        yield from quantity_value(name, text, at)
        yield from _request_and_limit(name, text, limits.get(name), requests_path, limits_path)
        yield from _huge_page_value(name, text, at)
    asked = {*limits, *requests}
    if any(map(is_huge_page, asked)) and not asked.intersection(_QOS):
        yield FieldError.forbidden(path, "HugePages require cpu or memory")
    yield from _claims(resources.get("claims") or (), claim_names, path.child("claims"))


def _request_and_limit(name: str, text: str, limit: str | None, requests: Path, limits: Path) -> Rules:
    if limit is None:
        if not is_overcommitted(name):
            yield FieldError.required(limits, "Limit must be set for non overcommitable resources")
    elif Quantity(text) != Quantity(limit) and not is_overcommitted(name):
        yield FieldError.invalid(requests, text, f"must be equal to {name} limit of {limit}")
    elif Quantity(text) > Quantity(limit):
        yield FieldError.invalid(requests, text, f"must be less than or equal to {name} limit of {limit}")


def _huge_page_value(name: str, text: str, path: Path) -> Rules:
    if not is_huge_page(name):
        return
    try:
        size = Quantity(name.removeprefix("hugepages-"))
    except ValueError:
        size = Quantity("0")
    if int(size) <= 0 or size.milli() % 1000 or int(Quantity(text)) % int(size):
        yield FieldError.invalid(path, text, f"{text} is not positive integer multiple of {name}")


def _claims(claims: Sequence[Object], known: Sequence[str], path: Path) -> Rules:
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        at, name, request = path.index(position), claim.get("name", ""), claim.get("request", "")
        if not name:
            yield FieldError.required(at)
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            yield FieldError.duplicate(at, name)
        else:
            if request:
                yield from dns_label(request, at.child("request"))
            if key in seen:
                yield FieldError.duplicate(at, key)
            elif not request and any(one.startswith(f"{name}/") for one in seen):
                yield FieldError.duplicate(at, name)
            seen.add(key)
        if name not in known:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += ": " + ", ".join(sorted(known)) if known else " which is empty"
            yield FieldError(ErrorType.NOT_FOUND, at, name, detail)
