"""Structs: reading JSON objects as Go reads them into its types, and as it writes those back.

Each type's table is made once, when the first object needs it. Reading builds new dictionaries, so what comes out
shares no container with what came in, but for raw JSON that Go does not look into.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from kapstan.apiserver.protobuf.messages import field_sources, kind_names
from kapstan.apiserver.strategy.defaults import DEFAULTS
from kapstan.apiserver.strategy.typed.containers import prefix, read_list, read_map, read_resource_list
from kapstan.apiserver.strategy.typed.mismatch import Mismatch
from kapstan.apiserver.strategy.typed.values import LEAVES, Reader
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("Struct", "shape", "struct_of")

Object = dict[str, Any]
Zero = Callable[[], Any]

_APIEXTENSIONS = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1."
_RESOURCE_LIST = "{}k8s.io/apimachinery/pkg/api/resource.Quantity"
_TYPE_META = (("apiVersion", "string,empty"), ("kind", "string,empty"))


class _Field:
    """How one field is read, and whether Go leaves it out when it is empty."""

    __slots__ = ("omits", "path", "read", "written_zero")

    def __init__(self, path: str, read: Reader, *, omits: bool, written_zero: Zero | None) -> None:
        self.path = path  # its name in messages, that of an inlined struct before it
        self.read = read
        self.omits = omits  # a value that Go counts as empty is not written
        self.written_zero = written_zero  # what is written where nothing was sent; None if nothing is


class Struct:
    """One Go struct, completed by the defaults of its type or by none."""

    def __init__(self, go_name: str, *, defaults: bool) -> None:
        package, _, self.name = go_name.rpartition("/")[2].partition(".")
        self.type_name = f"{package}.{self.name}"
        self._go_name = go_name
        self._defaults = defaults
        self._default = DEFAULTS.get(go_name) if defaults else None

    @functools.cached_property
    def fields(self) -> Mapping[str, _Field]:
        return dict(_fields_of(self._go_name, self._defaults))

    @functools.cached_property
    def _written(self) -> tuple[tuple[str, Zero], ...]:
        return tuple((name, field.written_zero) for name, field in self.fields.items() if field.written_zero)

    def zero(self) -> Object:
        """What Go writes for a struct in which nothing is set."""
        return self._completed({})

    def zero_of(self, field: str) -> Any:
        """What Go writes for a field that is not set; None if it writes nothing, or null."""
        zero = self.fields[field].written_zero
        return zero() if zero is not None else None

    def read(self, value: Any, unknown: list[str]) -> Object:
        """The object as Go holds it. Paths of unknown fields go to `unknown`, as seen from this object."""
        if type(value) is not dict:
            raise Mismatch(value, self.type_name)
        found: Object = {}
        fields = self.fields
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                unknown.append(key)
            elif item is not None:
                known = len(unknown)
                try:
                    result = field.read(item, unknown)
                except Mismatch as mismatch:
                    mismatch.within(self.name, field.path)
                    raise
                if len(unknown) > known:
                    prefix(unknown, known, key)
                if result or not field.omits:
                    found[key] = result
        return self._completed(found)

    def _completed(self, found: Object) -> Object:
        for key, zero in self._written:
            if key not in found:
                found[key] = zero()
        if self._default is not None:
            self._default(found)
        return found


@functools.cache
def _struct(go_name: str, defaults: bool) -> Struct:
    return Struct(go_name, defaults=defaults)


def struct_of(gvk: GroupVersionKind, *, defaults: bool = True) -> Struct | None:
    """The Go type of a built-in kind; None if it is not one."""
    name = kind_names().get(gvk.api_version, {}).get(gvk.kind)
    return _struct(name, defaults) if name else None


def shape(struct: Struct, obj: Object) -> list[str]:
    """Bring an object into Go's form, in place; returns the paths of unknown fields. ValueError if it does not fit."""
    unknown: list[str] = []
    found = struct.read(obj, unknown)
    obj.clear()
    obj.update(found)
    return unknown


def _fields_of(go_name: str, defaults: bool, within: str = "") -> list[tuple[str, _Field]]:
    """The fields of a struct, those of inlined ones among them."""
    found: list[tuple[str, _Field]] = []
    if go_name in _kinds():
        found += ((name, _field(name, type, defaults)) for name, type in _TYPE_META)
    for name, type in field_sources(go_name):
        if name:
            found.append((name, _field(within + name, type, defaults)))
        else:
            found += _fields_of(type, defaults, f"{within}{type.rpartition('.')[2]}.")
    return found


@functools.cache
def _kinds() -> frozenset[str]:
    return frozenset(name for names in kind_names().values() for name in names.values())


def _field(path: str, source: str, defaults: bool) -> _Field:
    """A field from its type, such as `[]k8s.io/api/core/v1.ContainerPort,empty`."""
    type, _, rule = source.partition(",")
    holder = next((mark for mark in ("*", "[]", "{}") if type.startswith(mark)), "")
    unsent = None if rule else _nothing
    if holder in ("[]", "{}"):
        # Storage does not tell empty from absent: what is written though it is empty becomes null.
        return _Field(path, _container(type, holder, defaults), omits=True, written_zero=unsent)
    read, zero, is_struct = _element(type.removeprefix(holder), defaults)
    if holder == "*":
        return _Field(path, read, omits=False, written_zero=unsent)
    if is_struct and rule != "zero":
        return _Field(path, read, omits=False, written_zero=zero)
    return _Field(path, read, omits=bool(rule), written_zero=None if rule else zero)


def _container(type: str, holder: str, defaults: bool) -> Reader:
    read, zero, _ = _element(type.removeprefix(holder), defaults)
    if holder == "[]":
        return read_list(read, _type_name(type), zero)
    if type == _RESOURCE_LIST and defaults:
        return read_resource_list
    if type == "{}bytes":
        zero = str  # null among bytes is read as no bytes, which are written as empty text
    return read_map(read, _type_name(type), zero)


def _element(type: str, defaults: bool) -> tuple[Reader, Zero, bool]:
    """How one value of a type is read, its zero, and whether it is a struct to Go, which is never empty."""
    leaf = LEAVES.get(type)
    if leaf is not None:
        return leaf.read, lambda: leaf.zero, "." in type
    if type in _UNIONS:
        return _UNIONS[type], _nothing, True
    sources = field_sources(type)
    if len(sources) == 1 and not sources[0][0] and sources[0][1].startswith("[]"):
        return read_list(_element(sources[0][1][2:], defaults)[0], _type_name(type), str), _nothing, False
    struct = _struct(type, defaults)
    return struct.read, struct.zero, True


def _nothing() -> None:
    return None


def _type_name(type: str) -> str:
    """A type as Go's messages write it: `[]v1.Container`, `map[string]string`."""
    if type.startswith("[]"):
        return "[]" + _type_name(type[2:])
    if type == _RESOURCE_LIST:
        return "v1.ResourceList"
    if type.startswith("{}"):
        return "map[string]" + _type_name(type[2:])
    leaf = LEAVES.get(type)
    return leaf.name if leaf is not None else type.rpartition("/")[2]


# The schemas in a CustomResourceDefinition: some of their fields hold one of two things.


def _schema(value: Any, unknown: list[str]) -> Object:
    return _struct(f"{_APIEXTENSIONS}JSONSchemaProps", True).read(value, unknown)


def _schema_or_bool(value: Any, unknown: list[str]) -> Any:
    if type(value) is bool:
        return value
    if type(value) is not dict:
        raise ValueError("boolean or JSON schema expected")
    return _schema(value, unknown)


def _schema_or_schemas(value: Any, unknown: list[str]) -> Any:
    return _schema(value, unknown) if type(value) is dict else _schemas(value, unknown)


def _schema_or_texts(value: Any, unknown: list[str]) -> Any:
    return _schema(value, unknown) if type(value) is dict else _texts(value, unknown)


_schemas = read_list(_schema, "[]v1.JSONSchemaProps", dict)
_texts = read_list(LEAVES["string"].read, "[]string", str)
_UNIONS: dict[str, Reader] = {
    f"{_APIEXTENSIONS}JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_APIEXTENSIONS}JSONSchemaPropsOrArray": _schema_or_schemas,
    f"{_APIEXTENSIONS}JSONSchemaPropsOrStringArray": _schema_or_texts,
}
