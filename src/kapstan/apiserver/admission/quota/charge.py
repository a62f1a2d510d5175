"""Charge: what one write takes from the quotas of its namespace, or why they do not allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.quota.amounts import (
    Amounts,
    at_least_nothing,
    listed,
    only,
    parsed,
    total,
    written,
)
from kapstan.apiserver.admission.quota.measures import Measure
from kapstan.apiserver.admission.quota.scopes import requirements
from kapstan.apiserver.admission.refusal import refused

__all__ = ("charges",)

Object = dict[str, Any]


def charges(quotas: Sequence[Object], measure: Measure, attributes: AdmissionAttributes) -> list[Object]:
    """Those of the quotas that the write changes, as it changes them. Raises Forbidden if one does not allow it."""
    obj, old = attributes.object, attributes.old
    assert obj is not None
    concerned = [quota for quota in quotas if _concerns(quota, measure, obj)]
    for quota in concerned:
        _check_known(quota, measure, obj, attributes)
    if not concerned:
        return []
    usage = measure.usage(obj)
    if negative := sorted(name for name, amount in usage.items() if amount < 0):
        raise refused(attributes, f"quota usage is negative for resource(s): {','.join(negative)}")
    found = []
    for quota in concerned:
        before = measure.usage(old) if old is not None and _concerns(quota, measure, old) else {}
        delta = at_least_nothing(usage, before)
        changed = _charged(quota, delta, attributes) if delta else None
        found += [changed] if changed is not None else []
    return found


def _concerns(quota: Object, measure: Measure, obj: Object) -> bool:
    hard = (quota.get("status") or {}).get("hard") or {}
    return bool(measure.covered(hard)) and all(measure.in_scope(one, obj) for one in requirements(quota))


def _check_known(quota: Object, measure: Measure, obj: Object, attributes: AdmissionAttributes) -> None:
    """The object must say what it uses, and the quota what is used already."""
    status, name = quota["status"], quota["metadata"]["name"]
    names = measure.covered(status["hard"])
    if missing := measure.missing(names, obj):
        raise refused(attributes, f"failed quota: {name}: {missing}")
    if not set(names) <= (status.get("used") or {}).keys():
        raise refused(attributes, f"status unknown for quota: {name}, resources: {','.join(names)}")


def _charged(quota: Object, delta: Amounts, attributes: AdmissionAttributes) -> Object | None:
    """The quota after the write; None if that is no difference."""
    status = quota["status"]
    hard, used = parsed(status["hard"]), parsed(status.get("used"))
    requested = only(delta, hard)
    after = total((used, requested))
    if attributes.subresource != "status":
        exceeded = [name for name in requested if after[name] > hard[name]]
        if exceeded:
            raise refused(
                attributes,
                f"exceeded quota: {quota['metadata']['name']}, requested: {listed(only(requested, exceeded))}, "
                f"used: {listed(only(used, exceeded))}, limited: {listed(only(hard, exceeded))}",
            )
    return {**quota, "status": {**status, "used": written(after)}} if requested else None
