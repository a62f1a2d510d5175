"""Random structural schemas, and objects that nearly fit them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ("Case", "cases", "root_schemas", "values")

Document = dict[str, Any]
Case = tuple[Document, Document, Document | None]  # schema, new object, old object

META: Document = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "n", "resourceVersion": "1"},
}

_names = st.sampled_from(["a", "b", "c", "spec", "items", "na.me", "kind", "x-y"])
_texts = st.sampled_from(
    ["", "a", "b", "ab", "abc", "A", "1", "10.0.0.1", "2020-01-01T00:00:00Z", "1h", "YQ==", "é", "\u2028<", "a.b", "65"]
)
_integers = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([65, 2**31, 2**31 - 1, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, 10**20]),
)
_floats = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 10.0, 1e6, 1e7, 1e21, 3.5e38, -1.0, -0.5, 3.0000000001])
_scalars = st.one_of(_texts, _integers, _floats, st.booleans(), st.none())
_documents = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_names, inner, max_size=3)),
    max_leaves=6,
)
_bounds = st.one_of(st.integers(-2, 12), st.sampled_from([0.5, 1.5, 10.5, 2**31, 1e20]))
_few = st.integers(0, 2)


def _optional(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries({}, optional=keys)


_string_keywords = _optional(
    minLength=_few,
    maxLength=st.integers(0, 3),
    pattern=st.sampled_from(["^a", "b$", "[a-z]+", "^[a-z0-9.]*$", "é"]),
    format=st.sampled_from(
        ["ipv4", "date-time", "duration", "byte", "uuid", "unknown", "date", "int32", "k8s-short-name"]
    ),
    enum=st.lists(_texts, min_size=1, max_size=3, unique=True),
)
_number_keywords = _optional(
    minimum=_bounds,
    maximum=_bounds,
    exclusiveMinimum=st.booleans(),
    exclusiveMaximum=st.booleans(),
    multipleOf=st.sampled_from([1, 2, 3, 0.5, 1.5, 0]),
    enum=st.lists(st.one_of(st.integers(-1, 3), st.sampled_from([0.5, 1.0])), min_size=1, max_size=3),
)
_number_formats = _optional(format=st.sampled_from(["int32", "int64", "float", "double", "x"]))


@st.composite
def _branches(draw: st.DrawFn, schema: Document, depth: int = 0) -> Document:
    """What may stand in `anyOf` and its like: keywords about the same value, and no structure."""
    branch: Document = {}
    match schema.get("type"):
        case "string":
            branch = draw(_string_keywords)
        case "integer" | "number":
            branch = {**draw(_number_keywords), **draw(_number_formats)}
        case "array":
            branch = draw(_optional(minItems=_few, maxItems=_few))
            if depth < 1 and draw(st.booleans()):
                branch["items"] = draw(_branches(schema["items"], depth + 1))
        case "object":
            branch = draw(_object_branches(schema, depth))
    if depth < 2 and draw(st.integers(0, 5)) == 0:
        branch.update(draw(_compositions(schema, depth + 1)))
    return branch


@st.composite
def _object_branches(draw: st.DrawFn, schema: Document, depth: int) -> Document:
    branch = draw(_optional(minProperties=_few, maxProperties=st.integers(0, 3)))
    properties = schema.get("properties") or {}
    if properties:
        known = st.sampled_from(sorted(properties))
        branch.update(draw(_optional(required=st.lists(known, max_size=2, unique=True))))
        if depth < 2 and draw(st.booleans()):
            name = draw(known)
            branch["properties"] = {name: draw(_branches(properties[name], depth + 1))}
    return branch


@st.composite
def _compositions(draw: st.DrawFn, schema: Document, depth: int = 0) -> Document:
    word = draw(st.sampled_from(["anyOf", "oneOf", "allOf", "not"]))
    part = _branches(schema, depth)
    return {word: draw(part) if word == "not" else draw(st.lists(part, min_size=1, max_size=3))}


@st.composite
def _schemas(draw: st.DrawFn, depth: int = 0) -> Document:
    kinds = ["string", "integer", "number", "boolean", "int-or-string", "any"]
    if depth < 3:
        kinds += ["object", "object", "map", "array", "array"]
    schema: Document
    match draw(st.sampled_from(kinds)):
        case "string":
            schema = {"type": "string", **draw(_string_keywords)}
        case "integer" | "number" as kind:
            schema = {"type": kind, **draw(_number_keywords), **draw(_number_formats)}
        case "boolean":
            schema = {"type": "boolean"}
        case "int-or-string":
            schema = draw(_int_or_string())
        case "any":
            schema = {"x-kubernetes-preserve-unknown-fields": True, **draw(_optional(type=st.just("object")))}
        case "map":
            inner = draw(_schemas(depth + 1)) if draw(st.integers(0, 9)) else draw(st.booleans())
            limits = draw(_optional(minProperties=_few, maxProperties=_few))
            schema = {"type": "object", "additionalProperties": inner, **limits}
        case "array":
            schema = draw(_array_schemas(depth))
        case _:
            schema = draw(_object_schemas(depth))
    if draw(st.integers(0, 4)) == 0:
        schema["nullable"] = True
    if draw(st.integers(0, 3)) == 0 and "type" in schema:
        schema.update(draw(_compositions(schema)))
    if draw(st.integers(0, 3)) == 0:
        schema["default"] = draw(values(schema))
    return schema


@st.composite
def _int_or_string(draw: st.DrawFn) -> Document:
    keywords = _optional(
        minLength=_few, maximum=st.integers(0, 5), pattern=st.just("^a"), format=st.sampled_from(["ipv4", "int32"])
    )
    schema = {"x-kubernetes-int-or-string": True, **draw(keywords)}
    if draw(st.booleans()):
        schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return schema


@st.composite
def _array_schemas(draw: st.DrawFn, depth: int) -> Document:
    schema: Document = {"type": "array", **draw(_optional(minItems=_few, maxItems=st.integers(0, 3)))}
    kind = draw(st.sampled_from(["", "atomic", "set", "map", "map"]))
    if kind:
        schema["x-kubernetes-list-type"] = kind
    if kind == "map":
        schema["items"] = item = draw(_object_schemas(depth + 1))
        item["properties"]["a"] = {"type": draw(st.sampled_from(["string", "integer"]))}
        item["properties"]["b"] = {"type": "string", "default": "b"}
        item["required"] = sorted({*item.get("required", ()), "a"})
        schema["x-kubernetes-list-map-keys"] = draw(st.sampled_from([["a"], ["a", "b"]]))
    elif kind == "set":
        atomic = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}}
        schema["items"] = draw(st.sampled_from([{"type": "string"}, {"type": "integer"}, atomic]))
    else:
        schema["items"] = draw(_schemas(depth + 1))
    return schema


@st.composite
def _object_schemas(draw: st.DrawFn, depth: int) -> Document:
    properties = draw(st.dictionaries(_names, _schemas(depth + 1), min_size=1, max_size=3))
    known = st.one_of(st.sampled_from(sorted(properties)), st.just("zz"))
    keywords = _optional(
        required=st.lists(known, max_size=2, unique=True), minProperties=_few, maxProperties=st.integers(1, 3)
    )
    schema: Document = {"type": "object", "properties": properties, **draw(keywords)}
    if draw(st.integers(0, 5)) == 0:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if draw(st.integers(0, 9)) == 0:
        schema["x-kubernetes-map-type"] = "atomic"
    if draw(st.integers(0, 9)) == 0:
        schema["x-kubernetes-embedded-resource"] = True
    return schema


@st.composite
def values(draw: st.DrawFn, schema: Document, depth: int = 0) -> Any:
    """Values that mostly fit the schema."""
    if draw(st.integers(0, 11)) == 0 or depth > 5:
        return draw(_documents)
    if schema.get("enum") and draw(st.booleans()):
        return draw(st.sampled_from(schema["enum"]))
    if schema.get("x-kubernetes-int-or-string"):
        return draw(st.one_of(_texts, _integers))
    match schema.get("type"):
        case "string":
            return draw(_texts)
        case "integer":
            return draw(_integers)
        case "number":
            return draw(st.one_of(_integers, _floats))
        case "boolean":
            return draw(st.booleans())
        case "array":
            return draw(st.lists(values(schema["items"], depth + 1), max_size=3))
        case "object":
            return draw(_objects(schema, depth))
    return draw(_documents)


@st.composite
def _objects(draw: st.DrawFn, schema: Document, depth: int) -> Document:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return draw(st.dictionaries(_names, values(additional, depth + 1), max_size=3))
    result: Document = {}
    for name, child in schema.get("properties", {}).items():
        if draw(st.integers(0, 3)):
            result[name] = draw(values(child, depth + 1))
    if draw(st.integers(0, 4)) == 0:
        result[draw(_names)] = draw(_documents)
    if schema.get("x-kubernetes-embedded-resource") and draw(st.integers(0, 3)):
        result["apiVersion"] = draw(st.sampled_from(["v1", "a/b", "a/b/c", ""]))
        result["kind"] = draw(st.sampled_from(["Foo", "foo_", ""]))
        if draw(st.booleans()):
            result["metadata"] = draw(st.sampled_from(_METADATA))
    return result


_METADATA: list[Any] = [
    {"name": "x"},
    {"name": "a/b", "foo": 1},
    {"labels": {"a": "b", "-": "-"}},
    {"labels": {"a": 1}},
    {"creationTimestamp": None, "name": ""},
    {"ownerReferences": [{"name": "x", "zz": 1}]},
    {"annotations": {"A": "x"}, "finalizers": ["a"]},
    [],
    "x",
    {"generation": 1.5},
    {"creationTimestamp": "2020-01-01T00:00:00+01:00"},
]


@st.composite
def root_schemas(draw: st.DrawFn) -> Document:
    """Schemas that may be the root of a custom kind."""
    root = draw(_object_schemas(0))
    root.pop("x-kubernetes-embedded-resource", None)
    root["properties"].pop("kind", None)
    if draw(st.booleans()):
        root["properties"]["status"] = draw(_schemas(1))
    return root


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A schema, an object, and perhaps what it was before."""
    schema = draw(root_schemas())
    content = draw(values(schema))
    new = {**content, **META} if isinstance(content, dict) else dict(META)
    if draw(st.booleans()):
        return schema, new, None
    old = dict(new)
    for name in new.keys() - META.keys():
        if draw(st.integers(0, 2)) == 0:
            old[name] = draw(values(schema["properties"].get(name, {})))
    return schema, new, old
