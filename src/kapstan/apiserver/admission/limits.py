"""LimitRanger: what containers, pods and claims may ask for in a namespace, and what they get if they do not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin
from kapstan.apiserver.admission.quota.amounts import Amounts, parsed
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.storage.interface import Storage
from kapstan.apiserver.strategy.resources import aggregate, is_pod_level
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.quantity import Quantity

__all__ = ("LimitRanger",)

Object = dict[str, Any]

_PODS = GroupResource("", "pods")
_CLAIMS = GroupResource("", "persistentvolumeclaims")
_RANGES = GroupResource("", "limitranges")
_ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanger(Plugin):
    """Defaults come with admission; what is out of range is refused when the object is complete."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def handles(self, attributes: AdmissionAttributes) -> bool:
        resource, operation = attributes.kind.gvr.group_resource, attributes.operation
        if attributes.subresource:
            return resource == _PODS and attributes.subresource == "resize" and operation == "UPDATE"
        return operation == "CREATE" if resource == _PODS else resource == _CLAIMS and operation in ("CREATE", "UPDATE")

    async def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.kind.gvr.group_resource == _PODS:
            for limits in self._ranges(attributes):
                assert attributes.object is not None
                _fill_in(attributes.object, limits)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        judge = _pod_violations if attributes.kind.gvr.group_resource == _PODS else _claim_violations
        for limits in self._ranges(attributes):
            assert attributes.object is not None
            found = list(dict.fromkeys(judge(attributes.object, limits)))
            if found:
                raise refused(attributes, found[0] if len(found) == 1 else f"[{', '.join(found)}]")

    def _ranges(self, attributes: AdmissionAttributes) -> Iterator[list[Object]]:
        """The limits of every range in the namespace; none for what is being deleted."""
        if not self._storage.count(_RANGES):
            return
        if attributes.old is not None and attributes.old["metadata"].get("deletionTimestamp"):
            return
        for record in self._storage.list(_RANGES, f"{attributes.namespace}/"):
            yield codec.decode_any(record.value)["spec"].get("limits") or []


# Defaults -------------------------------------------------------------------------------------------------------------


def _fill_in(pod: Object, limits: list[Object]) -> None:
    """Give containers what the range says, and say so in an annotation."""
    of_containers = [limit for limit in limits if limit["type"] == "Container"]
    defaults = {
        part: {name: amount for limit in of_containers for name, amount in (limit.get(field) or {}).items()}
        for part, field in (("requests", "defaultRequest"), ("limits", "default"))
    }
    notes: list[str] = []
    for field, called in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(field) or ():
            resources = container.setdefault("resources", {})
            for part, word in (("requests", "request"), ("limits", "limit")):
                if added := _add_missing(resources, part, defaults[part]):
                    notes.append(f"{', '.join(added)} {word} for {called} {container['name']}")
    if notes:
        annotations = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}


def _add_missing(resources: Object, part: str, defaults: Mapping[str, str]) -> list[str]:
    given = resources.get(part) or {}
    missing = sorted(defaults.keys() - given.keys())
    if missing:
        resources[part] = {**given, **{name: defaults[name] for name in missing}}
    return missing


# Limits ---------------------------------------------------------------------------------------------------------------


def _pod_violations(pod: Object, limits: list[Object]) -> Iterator[str]:
    spec = pod["spec"]
    for limit in limits:
        if limit["type"] == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {}
                yield from _violations(limit, parsed(resources.get("requests")), parsed(resources.get("limits")))
        elif limit["type"] == "Pod":
            yield from _violations(limit, _of_pod(spec, "requests"), _of_pod(spec, "limits"))


def _of_pod(spec: Object, part: Any) -> Amounts:
    asked = parsed((spec.get("resources") or {}).get(part))
    return parsed(aggregate(spec, part)) | {name: amount for name, amount in asked.items() if is_pod_level(name)}


def _claim_violations(claim: Object, limits: list[Object]) -> Iterator[str]:
    requests = parsed((claim["spec"].get("resources") or {}).get("requests"))
    for limit in limits:
        if limit["type"] == "PersistentVolumeClaim":
            for name, least in parsed(limit.get("min")).items():
                yield from _below(
                    f"minimum {name} usage per {limit['type']} is {least}", least, requests.get(name), None
                )
            for name, most in parsed(limit.get("max")).items():
                text = f"maximum {name} usage per {limit['type']} is {most}"
                request = requests.get(name)
                if request is None:
                    yield f"{text}.  No request is specified"
                elif _comparable(request) > _comparable(most):
                    yield f"{text}, but request is {request}"


def _violations(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, least in parsed(limit.get("min")).items():
        text = f"minimum {name} usage per {kind} is {least}"
        yield from _below(text, least, requests.get(name), limits.get(name))
    for name, most in parsed(limit.get("max")).items():
        text = f"maximum {name} usage per {kind} is {most}"
        yield from _above(text, most, requests.get(name), limits.get(name))
    for name, ratio in parsed(limit.get("maxLimitRequestRatio")).items():
        text = f"{name} max limit to request ratio per {kind} is {ratio}"
        yield from _stretched(text, ratio, requests.get(name), limits.get(name))


def _below(text: str, least: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    if request is None:
        yield f"{text}.  No request is specified"
    elif _comparable(request) < _comparable(least):
        yield f"{text}, but request is {request}"
    elif limit is not None and _comparable(limit) < _comparable(least):
        yield f"{text}, but limit is {limit}"


def _above(text: str, most: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    if limit is None:
        yield f"{text}.  No limit is specified"
    elif _comparable(limit) > _comparable(most):
        yield f"{text}, but limit is {limit}"
    elif request is not None and _comparable(request) > _comparable(most):
        yield f"{text}, but request is {request}"


def _stretched(text: str, ratio: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    if not request:
        yield f"{text}, but no request is specified or request is 0"
    elif not limit:
        yield f"{text}, but no limit is specified or limit is 0"
    else:
        provided = _comparable(limit) / _comparable(request)
        if provided * 1000 > _comparable(ratio):
            yield f"{text}, but provided ratio is {provided:f}"


def _comparable(amount: Quantity) -> int:
    """In thousandths: finer differences do not count."""
    return amount.milli()
