"""Accepting bodies: a decoded document becomes an object of the kind that the URL stands for, or a bad request.

Refusals are in the words of Go's decoders, types included: people search for them.
"""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.errors import invalid
from kapstan.apiserver.registry.objects import encode
from kapstan.apiserver.registry.strictness import report, with_unknown
from kapstan.apiserver.request import Request, WriteOptions
from kapstan.apiserver.strategy.typed import shape, struct_of
from kapstan.machinery.errors import APIError, BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupKind, GroupVersionKind
from kapstan.machinery.validation import FieldError

__all__ = ("accepted", "accepted_below", "go_type", "json_kind", "not_registered", "unrecognized", "wrong_type")

Object = dict[str, Any]

_SCHEME = "pkg/runtime/scheme.go:111"
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def accepted(request: Request, body: Any, complaints: list[str]) -> Object:
    """The body as an object of the request's kind, shaped by its schema; `complaints` are the strict decoder's."""
    kind, options = request.kind, request.options
    assert isinstance(options, WriteOptions)
    obj = _typed(request, {} if body is None else body)
    try:
        unknown = kind.intake.shape(obj)
    except BadRequest as error:
        raise _unreadable(kind, kind.gvk, str(error)) from error
    complaints = with_unknown(complaints, unknown, typed=not kind.custom)
    report(request, options.field_validation, complaints, _unreadable_as(kind, kind.gvk))
    return obj


def accepted_below(request: Request, body: Any) -> Object:
    """The body of a subresource that has a kind of its own, such as TokenRequest."""
    gvk = request.kind.subresources[request.subresource].gvk
    if not isinstance(body, dict):
        raise unrecognized(gvk.kind, f"json: cannot unmarshal {json_kind(body)} into Go value of type {_TYPE_META}")
    api_version, name = body.get("apiVersion") or gvk.api_version, body.get("kind") or gvk.kind
    if (api_version, name) != (gvk.api_version, gvk.kind):
        version = str(api_version).rpartition("/")[2]
        why = not_registered(str(api_version), str(name))
        raise BadRequest(f"{name} in version {quote(version)} cannot be handled as a {gvk.kind}: {why}")
    obj = {"apiVersion": gvk.api_version, "kind": gvk.kind, **_content(body)}
    struct = struct_of(gvk)
    if struct is not None:
        try:
            shape(struct, obj)
        except ValueError as error:
            why = f"{gvk.kind} in version {quote(gvk.version)} cannot be handled as a {gvk.kind}: {error}"
            raise BadRequest(why) from error
    return obj


def _typed(request: Request, body: Any) -> Object:
    """The body, if it is of the kind that the URL stands for. Built-in kinds need not say what they are."""
    kind = request.kind
    if not isinstance(body, dict):
        raise unrecognized(
            kind.gvk.kind, f"json: cannot unmarshal {json_kind(body)} into Go value of type {_TYPE_META}"
        )
    api_version, name = body.get("apiVersion") or "", body.get("kind") or ""
    if not isinstance(api_version, str) or not isinstance(name, str):
        raise unrecognized(kind.gvk.kind, "apiVersion and kind are texts")
    if kind.custom and not name:
        raise unrecognized(kind.gvk.kind, f"Object 'Kind' is missing in '{encode(body).decode()}'", prefix="")
    wanted = kind.gvk
    if (api_version or wanted.api_version, name or wanted.kind) != (wanted.api_version, wanted.kind):
        raise wrong_type(request, api_version or wanted.api_version, name or wanted.kind, body)
    return {"apiVersion": wanted.api_version, "kind": wanted.kind, **_content(body)}


def wrong_type(request: Request, api_version: str, name: str, body: Object) -> APIError:
    """A body of another kind or version."""
    kind = request.kind
    if kind.custom and api_version == kind.gvk.api_version:
        error = FieldError.invalid("kind", name, f"must be {kind.gvk.kind}")
        metadata = body.get("metadata")
        object_name = metadata.get("name") if isinstance(metadata, dict) else ""
        return invalid(GroupKind(kind.gvk.group, name), str(object_name or ""), [error])
    try:
        sent = GroupVersionKind.of(api_version, name)
    except ValueError:
        return unrecognized(kind.gvk.kind, f"unexpected GroupVersion string: {api_version}", prefix="")
    if kind.custom or (sent.group_kind == kind.gvk.group_kind and request.cluster.kinds.kind(sent)):
        return BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({kind.gvk.api_version})"
        )
    known = request.cluster.kinds.kind(sent)
    if known is None or known.custom:
        return _unreadable(kind, sent, not_registered(api_version, name))
    conversion = f"converting ({sent.version}.{name}) to ({go_type(kind)}): unknown conversion"
    return _unreadable(kind, sent, conversion)


def not_registered(api_version: str, name: str) -> str:
    return f"no kind {quote(name)} is registered for version {quote(api_version)} in scheme {quote(_SCHEME)}"


def unrecognized(kind: str, why: str, *, prefix: str = "couldn't get version/kind; json parse error: ") -> BadRequest:
    """A body of which not even the kind can be told."""
    return BadRequest(f"the object provided is unrecognized (must be of type {kind}): {prefix}{why}")


def _unreadable(kind: ServedKind, sent: GroupVersionKind, why: str) -> BadRequest:
    return BadRequest(_unreadable_as(kind, sent) + why)


def _unreadable_as(kind: ServedKind, sent: GroupVersionKind) -> str:
    return f"{sent.kind} in version {quote(sent.version)} cannot be handled as a {kind.gvk.kind}: "


def _content(body: Object) -> Object:
    return {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}


def json_kind(value: Any) -> str:
    """What Go calls a JSON value of that type."""
    kinds = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def go_type(kind: ServedKind, *, list: bool = False) -> str:
    """The type that holds an object within kube-apiserver: `core.ConfigMap`."""
    suffix = "List" if list else ""
    if kind.custom:
        return f"unstructured.Unstructured{suffix}"
    package = kind.storage.gvk.group.partition(".")[0] or "core"
    return f"{package}.{kind.gvk.kind}{suffix}"
