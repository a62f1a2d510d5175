"""Message tables: what each field number means, and what JSON writes for a field that was not sent.

The data is generated (`tools/facts`) and shared; a message's table is made when the first body needs it.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kapstan.apiserver.protobuf.fields import Field, Inline, fields_of
from kapstan.apiserver.protobuf.values import CUSTOM, Finish, items

__all__ = ("Message", "field_sources", "kind_message", "kind_names", "message")

_DATA = Path(__file__).with_name("data") / "messages.json.gz"
_META = "k8s.io/apimachinery/pkg/apis/meta/v1."
# Sent with whatever group-version a client speaks, custom ones included.
_IN_EVERY_GROUP = frozenset(
    ("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions")
)


class Message:
    """One message. `finish`, where there is one, turns its decoded fields into a JSON value that is not an object."""

    def __init__(self, name: str, sources: Iterable[tuple[int, str, str]], finish: Finish | None = None) -> None:
        self.name = name.rpartition(".")[2]
        self.finish = finish
        self._sources = sources

    @functools.cached_property
    def fields(self) -> dict[int, Field]:
        """By tag: the number and the wire type in one."""
        made = (field for source in self._sources for field in fields_of(*source, find=message))
        return {field.tag: field for field in made}

    @functools.cached_property
    def names(self) -> dict[int, str]:
        """By number."""
        return {number: name for number, name, _ in self._sources}

    @functools.cached_property
    def unsent(self) -> tuple[Field, ...]:
        """The fields that JSON writes even if they were not sent, those of inlined messages included."""
        return tuple(self._unsent())

    def _unsent(self) -> Iterator[Field]:
        for field in self.fields.values():
            if isinstance(field, Inline):
                yield from field.message.unsent
            elif field.written_unsent:
                yield field

    def zero(self) -> Any:
        """The JSON value of a message of which nothing was sent."""
        if self.finish is not None:
            return self.finish({})
        return {field.name: field.zero() for field in self.unsent}


def kind_message(api_version: str, kind: str) -> Message | None:
    """The message of a kind; None if it is not one that can be sent as protobuf."""
    if kind in _IN_EVERY_GROUP:
        return message(_META + kind)
    name = _facts().kinds.get(api_version, {}).get(kind)
    return message(name) if name else None


def kind_names() -> Mapping[str, Mapping[str, str]]:
    """The Go types of all kinds, by apiVersion and kind."""
    return _facts().kinds


def field_sources(name: str) -> list[tuple[str, str]]:
    """The fields of a Go type, as names and types; an inlined struct has no name."""
    return [(field, type) for _, field, type in _facts().messages[name]]


@functools.cache
def message(name: str) -> Message:
    """The message of a Go type, or with `{}` before it the entry of a map with such values."""
    if name.startswith("{}"):
        return Message("entry", ((1, "key", "*string"), (2, "value", f"*{name[2:]}")))
    if name in CUSTOM:
        fields, finish = CUSTOM[name]
        return Message(name, fields, finish)
    sources = _facts().messages[name]
    if len(sources) == 1 and sources[0][1] == "" and sources[0][2].startswith("[]"):
        return Message(name, [(sources[0][0], "items", sources[0][2])], items)
    return Message(name, sources)


class _Facts(msgspec.Struct, frozen=True):
    kinds: dict[str, dict[str, str]]
    messages: dict[str, list[tuple[int, str, str]]]


@functools.cache
def _facts() -> _Facts:
    return msgspec.json.decode(gzip.decompress(_DATA.read_bytes()), type=_Facts)
