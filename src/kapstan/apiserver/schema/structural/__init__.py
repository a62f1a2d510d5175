"""Is a custom kind's schema structural and valid? The rules, messages and paths of apiextensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapstan.apiserver.schema.structural.defaults import default_errors, has_unpruned_defaults
from kapstan.apiserver.schema.structural.invariants import structural_errors, unsupported_keyword
from kapstan.apiserver.schema.structural.openapi import Context, Tolerance, keyword_errors, list_key_errors, walk
from kapstan.apiserver.schema.structural.rules import rule_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("validate_schema", "validate_schemas")

Document = Mapping[str, Any]

# What may be said at the root if the status is a subresource, so that the status' part can be taken out.
_ALLOWED_BESIDE_STATUS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_ALLOWED_KEYWORDS = frozenset(
    (
        *(name[0].lower() + name[1:] for name in _ALLOWED_BESIDE_STATUS.split() if not name.startswith("X")),
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    )
)


def validate_schemas(spec: Document, old_spec: Document | None = None) -> list[FieldError]:
    """What is wrong with the schemas of a CustomResourceDefinition's versions; an update may keep old faults.

    A schema that all versions share is one of the whole kind to kube-apiserver, which then calls it `spec.validation`.
    """
    versions = spec.get("versions") or ()
    path = Path("spec")
    if versions and all(version.get("schema") == versions[0].get("schema") for version in versions):
        has_status = any(map(_has_status, versions))
        return _version_errors(versions[0], path.child("validation"), has_status, old_spec)
    errors: list[FieldError] = []
    for position, version in enumerate(versions):
        at = path.child("versions").index(position).child("schema")
        errors += _version_errors(version, at, _has_status(version), old_spec)
    return errors


def _has_status(version: Document) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _version_errors(version: Document, path: Path, has_status: bool, old_spec: Document | None) -> list[FieldError]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    return validate_schema(schema, path, has_status=has_status, tolerance=_tolerance(version, old_spec))


def validate_schema(
    schema: Document, path: Path, *, has_status: bool = False, tolerance: Tolerance | None = None
) -> list[FieldError]:
    """What is wrong with one `openAPIV3Schema`. `path` is where the `schema` field stands."""
    tolerance = tolerance or Tolerance()
    at = path.child("openAPIV3Schema")
    errors = _status_errors(schema, path) if has_status else []
    if schema.get("nullable"):
        errors.append(
            FieldError.forbidden(path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root")
        )
    unreadable = unsupported_keyword(schema)
    unsound: list[FieldError] = []
    if unreadable is None:
        unsound = structural_errors(schema, at) or default_errors(
            schema, at, require_pruned=not tolerance.unpruned_defaults
        )
    faults = [
        error
        for node, node_path, context in walk(schema, at, Context(), root=True)
        for error in keyword_errors(node, node_path, context, tolerance)
    ]
    errors += unsound + faults
    if unreadable is not None:
        return errors or [FieldError.invalid(at, "", unreadable)]
    if not unsound:
        errors += rule_errors(schema, at, faults, ignore_costs=tolerance.rule_costs)
    return errors


def _status_errors(schema: Document, path: Path) -> list[FieldError]:
    if schema.get("type") not in (None, "", "object"):
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [FieldError.invalid(path.child("openAPIV3Schema.type"), schema["type"], detail)]
    said = {keyword for keyword, value in schema.items() if value not in (None, False, "", [], {})}
    if said <= _ALLOWED_KEYWORDS:
        return []
    detail = f"only [{_ALLOWED_BESIDE_STATUS}] fields are allowed at the root of the schema "
    detail += "if the status subresource is enabled"
    return [FieldError.invalid(path.child("openAPIV3Schema"), dict(schema), detail)]


def _tolerance(version: Document, old_spec: Document | None) -> Tolerance:
    """What the old definition did wrong may stay so, in any of its versions."""
    if old_spec is None:
        return Tolerance()
    old_versions = old_spec.get("versions") or ()
    schemas = [schema for old in old_versions if (schema := (old.get("schema") or {}).get("openAPIV3Schema"))]
    nodes = [node for schema in schemas for node, _, _ in walk(schema, Path(), Context(), root=True)]
    faults = [
        error.field.rpartition(".")[2]
        for node in nodes
        for error in keyword_errors(node, Path(), Context(), Tolerance())
    ]
    unchanged = any(
        old.get("name") == version.get("name") and old.get("schema") == version.get("schema") for old in old_versions
    )
    return Tolerance(
        types="type" in faults,
        unpruned_defaults=any(
            unsupported_keyword(schema) is None
            and not structural_errors(schema, Path())
            and has_unpruned_defaults(schema)
            for schema in schemas
        ),
        sets_of_granular_items=any(_is_granular_set(node) for node in nodes),
        list_keys=any(list(list_key_errors(node, Path())) for node in nodes),
        rule_costs=unchanged,
    )


def _is_granular_set(schema: Document) -> bool:
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, Mapping):
        return False
    if items.get("type") == "array":
        return items.get("x-kubernetes-list-type") not in (None, "atomic")
    return items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic"
