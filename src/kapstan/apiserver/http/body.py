"""Bodies: from bytes to plain objects, with what a strict reader has against them.

A body that is no JSON, YAML or protobuf is the client's mistake and never more than that, however large, deep or odd.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import yaml

from kapstan.apiserver import protobuf
from kapstan.apiserver.http.message import HTTPRequest
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.accepting import json_kind, unrecognized
from kapstan.apiserver.registry.strictness import MAX_COMPLAINTS, Complaints
from kapstan.machinery.errors import BadRequest, UnsupportedMediaType

__all__ = ("MAX_BODY", "NotJSON", "check_depth", "decode_json", "decode_object", "decode_patch", "media_type")

MAX_BODY = 3 * 1024 * 1024
MAX_DEPTH = 250  # levels of nesting; what walks objects afterwards is recursive

_MOST_TEXT = 1 << 20  # of the paths of fields, as long as there is a duplicate among them

_JSON = "application/json"
_YAML = "application/yaml"
_JSON_PATCH = "application/json-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
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
        return _decode_json_object(data, kind, strict=strict)
    if type == _YAML:
        return _decode_yaml(data, strict=strict)
    custom = kind is not None and kind.custom
    if type == _PROTOBUF and not custom:
        return _decode_protobuf(data, kind), []
    accepted = (_JSON, _YAML) if custom else (_JSON, _YAML, _PROTOBUF)
    raise UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )


def decode_patch(data: bytes, *, type: str, strict: bool) -> tuple[Any, list[str]]:
    """A JSON patch, a merge patch or a strategic one."""
    is_list, prefix = type == _JSON_PATCH, "" if type == _STRATEGIC else "error decoding patch: "
    try:
        value, complaints = decode_json(data, strict=strict)
    except NotJSON as error:
        raise BadRequest(f"{prefix}{error}") from error
    wanted = "[]handlers.jsonPatchOp" if is_list else "map[string]interface {}"
    if not isinstance(value, list if is_list else dict):
        raise BadRequest(f"{prefix}json: cannot unmarshal {json_kind(value)} into Go value of type {wanted}")
    if isinstance(value, list) and strict:
        complaints = [f"json patch {complaint}" for complaint in (*complaints, *_unknown_in_operations(value))]
    return value, complaints


def _unknown_in_operations(operations: list[Any]) -> list[str]:
    return [
        f'unknown field "[{position}].{name}"'
        for position, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in ("op", "path", "from", "value")
    ]


def _decode_json_object(data: bytes, kind: ServedKind | None, *, strict: bool) -> tuple[Any, list[str]]:
    try:
        return decode_json(data, strict=strict)
    except NotJSON as error:
        if kind is None:
            raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from error
        raise unrecognized(kind.gvk.kind, f"{error} ({_summary(data)})") from error


def _summary(data: bytes) -> str:
    """The beginning of a body, as a refusal shows it."""
    if not data:
        return "<empty>"
    text = data[:30].decode(errors="replace") if data.startswith(b"{") else data[:30].hex()
    return f"{text} ..." if len(data) > 30 else text


class NotJSON(ValueError):
    """Not JSON; the text says why."""


def decode_json(data: bytes, *, strict: bool) -> tuple[Any, list[str]]:
    """The value, and the fields that were sent twice; NotJSON if it is none."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        truncated = "truncated" in str(error)
        raise NotJSON("unexpected end of JSON input" if truncated else str(error)) from error
    except RecursionError:
        raise _too_deep() from None
    check_depth(data)
    # What encodes to the same bytes again has no duplicates; most clients send such bodies, and it is quickly seen.
    if not strict or msgspec.json.encode(value) == data.rstrip():
        return value, []
    return value, _duplicates(data)


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


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it was sent."""


class _Path:
    """Where a field is. Its text is made for few of them: below a long name, there can be very many."""

    __slots__ = ("_above", "_text", "size")

    def __init__(self, above: _Path | None, text: str) -> None:
        self._above, self._text = above, text
        self.size: int = len(text) + (above.size if above is not None else 0)

    def __str__(self) -> str:
        parts: list[str] = []
        at: _Path | None = self
        while at is not None:
            parts.append(at._text)
            at = at._above
        return "".join(reversed(parts))


def _duplicates(data: bytes) -> Complaints:
    """Fields that were sent more than once, and where everything is."""
    doubled = False

    def remember(pairs: list[tuple[str, Any]]) -> _Pairs:
        nonlocal doubled
        doubled = doubled or len(dict(pairs)) < len(pairs)
        return _Pairs(pairs)

    document = json.loads(data, object_pairs_hook=remember)
    return _located(document) if doubled else Complaints({}, {})


def _located(document: Any) -> Complaints:
    """The first duplicates of a document; with the places of all fields if that is not too much text."""
    places: dict[str, int] = {}
    duplicates: dict[str, int] = {}
    placed = named = 0
    for place, (path, again) in enumerate(_fields(document, None)):
        if again and len(duplicates) < MAX_COMPLAINTS and named < _MOST_TEXT:
            named += path.size
            duplicates.setdefault(str(path), place)
        elif not again and placed < _MOST_TEXT:
            placed += path.size
            places.setdefault(str(path), place)
    return Complaints(duplicates, places if placed < _MOST_TEXT else {})


def _fields(value: Any, path: _Path | None) -> Iterator[tuple[_Path, bool]]:
    """The paths of all fields in the order of the document, and whether an object has had that field before."""
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            here = _Path(path, f".{name}" if path is not None else name)
            yield here, name in seen
            seen.add(name)
            yield from _fields(item, here)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _fields(item, _Path(path, f"[{position}]"))


def _decode_yaml(data: bytes, *, strict: bool) -> tuple[Any, list[str]]:
    if data.lstrip().startswith(b"{"):  # kubectl sends JSON as YAML
        try:
            return decode_json(data, strict=strict)
        except NotJSON:
            pass
    try:
        encoded = msgspec.json.encode(yaml.load(data, Loader=_loader()))  # noqa: S506 - a safe loader's child
    except yaml.MarkedYAMLError as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: yaml: {_yaml_problem(error)}") from error
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: yaml: {error}") from error
    except RecursionError:
        raise _too_deep() from None
    check_depth(encoded)
    return msgspec.json.decode(encoded), _yaml_duplicates(data) if strict else []


def _yaml_problem(error: yaml.MarkedYAMLError) -> str:
    """In the words of Go's YAML reader, which is the same program; only lines are counted otherwise."""
    mark = error.problem_mark
    line = mark.line + isinstance(error, yaml.scanner.ScannerError) if mark is not None else 0
    return f"line {line}: {error.problem}" if line else str(error.problem)


@cache
def _loader() -> Any:
    """A safe loader that reads what Go's does: timestamps stay texts, `y` and `n` are truth values."""
    loader: Any = type("GoLoader", (yaml.CSafeLoader,), {})
    timestamp, truth = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != timestamp]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver(truth, re.compile(r"^(?:y|Y|n|N)$"), list("yYnN"))
    loader.bool_values = {**yaml.CSafeLoader.bool_values, "y": True, "n": False}
    return loader


def _yaml_duplicates(data: bytes) -> list[str]:
    """Keys that were set twice, in the words of Go's YAML reader."""
    complaints: list[str] = []
    pending = [yaml.compose(data, Loader=_loader())]
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
