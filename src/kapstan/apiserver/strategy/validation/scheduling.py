"""Where pods may run: affinity, tolerations, spreading."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    label_name,
    label_selector,
    one_of,
    positive,
)
from kapstan.machinery.names import label_value_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("EFFECTS", "affinity", "node_selector", "spread_constraints", "tolerations")

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_NOT_AN_OPERATOR = "not a valid selector operator"


def affinity(found: Object | None, path: Path) -> Rules:
    found = found or {}
    node = found.get("nodeAffinity")
    if node is not None:
        at = path.child("nodeAffinity")
        if node.get(_REQUIRED) is not None:
            yield from node_selector(node[_REQUIRED], at.child(_REQUIRED))
        for position, term in enumerate(node.get(_PREFERRED) or ()):
            here = at.child(_PREFERRED).index(position)
            yield from _weight(term, here)
            yield from _node_term(term.get("preference") or {}, here.child("preference"), values=False)
    for side in ("podAffinity", "podAntiAffinity"):
        rules, at = found.get(side) or {}, path.child(side)
        for position, term in enumerate(rules.get(_REQUIRED) or ()):
            yield from _pod_term(term, at.child(_REQUIRED).index(position))
        for position, weighted in enumerate(rules.get(_PREFERRED) or ()):
            here = at.child(_PREFERRED).index(position)
            yield from _weight(weighted, here)
            yield from _pod_term(weighted.get("podAffinityTerm") or {}, here.child("podAffinityTerm"))


def _weight(term: Object, path: Path) -> Rules:
    if not 1 <= term.get("weight", 0) <= 100:
        yield FieldError.invalid(path.child("weight"), term.get("weight", 0), "must be in the range 1-100")


def node_selector(selector: Object, path: Path) -> Rules:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield FieldError.required(path.child("nodeSelectorTerms"), "must have at least one node selector term")
    for position, term in enumerate(terms):
        yield from _node_term(term, path.child("nodeSelectorTerms").index(position))


def _node_term(term: Object, path: Path, *, values: bool = True) -> Rules:
    for position, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _node_requirement(requirement, path.child("matchExpressions").index(position), values=values)
    for position, requirement in enumerate(term.get("matchFields") or ()):
        yield from _node_field(requirement, path.child("matchFields").index(position))


def _node_requirement(requirement: Object, path: Path, *, values: bool) -> Rules:
    operator, found = requirement.get("operator", ""), requirement.get("values") or ()
    at = path.child("values")
    if operator in ("In", "NotIn"):
        if not found:
            yield FieldError.required(at, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if found:
            yield FieldError.forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(found) != 1:
            yield FieldError.required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield FieldError.invalid(path.child("operator"), operator, _NOT_AN_OPERATOR)
    yield from label_name(requirement.get("key", ""), path.child("key"))
    if values:
        for position, value in enumerate(found):
            yield from complaints(value, at.index(position), label_value_errors)


def _node_field(requirement: Object, path: Path) -> Rules:
    operator, found = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield FieldError.invalid(path.child("operator"), operator, _NOT_AN_OPERATOR)
    elif len(found) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield FieldError.required(path.child("values"), detail)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield FieldError.invalid(path.child("key"), key, "not a valid field selector key")
        return
    for position, value in enumerate(found):
        yield from dns_subdomain(value, path.child("values").index(position))


def _pod_term(term: Object, path: Path) -> Rules:
    for field in ("labelSelector", "namespaceSelector"):
        yield from label_selector(term.get(field), path.child(field))
    for namespace in term.get("namespaces") or ():
        yield from dns_label(namespace, path.child("namespace"))
    yield from _label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        yield FieldError.required(path.child("topologyKey"), "can not be empty")
    yield from label_name(key, path.child("topologyKey"))


def _label_keys(holder: Object, path: Path) -> Rules:
    """Keys whose values are the pod's own."""
    selector = holder.get("labelSelector")
    matching, differing = holder.get("matchLabelKeys") or [], holder.get("mismatchLabelKeys") or []
    for field, keys in (("matchLabelKeys", matching), ("mismatchLabelKeys", differing)):
        if keys and selector is None:
            yield FieldError.forbidden(path.child(field), _NO_SELECTOR)
        elif keys:
            for position, key in enumerate(keys):
                yield from label_name(key, path.child(field).index(position))
    if selector is not None:
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key", "")
            if key in matching and key in seen:
                detail = "exists in both matchLabelKeys and labelSelector"
                yield FieldError.invalid(path.index(matching.index(key)), key, detail)
            seen.add(key)
    for position, key in enumerate(matching):
        if key in differing:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield FieldError.invalid(path.child("matchLabelKeys").index(position), key, detail)


def tolerations(found: Sequence[Object], path: Path) -> Rules:
    for position, toleration in enumerate(found):
        at = path.index(position)
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        if key:
            yield from label_name(key, at.child("key"))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield FieldError.invalid(at.child("operator"), operator, detail)
        effect = toleration.get("effect", "")
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield FieldError.invalid(at.child("effect"), effect, detail)
        yield from _toleration_value(operator, toleration.get("value", ""), at.child("operator"))
        if effect:
            yield from one_of(effect, at.child("effect"), EFFECTS)


def _toleration_value(operator: str, value: str, path: Path) -> Rules:
    if operator in ("", "Equal"):
        if errors := label_value_errors(value):
            yield FieldError.invalid(path, value, ";".join(errors))
    elif operator == "Exists":
        if value:
            yield FieldError.invalid(path, value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        yield FieldError.not_supported(path, operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield FieldError.not_supported(path, operator, ("Equal", "Exists"))


def spread_constraints(found: Sequence[Object], path: Path) -> Rules:
    for position, constraint in enumerate(found):
        at = path.index(position)
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        yield from positive(constraint.get("maxSkew", 0), at.child("maxSkew"))
        if not key:
            yield FieldError.required(at.child("topologyKey"), "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            supported = ("DoNotSchedule", "ScheduleAnyway")
            yield FieldError.not_supported(at.child("whenUnsatisfiable"), action, supported)
        others = [(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in found[position + 1 :]]
        if (key, action) in others:
            yield FieldError.duplicate(at.child("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
        yield from _min_domains(constraint.get("minDomains"), action, at.child("minDomains"))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(field) is not None:
                yield from one_of(constraint[field], at.child(field), ("Honor", "Ignore"))
        yield from _label_keys(constraint, at)
        yield from label_selector(constraint.get("labelSelector"), at.child("labelSelector"))


def _min_domains(count: int | None, action: str, path: Path) -> Rules:
    if count is None:
        return
    yield from positive(count, path)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield FieldError.invalid(path, count, detail)
