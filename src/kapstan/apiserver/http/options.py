"""Options: what query parameters and DeleteOptions bodies say, checked as Kubernetes checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapstan.apiserver.registry.accepting import not_registered
from kapstan.apiserver.registry.errors import invalid
from kapstan.apiserver.registry.selection import parse_selectors
from kapstan.apiserver.request import DeleteOptions, ListOptions, Preconditions, WriteOptions
from kapstan.apiserver.strategy.typed import shape, struct_of
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupKind, GroupVersionKind
from kapstan.machinery.validation import FieldError

__all__ = ("delete_options", "flag", "list_options", "patch_options", "text", "write_options")

Query = Mapping[str, Sequence[str]]

_MANAGER_LENGTH = 128
_POLICIES = ("Foreground", "Background", "Orphan")
_INT64 = 2**63
_DELETE_OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")


def text(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool:
    """Anything but "false" and "0" is true, also nothing."""
    return bool(_optional_flag(query, name))


def _optional_flag(query: Query, name: str) -> bool | None:
    values = query.get(name)
    return values[0].lower() not in ("false", "0") if values else None


def _integer(query: Query, name: str) -> int | None:
    value = text(query, name)
    if not value:
        return None
    digits = value[1:] if value[0] in "+-" else value
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f"strconv.ParseInt: parsing {quote(value)}: invalid syntax")
    number = int(value) if len(digits) < 20 else _INT64
    if not -_INT64 <= number < _INT64:
        raise BadRequest(f"strconv.ParseInt: parsing {quote(value)}: value out of range")
    return number


def write_options(query: Query, kind: str) -> WriteOptions:
    """CreateOptions or UpdateOptions."""
    if not query:
        return WriteOptions()
    errors = _write_errors(query)
    if errors:
        raise invalid(GroupKind("meta.k8s.io", kind), "", errors)
    return WriteOptions(
        dry_run=bool(query.get("dryRun")),
        field_manager=text(query, "fieldManager"),
        field_validation=text(query, "fieldValidation"),  # type: ignore[arg-type]  # checked above
        force=flag(query, "force"),
    )


def patch_options(query: Query, *, apply: bool) -> WriteOptions:
    """PatchOptions."""
    errors = []
    if apply and not text(query, "fieldManager"):
        errors.append(FieldError.required("fieldManager", "is required for apply patch"))
    elif not apply and "force" in query:
        errors.append(FieldError.forbidden("force", "may not be specified for non-apply patch"))
    errors += _write_errors(query)
    if errors:
        raise invalid(GroupKind("meta.k8s.io", "PatchOptions"), "", errors)
    return write_options(query, "PatchOptions")


def _write_errors(query: Query) -> list[FieldError]:
    errors = []
    manager = text(query, "fieldManager")
    if len(manager.encode()) > _MANAGER_LENGTH:
        errors.append(FieldError.too_long("fieldManager", _MANAGER_LENGTH))
    for position, char in enumerate(manager):
        if not char.isprintable():
            complaint = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(FieldError.invalid("fieldManager", manager, complaint))
    errors += _dry_run_errors(query.get("dryRun") or ())
    directive = text(query, "fieldValidation")
    if directive not in ("", "Ignore", "Strict", "Warn"):
        errors.append(FieldError.not_supported("fieldValidation", directive, ("", "Ignore", "Strict", "Warn")))
    return errors


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [FieldError.not_supported("dryRun", list(values), ("All",))]


def delete_options(query: Query, body: Any) -> DeleteOptions:
    """From the body if there is one, else from the query."""
    if body is not None:
        return _checked(*_from_body(body))
    options = DeleteOptions(
        dry_run=bool(query.get("dryRun")),
        grace_period_seconds=_integer(query, "gracePeriodSeconds"),
        orphan_dependents=_optional_flag(query, "orphanDependents"),
        propagation_policy=text(query, "propagationPolicy") if "propagationPolicy" in query else None,
    )
    return _checked(options, query.get("dryRun") or ())


def _from_body(body: Any) -> tuple[DeleteOptions, Sequence[str]]:
    if not isinstance(body, dict):
        raise BadRequest("the body of a delete is a DeleteOptions object")
    kind, version = body.get("kind") or _DELETE_OPTIONS.kind, body.get("apiVersion") or "meta.k8s.io/v1"
    if kind != _DELETE_OPTIONS.kind:
        raise BadRequest(not_registered(str(version), str(kind)))
    struct = struct_of(_DELETE_OPTIONS)
    assert struct is not None
    try:
        shape(struct, body)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    wanted = body.get("preconditions") or {}
    options = DeleteOptions(
        dry_run=bool(body.get("dryRun")),
        grace_period_seconds=body.get("gracePeriodSeconds"),
        preconditions=Preconditions(wanted.get("uid"), wanted.get("resourceVersion")),
        orphan_dependents=body.get("orphanDependents"),
        propagation_policy=body.get("propagationPolicy"),
    )
    return options, body.get("dryRun") or ()


def _checked(options: DeleteOptions, dry_run: Sequence[str]) -> DeleteOptions:
    errors = []
    policy = options.propagation_policy
    if options.orphan_dependents is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(FieldError.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(FieldError.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += _dry_run_errors(dry_run)
    if errors:
        raise invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", errors)
    return options


def list_options(query: Query, *, watch: bool = False) -> ListOptions:
    """ListOptions of a list, a watch or a deletion of a collection."""
    if not query:
        return ListOptions()
    options = ListOptions(
        label_selector=text(query, "labelSelector"),
        field_selector=text(query, "fieldSelector"),
        limit=_integer(query, "limit") or 0,
        continue_token=text(query, "continue"),
        resource_version=text(query, "resourceVersion"),
        resource_version_match=text(query, "resourceVersionMatch"),
        timeout_seconds=_integer(query, "timeoutSeconds"),
        allow_watch_bookmarks=flag(query, "allowWatchBookmarks"),
        send_initial_events=_optional_flag(query, "sendInitialEvents"),
    )
    errors = _watch_errors(options) if watch else _list_errors(options)
    if errors:
        parse_selectors(options.label_selector, options.field_selector)  # what cannot be read is told first
        raise invalid(GroupKind("meta.k8s.io", "ListOptions"), "", errors)
    return options


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors, match = [], options.resource_version_match
    at = "resourceVersionMatch"
    if match:
        if not options.resource_version:
            errors.append(FieldError.forbidden(at, f"{at} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(FieldError.forbidden(at, f"{at} is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(FieldError.not_supported(at, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            errors.append(FieldError.forbidden(at, f'{at} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        errors.append(FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors, match = [], options.resource_version_match
    at = "resourceVersionMatch"
    if options.send_initial_events is not None and match != "NotOlderThan":
        errors.append(FieldError.forbidden(at, f"sendInitialEvents requires setting {at} to NotOlderThan"))
    if match:
        if options.send_initial_events is None:
            errors.append(FieldError.forbidden(at, f"{at} is forbidden for watch unless sendInitialEvents is provided"))
        if match != "NotOlderThan":
            errors.append(FieldError.not_supported(at, match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(FieldError.forbidden(at, f"{at} is forbidden when continue is provided"))
    return errors
