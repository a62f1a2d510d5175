"""Bodies: from bytes to plain objects, with what a strict reader has against them.

A body that is no JSON, YAML or protobuf is the client's mistake and never more than that, however large, deep or odd.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import yaml

from kapstan.apiserver import protobuf
from kapstan.apiserver.http.message import HTTPRequest
from kapstan.apiserver.kinds import ServedKind
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.errors import BadRequest, UnsupportedMediaType

__all__ = ("MAX_BODY", "check_depth", "decode_json", "decode_object", "media_type")

MAX_BODY = 3 * 1024 * 1024
MAX_DEPTH = 250  # levels of nesting; what walks objects afterwards is recursive

_JSON = "application/json"
_YAML = "application/yaml"
_PROTOBUF = "application/vnd.kubernetes.protobuf"

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_NO_BRACKETS = bytes(char for char in range(256) if char not in _STEPS)


def media_type(request: HTTPRequest) -> str:
    """The Content-Type without its parameters."""
    return request.header("Content-Type").partition(";")[0].strip()


def decode_object(data: bytes, type: str, kind: ServedKind | None, *, strict: bool) -> tuple[Any, list[str]]:
    """The decoded body, and what a strict reader complains of; the reader of built-in kinds knows protobuf, too."""
    if type in ("", _JSON):
        return decode_json(data, strict=strict)
    if type == _YAML:
        return _decode_yaml(data, strict=strict)
    custom = kind is not None and kind.custom
    if type == _PROTOBUF and not custom:
        return _decode_protobuf(data, kind), []
    accepted = (_JSON, _YAML) if custom else (_JSON, _YAML, _PROTOBUF)
    raise UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )


def decode_json(data: bytes, *, strict: bool) -> tuple[Any, list[str]]:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from error
    except RecursionError:
        raise _too_deep() from None
    check_depth(data)
    # What encodes to the same bytes again has no duplicates; most clients send such bodies, and it is quickly seen.
    if not strict or msgspec.json.encode(value) == data.rstrip():
        return value, []
    return value, [f'duplicate field "{path}"' for path in _duplicates(data)]


def check_depth(data: bytes) -> None:
    """Refuse what is nested too deeply; it is counted only where there are brackets enough."""
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return
    depth = deepest = 0
    for bracket in _STRING.sub(b"", data).translate(None, _NO_BRACKETS):
        depth += _STEPS[bracket]
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise _too_deep()


def _too_deep() -> BadRequest:
    return BadRequest(f"the object is nested more than {MAX_DEPTH} levels deep")


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its fields were sent twice."""

    duplicates: tuple[str, ...] = ()


def _duplicates(data: bytes) -> list[str]:
    """The paths of fields that were sent more than once."""
    found = False

    def remember(pairs: list[tuple[str, Any]]) -> _Object:
        nonlocal found
        value = _Object(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            value.duplicates = tuple(dict.fromkeys(name for name in names if names.count(name) > 1))
            found = True
        return value

    document = json.loads(data, object_pairs_hook=remember)
    return _duplicate_paths(document, "") if found else []


def _duplicate_paths(value: Any, path: str) -> list[str]:
    paths: list[str] = []
    if isinstance(value, _Object):
        prefix = f"{path}." if path else ""
        paths += (prefix + name for name in value.duplicates)
        for name, item in value.items():
            paths += _duplicate_paths(item, prefix + name)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            paths += _duplicate_paths(item, f"{path}[{position}]")
    return paths


def _decode_yaml(data: bytes, *, strict: bool) -> tuple[Any, list[str]]:
    if data.lstrip().startswith(b"{"):  # kubectl sends JSON as YAML
        try:
            return decode_json(data, strict=strict)
        except BadRequest:
            pass
    try:
        documents = list(load_yaml(data))
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"error decoding YAML: {error}") from error
    if len(documents) != 1:
        raise BadRequest(f"error decoding YAML: expected one document, found {len(documents)}")
    try:
        encoded = msgspec.json.encode(documents[0])
    except (TypeError, RecursionError) as error:
        raise BadRequest(f"error decoding YAML: {error}") from error
    check_depth(encoded)
    return msgspec.json.decode(encoded), _yaml_duplicates(data) if strict else []


def _yaml_duplicates(data: bytes) -> list[str]:
    """Keys that were set twice, in the words of Go's YAML reader."""
    complaints: list[str] = []
    pending = [yaml.compose(data, Loader=yaml.CSafeLoader)]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if key.value in seen:
                    complaints.append(f'line {key.start_mark.line + 1}: key "{key.value}" already set in map')
                seen.add(key.value)
                pending.append(value)
        elif isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
    return complaints


def _decode_protobuf(data: bytes, kind: ServedKind | None) -> Any:
    api_version, name = (kind.gvk.api_version, kind.gvk.kind) if kind is not None else ("", "")
    try:
        return protobuf.decode(data, api_version, name)
    except protobuf.ProtobufError as error:
        raise BadRequest(str(error)) from error
