"""Scale: an object seen as a number of replicas, whatever its kind.

Reading and writing `/scale` reads and writes the parent object at a few paths. A patch applies to the Scale; only the
number of replicas counts of what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapstan.apiserver.registry import managed
from kapstan.apiserver.registry.errors import internal, invalid, not_found
from kapstan.apiserver.registry.objects import decode, encode, view
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.registry.update import guaranteed_update
from kapstan.apiserver.request import Request
from kapstan.machinery import labels
from kapstan.machinery.errors import BadRequest, UnsupportedMediaType
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.patch import apply_json_patch, apply_merge_patch
from kapstan.machinery.validation import FieldError

__all__ = ("ScaleEndpoint",)

Object = dict[str, Any]

_API_VERSION = "autoscaling/v1"
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class ScaleEndpoint:
    """`/scale` of one kind. Paths are like `.spec.replicas`; the selector may be a text or a label selector."""

    def __init__(self, spec_path: str, status_path: str, selector_path: str = "", *, custom: bool = False) -> None:
        self._custom = custom  # a custom kind judges the number itself, and may have none
        self._spec_path = spec_path
        self._spec = _fields(spec_path)
        self._status = _fields(status_path)
        self._selector = _fields(selector_path)

    async def get(self, request: Request) -> Outcome:
        kind = request.kind
        record = request.cluster.storage.get(kind.storage.group_resource, request.key)
        if record is None:
            raise not_found(kind.gvr.group_resource, request.name)
        return Outcome(encode(self.scale_of(decode(await view(kind, record)))), plain=True)

    async def update(self, request: Request, scale: Object) -> Outcome:
        """PUT a Scale."""
        _check(request, scale)
        metadata = scale.get("metadata") or {}
        return await self._write(request, lambda old: scale, metadata.get("uid") or "")

    async def patch(self, request: Request, patch_type: str, body: Any) -> Outcome:
        if patch_type == "application/apply-patch+yaml":
            return await self._apply(request, body)
        if patch_type == "application/json-patch+json":
            return await self._write(request, lambda old: apply_json_patch(self._to_patch(old), body))
        if patch_type in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            return await self._write(request, lambda old: apply_merge_patch(self._to_patch(old), body))
        raise UnsupportedMediaType(f"patch type {patch_type} is not supported")

    async def _write(self, request: Request, wanted: Any, uid: str = "") -> Outcome:
        async def change(old: Object | None) -> Object:
            assert old is not None
            scale = wanted(old)
            _check(request, scale)
            new = _with(old, self._spec, self._replicas(request, scale))
            version = (scale.get("metadata") or {}).get("resourceVersion")
            new["metadata"] = {**new["metadata"], "resourceVersion": version or old["metadata"]["resourceVersion"]}
            return _untimed(managed.update(request, old, new))

        return self._answer(await guaranteed_update(request, change, uid=uid))

    async def _apply(self, request: Request, config: Any) -> Outcome:
        """Who applies a Scale owns the number of replicas of its parent."""
        if not isinstance(config, dict):
            raise BadRequest("error decoding YAML: an apply configuration is an object")
        _check(request, config)
        gvk = request.kind.gvk
        parent: Object = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": request.name}}
        if request.namespace:
            parent["metadata"]["namespace"] = request.namespace
        parent = _with(parent, self._spec, self._replicas(request, config))

        async def change(old: Object | None) -> Object:
            return managed.apply(request, old, parent)

        return self._answer(await guaranteed_update(request, change))

    def _to_patch(self, old: Object) -> Object:
        """The present Scale, of an object that may not have a number of replicas yet."""
        return self.scale_of(old if _at(old, self._spec) is not None else _with(old, self._spec, 0))

    def _answer(self, outcome: Outcome) -> Outcome:
        return Outcome(encode(self.scale_of(decode(outcome.value))), plain=True)

    def _replicas(self, request: Request, scale: Object) -> int:
        value = (scale.get("spec") or {}).get("replicas", 0)
        if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
            raise BadRequest("Scale: spec.replicas is not a 32-bit integer")
        if value < 0 and not self._custom:
            error = FieldError.invalid("spec.replicas", value, "must be greater than or equal to 0")
            raise invalid(GroupKind("autoscaling", "Scale"), request.name, [error])
        return value

    def scale_of(self, obj: Object) -> Object:
        """An object as a Scale."""
        metadata = {name: obj["metadata"][name] for name in _METADATA if name in obj["metadata"]}
        replicas = _at(obj, self._spec)
        if replicas is None and self._custom:
            raise internal(f"the spec replicas field {quote(self._spec_path)} does not exist")
        status: Object = {"replicas": _at(obj, self._status) or 0}
        selector = _at(obj, self._selector) if self._selector else None
        if selector:
            status["selector"] = selector if isinstance(selector, str) else str(labels.from_label_selector(selector))
        return {
            "kind": "Scale",
            "apiVersion": _API_VERSION,
            "metadata": metadata,
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }


def _untimed(obj: Object) -> Object:
    """kube-apiserver remembers who scaled an object, but not when: such an entry comes before those with a time."""
    entries = obj["metadata"].get("managedFields") or []
    for entry in entries:
        if entry.get("subresource") == "scale" and entry["operation"] == "Update":
            entry.pop("time", None)
    entries.sort(key=lambda entry: (entry["operation"], entry.get("time") or ""))
    return obj


def _check(request: Request, scale: Any) -> None:
    if not isinstance(scale, dict) or scale.get("kind", "Scale") != "Scale":
        raise BadRequest("the object provided is unrecognized (must be of type Scale)")
    name = (scale.get("metadata") or {}).get("name") or ""
    if name and name != request.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({request.name})")


def _fields(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.lstrip(".").split(".") if part)


def _at(obj: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def _with(obj: Object, path: Sequence[str], value: Any) -> Object:
    """A copy of the object with another value at the path."""
    first, *rest = path
    if not rest:
        return {**obj, first: value}
    inner = obj.get(first)
    return {**obj, first: _with(inner if isinstance(inner, dict) else {}, rest, value)}
