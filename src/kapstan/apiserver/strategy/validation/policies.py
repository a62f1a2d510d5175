"""Admission policies and their bindings. What an expression may cost is not estimated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    conditions,
    dns_subdomain,
    label_selector,
    one_of,
    path_segment,
    qualified_name,
)
from kapstan.apiserver.strategy.validation.webhooks import compiles, match_conditions, match_resources
from kapstan.machinery.names import dns1035_label_errors, dns1123_subdomain_errors
from kapstan.machinery.validation import FieldError, Path

if TYPE_CHECKING:
    from kapstan.apiserver.admission.policy.compiler import PolicyCompiler

__all__ = (
    "mutating_policy",
    "mutating_policy_binding",
    "mutating_policy_update",
    "policy_status",
    "validating_policy",
    "validating_policy_binding",
    "validating_policy_update",
)

_SPEC = Path("spec")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_NOTHING = "validations or auditAnnotations must contain at least one item"
_EMPTY = "must be non-empty if specified"
_MAX_ANNOTATIONS = 20
_MAX_VALUE_EXPRESSION = 5 * 1024
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCHES = {"JSONPatch": ("jsonPatch", "list(JSONPatch)"), "ApplyConfiguration": ("applyConfiguration", "Object")}
_EXCLUSIVE = "name and selector are mutually exclusive"
_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|"
    "while"
)


def validating_policy(obj: Object) -> Rules:
    return _validating(obj, None)


def validating_policy_update(obj: Object, old: Object) -> Rules:
    return _validating(obj, old)


def mutating_policy(obj: Object) -> Rules:
    return _mutating(obj, None)


def mutating_policy_update(obj: Object, old: Object) -> Rules:
    return _mutating(obj, old)


def _validating(obj: Object, old: Object | None) -> Rules:
    spec = obj["spec"]
    compiler = _compiler(spec, composed=bool(spec.get("variables")))
    yield from _common(spec, old, compiler, mutating=False)
    found, notes = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not found and not notes:
        yield FieldError.required(_SPEC.child("validations"), _NOTHING)
        yield FieldError.required(_SPEC.child("auditAnnotations"), _NOTHING)
        return
    for position, one in enumerate(found):
        yield from _validation(one, _SPEC.child("validations").index(position), compiler)
    if len(notes) > _MAX_ANNOTATIONS:
        detail = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        yield FieldError.invalid(_SPEC.child("auditAnnotations"), notes, detail)
    keys: set[str] = set()
    for position, note in enumerate(notes):
        at, key = _SPEC.child("auditAnnotations").index(position), note.get("key", "")
        yield from _annotation(note, obj["metadata"].get("name", ""), at, compiler)
        if key in keys:
            yield FieldError.duplicate(at.child("key"), key)
        keys.add(key)


def _compiler(spec: Object, *, composed: bool) -> PolicyCompiler:
    from kapstan.apiserver.admission.policy.compiler import PolicyCompiler
    from kapstan.apiserver.schema.cel.types import DYN

    return PolicyCompiler(params=DYN if spec.get("paramKind") is not None else None, composed=composed)


def _common(spec: Object, old: Object | None, compiler: PolicyCompiler, *, mutating: bool) -> Rules:
    yield from one_of(spec.get("failurePolicy"), _SPEC.child("failurePolicy"), ("Fail", "Ignore"))
    if spec.get("paramKind") is not None:
        yield from _param_kind(spec["paramKind"], _SPEC.child("paramKind"))
    match, path = spec.get("matchConstraints"), _SPEC.child("matchConstraints")
    if match is None:
        yield FieldError.required(path)
    else:
        yield from match_resources(match, path)
        if not match.get("resourceRules"):
            yield FieldError.required(path.child("resourceRules"))
        if mutating:
            yield from _mutable(match.get("resourceRules") or (), path.child("resourceRules", "operations"))
    if old is None or any(spec.get(field) != old["spec"].get(field) for field in ("paramKind", "matchConditions")):
        found, at = spec.get("matchConditions") or (), _SPEC.child("matchConditions")
        yield from match_conditions(found, at, params=spec.get("paramKind") is not None)
    for position, variable in enumerate(spec.get("variables") or ()):
        yield from _variable(variable, _SPEC.child("variables").index(position), compiler)


def _variable(variable: Object, path: Path, compiler: PolicyCompiler) -> Rules:
    name, expression = variable.get("name", ""), variable.get("expression", "")
    if not name.strip():
        yield FieldError.required(path.child("name"), "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or _RESERVED.fullmatch(name):
        yield FieldError.invalid(path.child("name"), name, "must be a valid CEL identifier")
    if expression.strip():
        yield from compiles(compiler.variable(name, expression), path.child("expression"))
    else:
        yield FieldError.required(path.child("expression"), "expression is not specified")


def _param_kind(kind: Object, path: Path) -> Rules:
    api_version, at = kind.get("apiVersion", ""), path.child("apiVersion")
    group, _, version = api_version.rpartition("/")
    if not api_version:
        yield FieldError.required(at)
    elif "/" in group:
        yield FieldError.invalid(at, api_version, f"unexpected GroupVersion string: {api_version}")
    else:
        if group and (errors := dns1123_subdomain_errors(group)):
            yield FieldError.invalid(at, group, ",".join(errors))
        if not version:
            yield FieldError.invalid(at, api_version, "version must be specified")
        elif errors := dns1035_label_errors(version):
            yield FieldError.invalid(at, version, ",".join(errors))
    name = kind.get("kind", "")
    if not name:
        yield FieldError.required(path.child("kind"))
    elif errors := dns1035_label_errors(name.lower()):
        detail = "may have mixed case, but should otherwise match: " + ",".join(errors)
        yield FieldError.invalid(path.child("kind"), name, detail)


def _validation(one: Object, path: Path, compiler: PolicyCompiler) -> Rules:
    expression, message_expression = one.get("expression", ""), one.get("messageExpression", "")
    if expression.strip():
        yield from compiles(compiler.condition(expression), path.child("expression"))
    else:
        yield FieldError.required(path.child("expression"), "expression is not specified")
    if message_expression.strip():
        yield from compiles(compiler.message(message_expression), path.child("messageExpression"))
    elif message_expression:
        yield FieldError.invalid(path.child("messageExpression"), message_expression, _EMPTY)
    if one.get("message") and not one["message"].strip():
        yield FieldError.invalid(path.child("message"), one["message"], _EMPTY)
    message = one.get("message", "").strip()
    if "\n" in message or "\r" in message:
        yield FieldError.invalid(path.child("message"), one["message"], "must not contain line breaks")
    if one.get("reason") is not None and one["reason"] not in _REASONS:
        yield FieldError.not_supported(path.child("reason"), one["reason"], _REASONS)


def _annotation(note: Object, policy: str, path: Path, compiler: PolicyCompiler) -> Rules:
    key, expression = note.get("key", ""), note.get("valueExpression", "").strip()
    if policy:
        yield from qualified_name(f"{policy}/{key}", path.child("key"))
    else:
        yield FieldError.invalid(path.child("key"), key, "requires metadata.name be non-empty")
    at = path.child("valueExpression")
    if not expression:
        yield FieldError.required(at, "valueExpression is not specified")
    elif len(expression.encode()) > _MAX_VALUE_EXPRESSION:
        yield FieldError.required(at, f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length")
    else:
        yield from compiles(compiler.annotation(expression)._replace(expression=note["valueExpression"]), at)


# Mutations ------------------------------------------------------------------------------------------------------------


def _mutating(obj: Object, old: Object | None) -> Rules:
    spec = obj["spec"]
    compiler = _compiler(spec, composed=True)
    yield from _common(spec, old, compiler, mutating=True)
    if not spec.get("mutations"):
        yield FieldError.required(_SPEC.child("mutations"), "mutations must contain at least one item")
    for position, mutation in enumerate(spec.get("mutations") or ()):
        yield from _mutation(mutation, _SPEC.child("mutations").index(position), compiler)
    yield from one_of(spec.get("reinvocationPolicy"), _SPEC.child("reinvocationPolicy"), ("IfNeeded", "Never"))


def _mutable(rules: Sequence[Object], path: Path) -> Rules:
    """There is nothing to change in what is deleted."""
    for rule in rules:
        for operation in rule.get("operations") or ():
            if operation not in _MUTABLE:
                yield FieldError.not_supported(path, operation, _MUTABLE)


def _mutation(mutation: Object, path: Path, compiler: PolicyCompiler) -> Rules:
    kind = mutation.get("patchType", "")
    yield from one_of(kind, path.child("patchType"), ("ApplyConfiguration", "JSONPatch"))
    if kind not in _PATCHES:
        return
    (field, type), (other, _) = _PATCHES[kind], next(found for name, found in _PATCHES.items() if name != kind)
    if mutation.get(field) is None:
        yield FieldError.required(path.child(field), f"must be specified when patchType is {kind}")
    elif expression := mutation[field].get("expression", "").strip():
        yield from compiles(compiler.mutation(expression, type), path.child(field, "expression"))
    else:
        yield FieldError.required(path.child(field, "expression"))
    if mutation.get(other) is not None:
        detail = f"must not be specified when patchType is {kind}"
        yield FieldError.invalid(path.child(other), f"{{{other}}}", detail)


# Bindings -------------------------------------------------------------------------------------------------------------


def validating_policy_binding(obj: Object) -> Rules:
    yield from mutating_policy_binding(obj)
    actions, path, seen = obj["spec"].get("validationActions") or [], _SPEC.child("validationActions"), set[str]()
    for position, action in enumerate(actions):
        if action not in ("Audit", "Deny", "Warn"):
            yield FieldError.not_supported(path.index(position), action, ("Audit", "Deny", "Warn"))
        if action in seen:
            yield FieldError.duplicate(path.index(position), action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        yield FieldError.invalid(path, actions, detail)
    if not seen:
        yield FieldError.required(path, "at least one validation action is required")


def mutating_policy_binding(obj: Object) -> Rules:
    spec = obj["spec"]
    if spec.get("policyName"):
        yield from dns_subdomain(spec["policyName"], _SPEC.child("policyName"))
    else:
        yield FieldError.required(_SPEC.child("policyName"))
    if spec.get("paramRef") is not None:
        yield from _param_reference(spec["paramRef"], _SPEC.child("paramRef"))
    yield from match_resources(spec.get("matchResources"), _SPEC.child("matchResources"))


def _param_reference(reference: Object, path: Path) -> Rules:
    name, selector = reference.get("name", ""), reference.get("selector")
    if name:
        yield from path_segment(name, path.child("name"))
        if selector is not None:
            yield FieldError.forbidden(path.child("name"), _EXCLUSIVE)
    if selector is not None:
        yield from label_selector(selector, path.child("selector"))
        if name:
            yield FieldError.forbidden(path.child("selector"), _EXCLUSIVE)
    if not name and selector is None:
        yield FieldError.required(path, "one of name or selector must be specified")
    yield from one_of(
        reference.get("parameterNotFoundAction"), path.child("parameterNotFoundAction"), ("Deny", "Allow")
    )


def policy_status(obj: Object, old: Object) -> Rules:
    status, path = obj.get("status") or {}, Path("status", "typeChecking", "expressionWarnings")
    for position, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        for field in ("warning", "fieldRef"):
            if not warning.get(field, "").strip():
                yield FieldError.required(path.index(position).child(field))
    yield from conditions(status.get("conditions"), Path("status", "conditions"))
