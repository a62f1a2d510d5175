"""Scale: an object seen as a number of replicas, whatever its kind.

Reading and writing `/scale` reads and writes the parent object at a few paths. A patch applies to the Scale; only the
number of replicas counts of what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.accepting import accepted_below
from kapstan.apiserver.registry.admitting import admit_below
from kapstan.apiserver.registry.errors import internal, invalid, not_found
from kapstan.apiserver.registry.metadata import manager_of
from kapstan.apiserver.registry.objects import decode, encode, view
from kapstan.apiserver.registry.outcome import Outcome
from kapstan.apiserver.registry.update import guaranteed_update
from kapstan.apiserver.request import Request, WriteOptions
from kapstan.machinery import labels
from kapstan.machinery.apply import FieldManager, from_scale, to_scale
from kapstan.machinery.errors import BadRequest, UnsupportedMediaType
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupKind, GroupVersionKind
from kapstan.machinery.patch import apply_json_patch, apply_merge_patch
from kapstan.machinery.validation import FieldError

__all__ = ("ScaleEndpoint",)

Object = dict[str, Any]

_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class ScaleEndpoint:
    """`/scale` of one kind. Paths are like `.spec.replicas`; the selector may be a text or a label selector."""

    def __init__(self, spec_path: str, status_path: str, selector_path: str = "", *, custom: bool = False) -> None:
        self._custom = custom  # a custom kind judges the number itself, and may have none
        self._spec_path = spec_path
        self._spec = _fields(spec_path)
        self._status = _fields(status_path)
        self._selector = _fields(selector_path)

    @property
    def replicas_path(self) -> tuple[str, ...]:
        """The names on the way to the number of replicas."""
        return self._spec

    async def get(self, request: Request) -> Outcome:
        kind = request.kind
        record = request.cluster.storage.get(kind.storage.group_resource, request.key)
        if record is None:
            raise not_found(kind.gvr.group_resource, request.name)
        return Outcome(encode(self.scale_of(decode(await view(kind, record)))), plain=True)

    async def update(self, request: Request, body: Any) -> Outcome:
        """PUT a Scale."""
        scale = accepted_below(request, body)
        _check_name(request, scale)

        def replaced(before: Object) -> Object:
            return _owned(request, before, scale)

        return await self._write(request, replaced, scale["metadata"].get("uid") or "")

    async def patch(self, request: Request, patch_type: str, body: Any) -> Outcome:
        """A patch of the Scale, or an apply: who applies a Scale owns the number of replicas of its parent."""
        if patch_type == "application/apply-patch+yaml":
            return await self._write(request, lambda before: _applied(request, before, body))
        change: Callable[[Any, Any], Any]
        if patch_type == "application/json-patch+json":
            change = apply_json_patch
        elif patch_type in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            change = apply_merge_patch
        else:
            raise UnsupportedMediaType(f"patch type {patch_type} is not supported")

        def patched(before: Object) -> Object:
            scale = accepted_below(request, change(before, body))
            _check_name(request, scale)
            return _owned(request, before, scale)

        return await self._write(request, patched)

    async def _write(self, request: Request, wanted: Callable[[Object], Object], uid: str = "") -> Outcome:
        """Change the Scale, let admission judge that, and carry the number and who owns it over to the parent."""

        async def change(old: Object | None) -> Object:
            assert old is not None
            before = self._scale_with_owners(request, old)
            scale = await admit_below(request, wanted(before), before)
            self._check(request, scale)
            return self._parent_after(request, old, scale)

        return self._answer(await guaranteed_update(request, change, uid=uid, seen_as=self._present))

    def _present(self, parent: Object) -> Object:
        """The Scale of an object that may not have a number of replicas yet."""
        return self.scale_of(parent if _at(parent, self._spec) is not None else _with(parent, self._spec, 0))

    def _scale_with_owners(self, request: Request, parent: Object) -> Object:
        scale = self._present(parent)
        owners = to_scale(parent["metadata"].get("managedFields") or (), _replicas_paths(request.kind))
        if owners:
            scale["metadata"]["managedFields"] = owners
        return scale

    def _parent_after(self, request: Request, parent: Object, scale: Object) -> Object:
        new = _with(parent, self._spec, (scale.get("spec") or {}).get("replicas", 0))
        entries = parent["metadata"].get("managedFields") or ()
        owners = scale["metadata"].get("managedFields") or ()
        api_version, paths = request.kind.gvk.api_version, _replicas_paths(request.kind)
        new["metadata"] = {
            **parent["metadata"],
            "resourceVersion": scale["metadata"].get("resourceVersion") or parent["metadata"]["resourceVersion"],
            "managedFields": from_scale(entries, owners, api_version, paths),
        }
        return new

    def _check(self, request: Request, scale: Object) -> None:
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        if replicas < 0 and not self._custom:
            error = FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid(GroupKind("autoscaling", "Scale"), request.name, [error])

    def _answer(self, outcome: Outcome) -> Outcome:
        return Outcome(encode(self.scale_of(decode(outcome.value))), plain=True)

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
            "kind": _SCALE.kind,
            "apiVersion": _SCALE.api_version,
            "metadata": metadata,
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }


def _owned(request: Request, before: Object, scale: Object) -> Object:
    """With what it changes given to whoever sent it."""
    manager = manager_of(request)
    return _field_manager().update(before, scale, manager, now=request.timestamp, subresource=request.subresource)


def _applied(request: Request, before: Object, config: Any) -> Object:
    if not isinstance(config, dict):
        raise BadRequest("error decoding YAML: an apply configuration is an object")
    _check_name(request, config)
    options = request.options
    assert isinstance(options, WriteOptions)
    return accepted_below(
        request,
        _field_manager().apply(
            before,
            config,
            options.field_manager,
            force=options.force,
            now=request.timestamp,
            subresource=request.subresource,
        ),
    )


@cache
def _field_manager() -> FieldManager:
    name = facts.definition_name(*_SCALE)
    assert name is not None
    return FieldManager(facts.definitions().schema(name), _SCALE.api_version, _SCALE.kind)


def _replicas_paths(kind: ServedKind) -> dict[str, tuple[str, ...] | None]:
    """Where each version of the kind has its replicas."""
    found: dict[str, tuple[str, ...] | None] = {}
    for version in (kind, *kind.siblings):
        below = version.subresources.get("scale")
        found[version.gvk.api_version] = below.scale.replicas_path if below is not None else None
    return found


def _check_name(request: Request, scale: Object) -> None:
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
