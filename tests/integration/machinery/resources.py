"""Random objects of any built-in kind, made from its schema."""

from __future__ import annotations

from random import Random
from typing import Any

from kapstan.apiserver import builtin
from kapstan.machinery.schema import Schema

__all__ = ("resource_of",)

DEPTH = 7
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
OPEN: dict[str, Any] = {
    "RawExtension": {"a": 1},
    "JSON": {"a": [1]},
    "JSONSchemaPropsOrArray": {"type": "string"},
    "JSONSchemaPropsOrBool": True,
    "JSONSchemaPropsOrStringArray": ["a"],
}
"""Values of types whose schema tells nothing."""


def resource_of(kind: tuple[str, str, str], random: Random) -> dict[str, Any]:
    """An object of that kind."""
    group, version, name = kind
    definition = builtin.definition_name(*kind)
    assert definition is not None
    made: dict[str, Any] = _object(builtin.definitions().schema(definition), random, DEPTH)
    metadata = {**made.get("metadata", {}), "name": "it", "namespace": "here"}
    for field in ("managedFields", "uid"):
        metadata.pop(field, None)
    return {**made, "apiVersion": f"{group}/{version}" if group else version, "kind": name, "metadata": metadata}


def _value(schema: Schema, random: Random, depth: int) -> Any:
    if schema.ref == QUANTITY:
        return random.choice(("1", "100m"))
    if (name := schema.ref.rpartition(".")[2]) in OPEN:
        return OPEN[name]
    if schema.int_or_string:
        return random.choice((1, "x"))
    if schema.type == "object":
        return _object(schema, random, depth)
    if schema.type == "array":
        return _array(schema, random, depth)
    return _scalar(schema, random)


def _scalar(schema: Schema, random: Random) -> Any:
    if schema.type == "boolean":
        return random.random() < 0.5
    if schema.type in ("integer", "number"):
        return random.randrange(3)
    if schema.format == "date-time":
        micro = ".000000" if schema.ref.endswith("MicroTime") else ""
        return f"2020-01-0{random.randint(1, 3)}T00:00:00{micro}Z"
    return random.choice(("YQ==", "Yg==")) if schema.format == "byte" else random.choice(("a", "b", "c"))


def _object(schema: Schema, random: Random, depth: int) -> dict[str, Any]:
    if isinstance(schema.additional, Schema):
        names = random.sample(("k1", "k2"), random.randrange(3))
        return {name: _value(schema.additional, random, depth - 1) for name in names}
    few = 0.9 if depth >= DEPTH - 1 else 4 / max(len(schema.properties), 5)
    made = {}
    for name, part in schema.properties.items():
        if (depth or part.type not in ("object", "array")) and random.random() < few:
            made[name] = _value(part, random, depth - 1)
    return made


def _array(schema: Schema, random: Random, depth: int) -> list[Any]:
    """Elements of keyed lists have other keys, elements of sets are others."""
    assert schema.items is not None
    keys = list(schema.list_map_keys) or ([schema.merge_key] if schema.merge_key else [])
    unique = keys or schema.list_type == "set" or "merge" in schema.patch_strategies
    items: dict[Any, Any] = {}
    for number in range(random.randrange(3)):
        item = _value(schema.items, random, depth - 1)
        for key in keys:
            item[key] = _scalar(schema.items.properties[key], random)
        name = tuple(item[key] for key in keys) if keys else item if unique else number
        items[name] = item
    return list(items.values())
