"""JSON patch (RFC 6902), in the dialect that kube-apiserver speaks.

It differs from the RFC where kube-apiserver's library does: negative indices count from the end, `replace` of a missing
field adds it, `copy` of a missing field writes null, and `test` takes an absent field for null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kapstan.machinery.codec import encode
from kapstan.machinery.errors import BadRequest, Invalid, RequestEntityTooLarge
from kapstan.machinery.golang import quote

__all__ = ("MAX_COPIED_BYTES", "MAX_OPERATIONS", "TestFailed", "apply_json_patch")

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

_MISSING = "missing value"
_INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)


class TestFailed(Invalid):
    """A patch's own `test` says that the document is not what it was made for."""

    __test__ = False  # pytest takes the name for one of its own


def apply_json_patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """The document after all operations; Invalid says which one does not apply."""
    if not isinstance(operations, list | tuple) or not all(isinstance(each, dict) for each in operations):
        raise BadRequest("error decoding patch: a JSON patch is a list of operations, each an object")
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    patching = _Patching(document)
    for operation in operations:
        kind = operation.get("op")
        run = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if run is None:
            raise Invalid(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        run(patching, operation)
    return patching.document


class _Place(NamedTuple):
    """Where an operation works: a container that is ours to change, and the last token of the pointer."""

    container: dict[str, Any] | list[Any]
    key: str


class _Patching:
    """A document under change. Containers are copied when first touched, so nothing that was given is changed."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.copied_bytes = 0
        self._ours: dict[int, Any] = {}  # kept alive, so that an id stays theirs

    def find(self, pointer: str) -> _Place | None:
        """The place a pointer names; None if something on the way to it is missing."""
        tokens = pointer.split("/")
        if len(tokens) < 2 or not isinstance(self.document, dict | list):
            return None
        self.document = container = self._own(self.document)
        for token in map(_unescape, tokens[1:-1]):
            try:
                child = _get(container, token)
            except _NoSuchIndex:
                return None
            if not isinstance(child, dict | list):
                return None
            child = self._own(child)
            if isinstance(container, list):
                container[_index(token, len(container))] = child
            else:
                container[token] = child
            container = child
        return _Place(container, _unescape(tokens[-1]))

    def forget_ownership(self) -> None:
        """A value is about to be in two places: whichever is changed next must be copied first."""
        self._ours.clear()

    def _own(self, container: Any) -> Any:
        if id(container) in self._ours:
            return container
        copy = container.copy()
        self._ours[id(copy)] = copy
        return copy


class _NoSuchIndex(Exception):
    """An array has no element there; the text is that of kube-apiserver's library."""


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def _index(token: str, length: int) -> int:
    """A token as an index into an array of that length; negative ones count from the end."""
    if not _INDEX.fullmatch(token):
        raise _NoSuchIndex(f"strconv.Atoi: parsing {quote(token)}: invalid syntax")
    if len(token) > 18:
        raise _NoSuchIndex(f"strconv.Atoi: parsing {quote(token)}: value out of range")
    index = int(token)
    if not -length <= index < length:
        raise _NoSuchIndex(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _get(container: dict[str, Any] | list[Any], key: str) -> Any:
    """The element; a field that is absent reads as null."""
    if isinstance(container, list):
        return container[_index(key, len(container))]
    return container.get(key)


def _put(place: _Place, value: Any) -> None:
    """Add: a field is set, an array grows by one."""
    container, key = place
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            container.insert(_index(key, len(container) + 1), value)
        except _NoSuchIndex as error:
            text = str(error)
            raise _NoSuchIndex(
                f"value was not a proper array index: '{key}': {text}" if text.startswith("strconv") else text
            ) from None


def _take(place: _Place) -> None:
    container, key = place
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise _NoSuchIndex(f"Unable to remove nonexistent key: {key}: {_MISSING}")


def _pointer(operation: Mapping[str, Any], field: str) -> str:
    pointer = operation.get(field)
    if isinstance(pointer, str):
        return pointer
    kind = operation["op"]
    if field == "path" and kind in ("add", "remove", "copy"):
        raise Invalid(f"{kind} operation failed to decode path: {_MISSING}")
    comma = "," if field == "from" else ""
    raise Invalid(f"{kind} operation failed to decode {field}: operation{comma} missing {field} field: {_MISSING}")


def _add(patching: _Patching, operation: Mapping[str, Any]) -> None:
    path = _pointer(operation, "path")
    place = patching.find(path)
    if place is None:
        raise Invalid(f'add operation does not apply: doc is missing path: "{path}": {_MISSING}')
    try:
        _put(place, operation.get("value"))
    except _NoSuchIndex as error:
        raise Invalid(f"error in add for path: '{path}': {error}") from None


def _remove(patching: _Patching, operation: Mapping[str, Any]) -> None:
    path = _pointer(operation, "path")
    place = patching.find(path)
    if place is None:
        raise Invalid(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}')
    try:
        _take(place)
    except _NoSuchIndex as error:
        raise Invalid(f"error in remove for path: '{path}': {error}") from None


def _replace(patching: _Patching, operation: Mapping[str, Any]) -> None:
    path = _pointer(operation, "path")
    value = operation.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise Invalid("replace operation value must be object or array")
        patching.document = value
        return
    place = patching.find(path)
    if place is None:
        raise Invalid(f"replace operation does not apply: doc is missing path: {path}: {_MISSING}")
    container, key = place
    if isinstance(container, dict):
        container[key] = value
        return
    try:
        container[_index(key, len(container))] = value
    except _NoSuchIndex:
        raise Invalid(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None


def _move(patching: _Patching, operation: Mapping[str, Any]) -> None:
    source = _pointer(operation, "from")
    place = patching.find(source)
    if place is None:
        raise Invalid(f"move operation does not apply: doc is missing from path: {source}: {_MISSING}")
    try:
        value = _get(*place)
        _take(place)
    except _NoSuchIndex as error:
        raise Invalid(f"error in move for path: '{place.key}': {error}") from None
    path = _pointer(operation, "path")
    place = patching.find(path)
    if place is None:
        raise Invalid(f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}")
    try:
        _put(place, value)
    except _NoSuchIndex as error:
        raise Invalid(f"error in move for path: '{path}': {error}") from None


def _copy(patching: _Patching, operation: Mapping[str, Any]) -> None:
    source = _pointer(operation, "from")
    place = patching.find(source)
    if place is None:
        raise Invalid(f"copy operation does not apply: doc is missing from path: {source}: {_MISSING}")
    try:
        value = _get(*place)
    except _NoSuchIndex as error:
        raise Invalid(f"error in copy for from: '{source}': {error}") from None
    patching.forget_ownership()
    path = _pointer(operation, "path")
    place = patching.find(path)
    if place is None:
        raise Invalid(f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}")
    _count_copied(patching, value)
    try:
        _put(place, value)
    except _NoSuchIndex as error:
        raise Invalid(f"error while adding value during copy: {error}") from None


def _count_copied(patching: _Patching, value: Any) -> None:
    """Copies of copies grow without bound; the sum of what was copied may not."""
    patching.copied_bytes += 0 if value is None else len(encode(value))
    if patching.copied_bytes > MAX_COPIED_BYTES:
        raise Invalid(
            "Unable to complete the copy, the accumulated size increase of copy is "
            f"{patching.copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
        )


def _test(patching: _Patching, operation: Mapping[str, Any]) -> None:
    path = _pointer(operation, "path")
    if path == "":
        found = patching.document
    else:
        place = patching.find(path)
        if place is None:
            raise Invalid(f"test operation does not apply: is missing path: {path}: {_MISSING}")
        try:
            found = _get(*place)
        except _NoSuchIndex as error:
            raise Invalid(f"error in test for path: '{path}': {error}") from None
    if not _identical(found, operation.get("value")):
        raise TestFailed(f"testing value {path} failed: test failed")


def _identical(left: Any, right: Any) -> bool:
    """Equal as JSON text is: 1, 1.0 and true are three values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_identical(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    return bool(left == right)


_OPERATIONS: Mapping[str, Callable[[_Patching, Mapping[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
