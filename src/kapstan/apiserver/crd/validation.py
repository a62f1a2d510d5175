"""Validation of definitions: everything but the schemas' own rules, which the schema package knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kapstan.apiserver.crd.approval import ANNOTATION, approval
from kapstan.apiserver.crd.bundle import bundle_complaint, has_valid_bundle
from kapstan.apiserver.crd.definition import is_established
from kapstan.machinery.names import dns1035_label_errors, dns1123_subdomain_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("validate_definition",)

Object = dict[str, Any]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SPEC = Path("spec")
_MAX_WARNING = 256


def validate_definition(crd: Object, old: Object | None = None) -> list[FieldError]:
    """What is wrong with a definition, or with its change."""
    spec = crd.get("spec") or {}
    errors = _expected_name_errors(crd) if old is None else []
    errors += _group_errors(spec) + _scope_errors(spec)
    errors += _version_errors(spec)
    from kapstan.apiserver.schema.structural import validate_schemas  # and CEL: not while there are no definitions

    errors += validate_schemas(spec, (old or {}).get("spec"))
    errors += _name_errors(spec.get("names") or {}, _SPEC.child("names"))
    may_be_invalid = old is None or not is_established(old) or not has_valid_bundle(old)
    errors += _conversion_errors(spec.get("conversion") or {}, _SPEC.child("conversion"), may_be_invalid)
    if old is not None:
        errors += _change_errors(crd, old)
    return errors + _stored_version_errors(crd) + _approval_errors(crd, old) + _preservation_errors(spec, old)


def _expected_name_errors(crd: Object) -> list[FieldError]:
    spec, name = crd.get("spec") or {}, crd["metadata"].get("name") or ""
    if name == f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}":
        return []
    return [FieldError.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _group_errors(spec: Object) -> list[FieldError]:
    at, group = _SPEC.child("group"), spec.get("group") or ""
    if not group:
        return [FieldError.required(at)]
    if complaints := dns1123_subdomain_errors(group):
        return [FieldError.invalid(at, group, ",".join(complaints))]
    if "." not in group:
        return [FieldError.invalid(at, group, "should be a domain with at least one dot")]
    return []


def _scope_errors(spec: Object) -> list[FieldError]:
    return _one_of(_SPEC.child("scope"), spec.get("scope") or "", ("Cluster", "Namespaced"))


def _one_of(at: Path, value: str, accepted: tuple[str, ...]) -> list[FieldError]:
    if not value:
        return [FieldError.required(at)]
    return [] if value in accepted else [FieldError.not_supported(at, value, accepted)]


def _version_errors(spec: Object) -> list[FieldError]:
    versions = spec.get("versions") or []
    at = _SPEC.child("versions")
    errors: list[FieldError] = []
    for position, version in enumerate(versions):
        here = at.index(position)
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            errors.append(FieldError.required(here.child("schema", "openAPIV3Schema")))
        if complaints := dns1035_label_errors(version.get("name") or ""):
            errors.append(FieldError.invalid(here.child("name"), version.get("name") or "", ",".join(complaints)))
        errors += _deprecation_errors(version, here.child("deprecationWarning"))
    errors += _shared_errors(versions, "subresources", _subresource_errors)
    errors += _shared_errors(versions, "additionalPrinterColumns", _columns_errors)
    names = [version.get("name") for version in versions]
    if len(set(names)) < len(names):
        errors.append(FieldError.invalid(at, versions, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        errors.append(FieldError.invalid(at, versions, "must have exactly one version marked as storage version"))
    return errors


def _shared_errors(
    versions: list[Object], name: str, check: Callable[[Any, Path], list[FieldError]]
) -> list[FieldError]:
    """What is the same in all versions is shown where Kubernetes puts it then: directly below the spec."""
    values = [version.get(name) for version in versions]
    if values and values[0] and all(value == values[0] for value in values):
        return check(values[0], _SPEC.child(name))
    errors: list[FieldError] = []
    for position, value in enumerate(values):
        if value:
            errors += check(value, _SPEC.child("versions").index(position).child(name))
    return errors


def _columns_errors(columns: list[Object], at: Path) -> list[FieldError]:
    return [error for position, column in enumerate(columns) for error in _column_errors(column, at.index(position))]


def _deprecation_errors(version: Object, at: Path) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    errors = []
    if not version.get("deprecated"):
        errors.append(FieldError.invalid(at, warning, "can only be set for deprecated versions"))
    if not warning:
        errors.append(FieldError.invalid(at, warning, "must not be empty if specified"))
    if len(warning) > _MAX_WARNING:
        errors.append(FieldError.invalid(at, warning, f"must be <= {_MAX_WARNING} characters long"))
    return errors


def _column_errors(column: Mapping[str, Any], at: Path) -> list[FieldError]:
    errors = [] if column.get("name") else [FieldError.required(at.child("name"))]
    type, format, path = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not type:
        errors.append(FieldError.required(at.child("type"), types))
    elif type not in _COLUMN_TYPES:
        errors.append(FieldError.invalid(at.child("type"), type, types))
    if format and format not in _COLUMN_FORMATS:
        errors.append(FieldError.invalid(at.child("format"), format, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not path:
        return [*errors, FieldError.required(at.child("JSONPath"))]
    return errors + _path_errors(path, at.child("JSONPath"))


def _path_errors(path: str, at: Path) -> list[FieldError]:
    if path.startswith("."):
        return []
    return [FieldError.invalid(at, path, "must be a simple json path starting with .")]


def _subresource_errors(subresources: Object, at: Path) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    errors = _scale_path_errors(scale.get("specReplicasPath") or "", at.child("scale.specReplicasPath"), ".spec")
    errors += _scale_path_errors(scale.get("statusReplicasPath") or "", at.child("scale.statusReplicasPath"), ".status")
    selector = scale.get("labelSelectorPath")
    if selector and not _path_errors(selector, at) and not selector.startswith((".spec.", ".status.")):
        here = at.child("scale.labelSelectorPath")
        errors.append(FieldError.invalid(here, selector, "should be a json path under either .spec or .status"))
    return errors


def _scale_path_errors(path: str, at: Path, below: str) -> list[FieldError]:
    if not path:
        return [FieldError.required(at)]
    if errors := _path_errors(path, at):
        return errors
    if not path.startswith(f"{below}."):
        return [FieldError.invalid(at, path, f"should be a json path under {below}")]
    return []


def _name_errors(names: Object, at: Path) -> list[FieldError]:
    errors = [
        FieldError.required(at.child(name))
        for name in ("plural", "singular", "kind", "listKind")
        if not names.get(name)
    ]
    for name in ("plural", "singular"):
        errors += _labels(at.child(name), names.get(name) or "")
    for name in ("kind", "listKind"):
        errors += _labels(at.child(name), names.get(name) or "", mixed_case=True)
    for position, short in enumerate(names.get("shortNames") or ()):
        errors += _labels(at.child("shortNames").index(position), short, required=True)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        errors.append(FieldError.invalid(at.child("listKind"), names["listKind"], detail))
    for position, category in enumerate(names.get("categories") or ()):
        errors += _labels(at.child("categories").index(position), category, required=True)
    return errors


def _labels(at: Path, value: str, *, mixed_case: bool = False, required: bool = False) -> list[FieldError]:
    complaints = dns1035_label_errors(value.lower() if mixed_case else value)
    if not complaints or (not value and not required):
        return []
    prefix = "may have mixed case, but should otherwise match: " if mixed_case else ""
    return [FieldError.invalid(at, value, prefix + ",".join(complaints))]


def _conversion_errors(conversion: Object, at: Path, any_bundle: bool) -> list[FieldError]:
    """`any_bundle`: an invalid caBundle keeps a definition from being established, and harms nobody yet."""
    errors = _one_of(at.child("strategy"), conversion.get("strategy") or "", ("None", "Webhook"))
    webhook = conversion.get("webhook")
    if conversion.get("strategy") != "Webhook":
        if webhook is not None:
            detail = "should not be set when strategy is not set to Webhook"
            errors.append(FieldError.forbidden(at.child("webhookClientConfig"), detail))
        return errors
    config = (webhook or {}).get("clientConfig")
    here = at.child("webhookClientConfig")
    if config is None:
        errors.append(FieldError.required(here, "required when strategy is set to Webhook"))
    elif (config.get("url") is None) == (config.get("service") is None):
        errors.append(FieldError.required(here, "exactly one of url or service is required"))
    elif config.get("url") is not None and not config["url"].startswith("https://"):
        errors.append(FieldError.invalid(here.child("url"), config["url"], "'https' is the only allowed URL scheme"))
    if config is not None and not any_bundle and (complaint := bundle_complaint(config.get("caBundle") or "")):
        errors.append(FieldError.invalid(here.child("caBundle"), config["caBundle"], complaint))
    return errors + _review_version_errors((webhook or {}).get("conversionReviewVersions") or [], at)


def _review_version_errors(versions: list[str], at: Path) -> list[FieldError]:
    here = at.child("conversionReviewVersions")
    if not versions:
        return [FieldError.required(here)]
    if not any(version in ("v1", "v1beta1") for version in versions):
        return [FieldError.invalid(here, versions, "must include at least one of v1, v1beta1")]
    return []


def _approval_errors(crd: Object, old: Object | None) -> list[FieldError]:
    """Who does not touch the annotation is not bothered with it."""
    found = approval(crd)
    if found is None or (old is not None and (before := approval(old)) and before.reason == found.reason):
        return []
    at = Path("metadata", "annotations").key(ANNOTATION)
    if found.reason == "MissingAnnotation":
        return [FieldError.required(at, found.message)]
    if found.reason == "InvalidAnnotation":
        return [FieldError.invalid(at, crd["metadata"]["annotations"][ANNOTATION], found.message)]
    return []


def _preservation_errors(spec: Object, old: Object | None) -> list[FieldError]:
    if not spec.get("preserveUnknownFields") or (old is not None and old["spec"].get("preserveUnknownFields")):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [FieldError.invalid(_SPEC.child("preserveUnknownFields"), True, detail)]


def _change_errors(crd: Object, old: Object) -> list[FieldError]:
    paths: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if is_established(old):
        paths = [("scope",), ("names", "kind"), *paths]
    errors = []
    for path in paths:
        new, before = _at(crd["spec"], path), _at(old["spec"], path)
        if new != before:
            errors.append(FieldError.invalid(_SPEC.child(*path), new, "field is immutable"))
    return errors


def _at(value: Any, path: Iterable[str]) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value


def _stored_version_errors(crd: Object) -> list[FieldError]:
    at = Path("status", "storedVersions")
    stored = (crd.get("status") or {}).get("storedVersions") or []
    if not stored:
        return [FieldError.invalid(at, None, "must have at least one stored version")]
    versions = crd["spec"].get("versions") or []
    names = {version.get("name") for version in versions}
    errors = [
        FieldError.invalid(at, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version["name"] not in stored
    ]
    for position, name in enumerate(stored):
        if name not in names:
            errors.append(FieldError.invalid(at.index(position), name, _MISSING(name)))
    return errors


_MISSING: Callable[[str], str] = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until a "
    "storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
).format
