"""ObjectMeta: what Kubernetes demands of `metadata` on create and on update, and of embedded resources.

Metadata is taken as decoded JSON that has already been coerced: fields have the right types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapstan.apiserver.schema.coerce import InvalidMetadata, decode_object_meta
from kapstan.machinery.golang import Rendered, join_quoted, to_json
from kapstan.machinery.names import (
    NameCheck,
    dns1035_label_errors,
    dns1123_label_errors,
    label_value_errors,
    name_is_dns_subdomain,
    name_is_path_segment,
    qualified_name_errors,
)
from kapstan.machinery.schema import Schema
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "IMMUTABLE",
    "validate_embedded",
    "validate_finalizers",
    "validate_labels",
    "validate_object_meta",
    "validate_object_meta_update",
)

IMMUTABLE = "field is immutable"
_METADATA = Path("metadata")
_ANNOTATIONS_LIMIT = 256 * 1024
_MANAGER_LIMIT = 128
_SUBRESOURCE_LIMIT = 256
_OWNER_REFERENCE_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")

Meta = Mapping[str, Any]


def validate_object_meta(
    metadata: Meta, *, namespaced: bool, name_check: NameCheck = name_is_dns_subdomain, path: Path = _METADATA
) -> list[FieldError]:
    """What is wrong with the metadata of an object to be created. Its name has been generated already."""
    errors: list[FieldError] = []
    if generate_name := metadata.get("generateName"):
        at = path.child("generateName")
        errors += (FieldError.invalid(at, generate_name, complaint) for complaint in name_check(generate_name, True))
    if name := metadata.get("name"):
        errors += (FieldError.invalid(path.child("name"), name, complaint) for complaint in name_check(name, False))
    else:
        errors.append(FieldError.required(path.child("name"), "name or generateName is required"))
    errors += _namespace_errors(metadata.get("namespace") or "", namespaced, path.child("namespace"))
    if (generation := metadata.get("generation") or 0) < 0:
        detail = "must be greater than or equal to 0"
        errors.append(FieldError.invalid(path.child("generation"), generation, detail))
    errors += _common_errors(metadata, path)
    errors += validate_finalizers(metadata.get("finalizers") or (), path.child("finalizers"))
    errors += _managed_fields_errors(metadata.get("managedFields") or (), path.child("managedFields"))
    return errors


def validate_object_meta_update(metadata: Meta, old: Meta, *, path: Path = _METADATA) -> list[FieldError]:
    """What is wrong with the metadata of an update, given what was there before."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(metadata.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            found = "no new finalizers can be added if the object is being deleted, found new finalizers"
            detail = f"{found} []string{{{join_quoted(added)}}}"
            errors.append(FieldError.forbidden(path.child("finalizers"), detail))
    if not metadata.get("resourceVersion"):
        errors.append(FieldError.invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    generation = metadata.get("generation") or 0
    if generation < (old.get("generation") or 0):
        errors.append(FieldError.invalid(path.child("generation"), generation, "must not be decremented"))
    for field, empty in _IMMUTABLE_FIELDS:
        value = metadata.get(field) or empty
        if value != (old.get(field) or empty):
            errors.append(FieldError.invalid(path.child(field), value, IMMUTABLE))
    errors += _common_errors(metadata, path)
    errors += _managed_fields_errors(metadata.get("managedFields") or (), path.child("managedFields"))
    return errors


_IMMUTABLE_FIELDS: tuple[tuple[str, str | None], ...] = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def _namespace_errors(namespace: str, namespaced: bool, path: Path) -> list[FieldError]:
    if not namespaced:
        return [FieldError.forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [FieldError.required(path)]
    return [FieldError.invalid(path, namespace, complaint) for complaint in dns1123_label_errors(namespace)]


def _common_errors(metadata: Meta, path: Path) -> list[FieldError]:
    """What create and update check alike."""
    errors = validate_labels(metadata.get("labels") or {}, path.child("labels"))
    errors += _annotation_errors(metadata.get("annotations") or {}, path.child("annotations"))
    errors += _owner_reference_errors(metadata.get("ownerReferences") or (), path.child("ownerReferences"))
    return errors


def validate_labels(labels: Mapping[str, str], path: Path) -> list[FieldError]:
    """What is wrong with a set of labels."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += (FieldError.invalid(path, key, complaint) for complaint in qualified_name_errors(key))
        errors += (FieldError.invalid(path, value, complaint) for complaint in label_value_errors(value))
    return errors


def _annotation_errors(annotations: Mapping[str, str], path: Path) -> list[FieldError]:
    errors = [
        FieldError.invalid(path, key, complaint)
        for key in annotations
        for complaint in qualified_name_errors(key.lower())
    ]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        errors.append(FieldError.too_long(path, _ANNOTATIONS_LIMIT))
    return errors


def _owner_reference_errors(references: Sequence[Meta], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for reference in references:
        errors += _one_owner_errors(reference, path)
        if reference.get("controller"):
            name = f"{reference.get('kind') or ''}/{reference.get('name') or ''}"
            if controller:
                detail = "Only one reference can have Controller set to true. "
                detail += f'Found "true" in references for {controller} and {name}'
                rendered = Rendered("[" + ",".join(map(_reference_json, references)) + "]")
                errors.append(FieldError.invalid(path, rendered, detail))
            else:
                controller = name
    return errors


def _one_owner_errors(reference: Meta, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version, kind = reference.get("apiVersion") or "", reference.get("kind") or ""
    group, slash, version = api_version.rpartition("/")
    if not version or "/" in group:
        errors.append(FieldError.invalid(path.child("apiVersion"), api_version, "version must not be empty"))
    missing = [field for field in ("kind", "name", "uid") if not reference.get(field)]
    errors += (FieldError.invalid(path.child(field), "", "must not be empty") for field in missing)
    if (api_version, kind) == ("v1", "Event") and not slash:
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(FieldError.invalid(path, Rendered(_reference_json(reference)), detail))
    return errors


def _reference_json(reference: Meta) -> str:
    """An owner reference in the order of Go's type."""
    written = {field: reference.get(field) for field in _OWNER_REFERENCE_FIELDS}
    pairs = (
        f"{to_json(field)}:{to_json(value or '' if field in _OWNER_REFERENCE_FIELDS[:4] else value)}"
        for field, value in written.items()
        if value is not None or field in _OWNER_REFERENCE_FIELDS[:4]
    )
    return "{" + ",".join(pairs) + "}"


def validate_finalizers(finalizers: Sequence[str], path: Path) -> list[FieldError]:
    """What is wrong with a list of finalizers."""
    errors = [
        FieldError.invalid(path, finalizer, complaint)
        for finalizer in finalizers
        for complaint in qualified_name_errors(finalizer)
    ]
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(FieldError.invalid(path, list(finalizers), detail))
    return errors


def _managed_fields_errors(entries: Sequence[Meta], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, entry in enumerate(entries):
        at = path.index(position)
        if (operation := entry.get("operation") or "") not in ("Apply", "Update"):
            errors.append(FieldError.invalid(at.child("operation"), operation, "must be `Apply` or `Update`"))
        if (fields_type := entry.get("fieldsType") or "FieldsV1") != "FieldsV1":
            errors.append(FieldError.invalid(at.child("fieldsType"), fields_type, "must be `FieldsV1`"))
        manager = entry.get("manager") or ""
        if len(manager.encode()) > _MANAGER_LIMIT:
            errors.append(FieldError.too_long(at.child("manager"), _MANAGER_LIMIT))
        errors += _unprintable_errors(manager, at.child("manager"))
        if len((entry.get("subresource") or "").encode()) > _SUBRESOURCE_LIMIT:
            errors.append(FieldError.too_long(at.child("subresource"), _SUBRESOURCE_LIMIT))
    return errors


def _unprintable_errors(manager: str, path: Path) -> list[FieldError]:
    return [
        FieldError.invalid(
            path, manager, f"invalid character U+{ord(char):04X} (at position {len(manager[:position].encode())})"
        )
        for position, char in enumerate(manager)
        if not char.isprintable()
    ]


# --- Embedded resources ------------------------------------------------------------------------------------------


def validate_embedded(
    value: Any, schema: Schema | None, path: Path | None = None, *, root: bool = False
) -> list[FieldError]:
    """What is wrong with apiVersion, kind and metadata of embedded resources; `root` counts the value as one."""
    path = path or Path()
    errors: list[FieldError] = []
    if schema is None:
        return errors
    if type(value) is dict:
        if root or schema.embedded_resource:
            errors += _resource_errors(value, path)
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                below = path.child(key) if key in schema.properties else path.key(key)
                errors += validate_embedded(item, schema.property(key), below)
    elif type(value) is list:
        for position, item in enumerate(value):
            errors += validate_embedded(item, schema.items, path.index(position))
    return errors


def _resource_errors(value: Meta, path: Path) -> list[FieldError]:
    errors = [FieldError.required(path.child(field)) for field in ("apiVersion", "kind") if field not in value]
    if "apiVersion" in value:
        errors += _api_version_errors(value["apiVersion"], path.child("apiVersion"))
    if "kind" in value:
        errors += _kind_errors(value["kind"], path.child("kind"))
    if "metadata" in value:
        errors += _embedded_metadata_errors(value["metadata"], path.child("metadata"))
    return errors


def _api_version_errors(api_version: Any, path: Path) -> list[FieldError]:
    if type(api_version) is not str:
        return [FieldError.invalid(path, api_version, "must be a string")]
    if not api_version:
        return [FieldError.invalid(path, api_version, "must not be empty")]
    if api_version.count("/") > 1:
        return [FieldError.invalid(path, api_version, f"unexpected GroupVersion string: {api_version}")]
    return []


def _kind_errors(kind: Any, path: Path) -> list[FieldError]:
    if type(kind) is not str:
        return [FieldError.invalid(path, kind, "must be a string")]
    if not kind:
        return [FieldError.invalid(path, kind, "must not be empty")]
    if complaints := dns1035_label_errors(kind.lower()):
        detail = "may have mixed case, but should otherwise match: " + ",".join(complaints)
        return [FieldError.invalid(path, kind, detail)]
    return []


def _embedded_metadata_errors(metadata: Any, path: Path) -> list[FieldError]:
    try:
        decoded, _ = decode_object_meta(metadata)
    except InvalidMetadata as error:
        return [FieldError.invalid(path, metadata, str(error))]
    decoded.setdefault("name", "fakename")  # an embedded object needs no name
    return validate_object_meta(
        decoded, namespaced=bool(decoded.get("namespace")), name_check=name_is_path_segment, path=path
    )
