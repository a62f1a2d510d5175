"""What the expressions of mutations make of an object: by merging what is applied, or by a JSON patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapstan.apiserver.admission.policy.unfit import unfit
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry import errors
from kapstan.apiserver.registry.managed import field_manager
from kapstan.apiserver.registry.objects import clone
from kapstan.apiserver.schema.cel.library.mutation import OBJECT, MadeObject, Operation, misplaced, native, plain
from kapstan.apiserver.schema.cel.values import EvaluationError
from kapstan.apiserver.strategy.typed import shape, struct_of
from kapstan.machinery.apply.merging import merge
from kapstan.machinery.apply.types import Atom, TypedError
from kapstan.machinery.apply.validation import validate
from kapstan.machinery.errors import APIError, BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.patch import TestFailed, apply_json_patch

__all__ = ("PatchFailed", "Target")

Object = dict[str, Any]

_UNTYPED = "error applying patch: failed to convert patch object to typed object"


class PatchFailed(Exception):
    """What an expression made does not suit the object; the text is Kubernetes'."""


class Target:
    """What is patched: objects of a kind, or of a subresource that has a kind of its own."""

    def __init__(self, kind: ServedKind, gvk: GroupVersionKind) -> None:
        self._kind = kind
        self._gvk = gvk

    def apply(self, obj: Object, value: MadeObject) -> Object:
        """The object with what was made merged in, as server-side apply merges."""
        _check_places(value)
        patch = {**_plain(value), "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
        atom = self._type()
        for problem in unfit(atom, patch):
            raise PatchFailed(f"{_UNTYPED}: {problem}")
        try:
            validate(atom, patch)
        except TypedError as error:
            raise PatchFailed(f"{_UNTYPED}: {error}") from None
        if atomics := list(_atomics(atom, patch, "")):
            why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
            raise PatchFailed(f"error applying patch: invalid ApplyConfiguration: {why}")
        try:
            merged = clone(merge(atom, obj, patch))
        except TypedError as error:
            raise PatchFailed(f"error applying patch: failed to merge patch: {error}") from None
        try:
            self._shape(merged)
        except BadRequest as error:
            raise PatchFailed(str(error)) from None
        return merged

    def patch(self, obj: Object, operations: list[Operation]) -> Object:
        """The object after the operations; unchanged if one that tests it finds something else."""
        try:
            patched = clone(apply_json_patch(obj, [_document(operation) for operation in operations]))
        except TestFailed:
            return obj
        except APIError as error:
            raise PatchFailed(f"JSON Patch: {error}") from None
        try:
            unknown = self._shape(patched)
        except BadRequest as error:
            raise errors.internal(str(error)) from error
        if unknown and not self._kind.custom:
            fields = ", ".join(f"unknown field {quote(path)}" for path in unknown)
            raise errors.internal(f"strict decoding error: {fields}")
        return patched

    def _type(self) -> Atom:
        """What applied parts are checked against. Subresources with kinds of their own are published without one."""
        if self._gvk != self._kind.gvk:
            group, version, name = self._gvk
            raise PatchFailed(f"{_UNTYPED}: no corresponding type for {group}/{version}, Kind={name}")
        return field_manager(self._kind).type

    def _shape(self, obj: Object) -> list[str]:
        """Give it its shape and its defaults; what was unknown."""
        if self._gvk == self._kind.gvk:
            return self._kind.intake.shape(obj)
        struct = struct_of(self._gvk)
        try:
            return shape(struct, obj) if struct is not None else []
        except ValueError as error:
            raise BadRequest(str(error)) from error


def _check_places(value: Any) -> None:
    root = value.cel_type.name if isinstance(value, MadeObject) else OBJECT
    if problems := list(misplaced(value, root)):
        raise PatchFailed("type mismatch: " + "\n".join(problems))


def _plain(value: MadeObject) -> Object:
    try:
        found: Object = plain(value)
    except EvaluationError:
        raise PatchFailed("invalid return type: *dynamic.ObjectVal") from None
    return found


def _document(operation: Operation) -> Object:
    fields = operation.fields
    found: Object = {"op": fields.get("op", ""), "path": fields.get("path", "")}
    if fields.get("from"):
        found["from"] = fields["from"]
    if "value" in fields:
        if isinstance(fields["value"], MadeObject):
            _check_places(fields["value"])
        try:
            found["value"] = native(fields["value"])
        except EvaluationError as error:
            why = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
            raise PatchFailed(f"{why}: {error}") from None
    return found


def _atomics(atom: Atom, value: Any, path: str) -> Iterator[str]:
    """Where a value has parts that are replaced as a whole: who sets one field of them would drop the others."""
    if isinstance(value, dict) and atom.map is not None:
        if atom.map.atomic:
            yield path
        for name, item in value.items():
            if name in atom.map.fields:
                yield from _atomics(atom.map.fields[name], item, f"{path}.{name}")
    elif isinstance(value, list) and atom.list is not None:
        if atom.list.atomic:
            yield path
        for position, item in enumerate(value):
            yield from _atomics(atom.list.element, item, f"{path}[{position}]")
