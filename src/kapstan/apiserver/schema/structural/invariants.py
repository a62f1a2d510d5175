"""Invariants of structural schemas: every value has one type, told outside of `anyOf` and its like.

Works on schema documents, since it is their writing that is judged. Messages and paths are apiextensions'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kapstan.apiserver.schema.regexp import InvalidRegexp, compile_regexp
from kapstan.machinery.validation import FieldError, Path

__all__ = ("UNSUPPORTED", "structural_errors", "unsupported_keyword")

Document = Mapping[str, Any]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
# Keywords that apiextensions cannot even read as a structural schema, with what counts as absent.
UNSUPPORTED = ("id", "schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
# What may not stand in a branch of `anyOf` and its like, and why.
_FORBIDDEN_IN_BRANCHES = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def unsupported_keyword(schema: Document) -> str | None:
    """What is in a schema, at any depth, that no structural schema can hold; None if nothing is."""
    found = next(
        (keyword for keyword in UNSUPPORTED if schema.get("$schema" if keyword == "schema" else keyword)), None
    )
    if found:
        return f"OpenAPIV3Schema '{found}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((problem for child in _children(schema) if (problem := unsupported_keyword(child))), None)


def _children(schema: Document) -> Iterator[Document]:
    yield from (schema.get("properties") or {}).values()
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword) or ()
    yield from (child for keyword in ("items", "not") if (child := schema.get(keyword)) is not None)
    if isinstance(additional := schema.get("additionalProperties"), Mapping):
        yield additional


def structural_errors(schema: Document, path: Path) -> list[FieldError]:
    """Why the schema is not structural, sorted by message."""
    errors = [*_invariants(schema, "root", path), *_completeness(schema, schema, path, path)]
    return sorted(errors, key=str)


def _invariants(schema: Document, level: str, path: Path) -> Iterator[FieldError]:
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if items is not None:
        yield from _invariants(items, "item", path.child("items"))
    elif schema.get("type") == "array":
        yield FieldError.required(path.child("items"), "must be specified")
    for name, child in (schema.get("properties") or {}).items():
        yield from _invariants(child, "field", path.child("properties").key(name))
    if additional is not None:
        if level == "root":
            yield FieldError.forbidden(path.child("additionalProperties"), "must not be used at the root")
        if isinstance(additional, Mapping):
            yield from _invariants(additional, "field", path.child("additionalProperties"))
    yield from _extension_errors(schema, path)
    skip_any_of = schema.get("anyOf") == _INT_OR_STRING
    first = (schema.get("allOf") or [{}])[0]
    yield from _branch_errors(schema, path, skip_any_of=skip_any_of, skip_first=first.get("anyOf") == _INT_OR_STRING)
    yield from _type_errors(schema, level, path)
    yield from _metadata_errors(schema, level, path)


def _extension_errors(schema: Document, path: Path) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(keyword):
                detail = "must be false if x-kubernetes-int-or-string is true"
                yield FieldError.invalid(path.child(keyword), True, detail)


def _type_errors(schema: Document, level: str, path: Path) -> Iterator[FieldError]:
    kind, at = schema.get("type") or "", path.child("type")
    embedded, preserve = (
        schema.get("x-kubernetes-embedded-resource"),
        schema.get("x-kubernetes-preserve-unknown-fields"),
    )
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield FieldError.invalid(at, kind, detail) if kind else FieldError.required(at, detail)
    elif not kind and not schema.get("x-kubernetes-int-or-string") and not preserve:
        yield FieldError.required(at, _EMPTY_TYPE[level])
    if embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield FieldError.forbidden(path.child("additionalProperties"), detail)
    if level == "root" and kind and kind != "object":
        yield FieldError.invalid(at, kind, "must be object at the root")
    if embedded and not preserve and not schema.get("properties"):
        detail = "must not be empty if x-kubernetes-embedded-resource is true "
        yield FieldError.required(path.child("properties"), detail + "without x-kubernetes-preserve-unknown-fields")


def _metadata_errors(schema: Document, level: str, path: Path) -> Iterator[FieldError]:
    """apiVersion, kind and metadata of resources have their types, and no more may be said of metadata than names."""
    properties = schema.get("properties") or {}
    if level == "root" or schema.get("x-kubernetes-embedded-resource"):
        for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            if name in properties and (kind := properties[name].get("type") or "") != wanted:
                yield FieldError.invalid(path.child("properties").key(name).child("type"), kind, f"must be {wanted}")
    if level == "root" and "metadata" in properties:
        said = {keyword for keyword, value in properties["metadata"].items() if value not in (None, False, "", [], {})}
        names = set(properties["metadata"].get("properties") or ())
        if said - {"type", "default", "properties"} or names - {"name", "generateName"}:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield FieldError.forbidden(path.child("properties").key("metadata"), detail)


# --- Branches ----------------------------------------------------------------------------------------------------


def _branches(schema: Document, path: Path) -> Iterator[tuple[str, int, Document, Path]]:
    for keyword in ("anyOf", "allOf", "oneOf"):
        for position, branch in enumerate(schema.get(keyword) or ()):
            yield keyword, position, branch, path.child(keyword).index(position)
    if (negated := schema.get("not")) is not None:
        yield "not", 0, negated, path.child("not")


def _branch_errors(
    schema: Document, path: Path, *, skip_any_of: bool = False, skip_first: bool = False
) -> Iterator[FieldError]:
    """The two spellings of int-or-string are the only types that branches may name."""
    for keyword, position, branch, at in _branches(schema, path):
        if not (keyword == "anyOf" and skip_any_of):
            skip = skip_first and keyword == "allOf" and position == 0
            yield from _one_branch_errors(branch, at, skip_any_of=skip)
    if pattern := schema.get("pattern"):
        try:
            compile_regexp(pattern)
        except InvalidRegexp as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError.invalid(path.child("pattern"), pattern, detail)


def _one_branch_errors(branch: Document, path: Path, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _branch_errors(branch, path, skip_any_of=skip_any_of)
    if (items := branch.get("items")) is not None:
        yield from _one_branch_errors(items, path.child("items"))
    for name, child in (branch.get("properties") or {}).items():
        yield from _one_branch_errors(child, path.child("properties").key(name))
    for keyword, detail in _FORBIDDEN_IN_BRANCHES:
        value = branch.get(keyword)
        present = value is not None and value is not False if detail.startswith("must be undefined") else value
        if present or (keyword == "default" and value is False):
            yield FieldError.forbidden(path.child(keyword), detail)
    if "metadata" in (branch.get("properties") or {}):
        at = path.child("properties").key("metadata")
        yield FieldError.forbidden(at, "must not be specified in a nested context")


# --- Completeness --------------------------------------------------------------------------------------------------


def _completeness(rules: Document, structure: Document | None, at: Path, rules_at: Path) -> Iterator[FieldError]:
    """Whatever a branch speaks of must be declared outside of branches."""
    for _, _, branch, path in _branches(rules, rules_at):
        yield from _branch_completeness(branch, structure, at, path)


def _branch_completeness(
    branch: Document, structure: Document | None, at: Path, rules_at: Path
) -> Iterator[FieldError]:
    if structure is None:
        yield FieldError.required(at, f"because it is defined in {rules_at}")
        return
    yield from _completeness(branch, structure, at, rules_at)
    if (items := branch.get("items")) is not None:
        yield from _branch_completeness(items, structure.get("items"), at.child("items"), rules_at.child("items"))
    for name, child in (branch.get("properties") or {}).items():
        here, there = at.child("properties").key(name), rules_at.child("properties").key(name)
        yield from _branch_completeness(child, (structure.get("properties") or {}).get(name), here, there)
