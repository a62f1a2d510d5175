"""Schema: one OpenAPI v3 schema of a Kubernetes kind, compiled once into nodes that algorithms can walk.

Built-in kinds (definitions joined by `$ref`, possibly recursive) and custom kinds (one inlined structural schema)
compile into the same nodes, so pruning, defaulting, validation, strategic merge and apply have one code path.
A node is immutable after compilation and shared freely; `source` is the document it came from, never to be changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ("Definitions", "Schema", "compile_schema")

_REF_PREFIXES = ("#/components/schemas/", "#/definitions/")


class Schema:
    """One node. Attributes that the source does not give are None, empty or False."""

    __slots__ = (
        "additional",
        "all_of",
        "any_of",
        "default",
        "embedded_resource",
        "enum",
        "exclusive_maximum",
        "exclusive_minimum",
        "format",
        "has_default",
        "int_or_string",
        "items",
        "list_map_keys",
        "list_type",
        "map_type",
        "max_items",
        "max_length",
        "max_properties",
        "maximum",
        "merge_key",
        "min_items",
        "min_length",
        "min_properties",
        "minimum",
        "multiple_of",
        "not_",
        "nullable",
        "one_of",
        "patch_strategies",
        "pattern",
        "preserve_unknown",
        "properties",
        "ref",
        "required",
        "source",
        "type",
        "unique_items",
        "validations",
    )

    def __init__(self, source: Mapping[str, Any]) -> None:
        get = source.get
        self.source = source
        self.ref: str = ""  # the definition's name, where the node is one
        self.type: str = get("type") or ""
        self.format: str = get("format") or ""
        self.nullable: bool = bool(get("nullable"))
        self.has_default: bool = "default" in source
        self.default: Any = get("default")
        self.enum: list[Any] | None = get("enum")
        self.required: Sequence[str] = get("required") or ()

        self.properties: dict[str, Schema] = {}
        self.additional: Schema | bool | None = None  # `additionalProperties`
        self.items: Schema | None = None
        self.all_of: list[Schema] = []
        self.any_of: list[Schema] = []
        self.one_of: list[Schema] = []
        self.not_: Schema | None = None

        self.minimum: float | None = get("minimum")
        self.maximum: float | None = get("maximum")
        self.exclusive_minimum: bool = bool(get("exclusiveMinimum"))
        self.exclusive_maximum: bool = bool(get("exclusiveMaximum"))
        self.multiple_of: float | None = get("multipleOf")
        self.min_length: int | None = get("minLength")
        self.max_length: int | None = get("maxLength")
        self.pattern: str | None = get("pattern")
        self.min_items: int | None = get("minItems")
        self.max_items: int | None = get("maxItems")
        self.unique_items: bool = bool(get("uniqueItems"))
        self.min_properties: int | None = get("minProperties")
        self.max_properties: int | None = get("maxProperties")

        self.preserve_unknown: bool = bool(get("x-kubernetes-preserve-unknown-fields"))
        self.int_or_string: bool = bool(get("x-kubernetes-int-or-string")) or self.format == "int-or-string"
        self.embedded_resource: bool = bool(get("x-kubernetes-embedded-resource"))
        self.list_type: str = get("x-kubernetes-list-type") or ""  # "", atomic, set, map
        self.list_map_keys: Sequence[str] = get("x-kubernetes-list-map-keys") or ()
        self.map_type: str = get("x-kubernetes-map-type") or ""  # "", granular, atomic
        self.validations: Sequence[Mapping[str, Any]] = get("x-kubernetes-validations") or ()
        # Strategic merge patch; built-in kinds only. The strategy is a comma-separated list such as "merge,retainKeys".
        strategy: str = get("x-kubernetes-patch-strategy") or ""
        self.patch_strategies: Sequence[str] = tuple(strategy.split(",")) if strategy else ()
        self.merge_key: str = get("x-kubernetes-patch-merge-key") or ""

    def __repr__(self) -> str:
        return f"Schema({self.ref or self.type or '?'})"

    def property(self, name: str) -> Schema | None:
        """The schema of one field: declared, or of any value where the object is a map of schemas."""
        found = self.properties.get(name)
        if found is None and isinstance(self.additional, Schema):
            return self.additional
        return found


class Definitions:
    """Named schemas (`components.schemas` of an OpenAPI v3 document), compiled on demand and kept."""

    def __init__(self, sources: Mapping[str, Mapping[str, Any]]) -> None:
        self._sources = sources
        self._compiled: dict[str, Schema] = {}
        self._compiling = 0
        self._overlays: list[tuple[Schema, Schema]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def schema(self, name: str) -> Schema:
        """The definition of that name (`io.k8s.api.core.v1.Pod`); KeyError if there is none."""
        found = self._compiled.get(name)
        if found is None:
            source = self._sources[name]
            # Registered before its children are compiled: definitions may be recursive.
            found = self._compiled[name] = Schema(source)
            found.ref = name
            self._compiling += 1
            _compile_children(found, source, self)
            self._compiling -= 1
            if not self._compiling:
                self._finish_overlays()
        return found

    def overlay(self, target: Schema, beside: Mapping[str, Any]) -> Schema:
        """A node like `target`, with the keywords that stand beside the reference taking precedence."""
        node = Schema({**target.source, **beside})
        node.ref = target.ref
        self._overlays.append((node, target))
        if not self._compiling:
            self._finish_overlays()
        return node

    def _finish_overlays(self) -> None:
        """Overlays take their children last: a recursive target has none before it is compiled."""
        for node, target in self._overlays:
            node.properties, node.additional, node.items = target.properties, target.additional, target.items
            node.all_of, node.any_of, node.one_of = target.all_of, target.any_of, target.one_of
            node.not_ = target.not_
        self._overlays.clear()


def compile_schema(source: Mapping[str, Any], definitions: Definitions | None = None) -> Schema:
    """Compile a schema document; `$ref`s are looked up in `definitions`."""
    name = _referenced(source)
    if name is None:
        node = Schema(source)
        _compile_children(node, source, definitions)
        return node
    if definitions is None:
        raise ValueError(f"schema refers to {name!r}, but no definitions were given")
    target = definitions.schema(name)
    beside = {key: value for key, value in source.items() if key not in ("$ref", "allOf", "description")}
    return definitions.overlay(target, beside) if beside else target


def _referenced(source: Mapping[str, Any]) -> str | None:
    """The name behind `$ref`, or behind an `allOf` of one `$ref` (OpenAPI v3's way to put keywords beside it)."""
    ref = source.get("$ref")
    if ref is None:
        parts = source.get("allOf")
        if not parts or len(parts) != 1 or "type" in source:
            return None
        ref = parts[0].get("$ref")
        if ref is None:
            return None
    for prefix in _REF_PREFIXES:
        if ref.startswith(prefix):
            return str(ref[len(prefix) :])
    raise ValueError(f"schema reference {ref!r} does not point into the document's schemas")


def _compile_children(node: Schema, source: Mapping[str, Any], definitions: Definitions | None) -> None:
    def child(part: Mapping[str, Any]) -> Schema:
        return compile_schema(part, definitions)

    for name, part in (source.get("properties") or {}).items():
        node.properties[name] = child(part)
    additional = source.get("additionalProperties")
    node.additional = additional if additional is None or isinstance(additional, bool) else child(additional)
    if (items := source.get("items")) is not None:
        node.items = child(items)
    node.all_of = [child(part) for part in source.get("allOf") or ()]
    node.any_of = [child(part) for part in source.get("anyOf") or ()]
    node.one_of = [child(part) for part in source.get("oneOf") or ()]
    if (part := source.get("not")) is not None:
        node.not_ = child(part)
