"""Roles and bindings."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_subdomain,
    label_selector,
    path_segment,
    struct,
)
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "cluster_role",
    "cluster_role_binding",
    "cluster_role_binding_update",
    "role",
    "role_binding",
    "role_binding_update",
)

_GROUP = "rbac.authorization.k8s.io"
_REF = Path("roleRef")


def role(obj: Object) -> Rules:
    return _rules(obj, namespaced=True)


def cluster_role(obj: Object) -> Rules:
    yield from _rules(obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return
    selectors, path = aggregation.get("clusterRoleSelectors") or (), Path("aggregationRule", "clusterRoleSelectors")
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield FieldError.required(path, detail)
    for position, selector in enumerate(selectors):
        wrong = list(label_selector(selector, path.index(position)))
        yield from wrong
        if wrong:
            yield FieldError.invalid(path.index(position), None, "invalid label selector.")


def _rules(obj: Object, *, namespaced: bool) -> Rules:
    for position, rule in enumerate(obj.get("rules") or ()):
        yield from _rule(rule, Path("rules").index(position), namespaced=namespaced)


def _rule(rule: Object, path: Path, *, namespaced: bool) -> Rules:
    if not rule.get("verbs"):
        yield FieldError.required(path.child("verbs"), "verbs must contain at least one value")
    urls, at = rule.get("nonResourceURLs"), path.child("nonResourceURLs")
    if urls:
        if namespaced:
            yield FieldError.invalid(at, urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield FieldError.invalid(at, urls, detail)
        return
    if not rule.get("apiGroups"):
        yield FieldError.required(path.child("apiGroups"), "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield FieldError.required(path.child("resources"), "resource rules must supply at least one resource")


def role_binding(obj: Object) -> Rules:
    return _binding(obj, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(obj: Object) -> Rules:
    return _binding(obj, ("ClusterRole",), namespaced=False)


def _binding(obj: Object, kinds: Sequence[str], *, namespaced: bool) -> Rules:
    reference = obj["roleRef"]
    group, kind, name = (reference.get(field, "") for field in ("apiGroup", "kind", "name"))
    if group != _GROUP:
        yield FieldError.not_supported(_REF.child("apiGroup"), group, (_GROUP,))
    if kind not in kinds:
        yield FieldError.not_supported(_REF.child("kind"), kind, kinds)
    if name:
        yield from path_segment(name, _REF.child("name"))
    else:
        yield FieldError.required(_REF.child("name"))
    for position, subject in enumerate(obj.get("subjects") or ()):
        yield from _subject(subject, Path("subjects").index(position), namespaced=namespaced)


def _subject(subject: Object, path: Path, *, namespaced: bool) -> Rules:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    if not name:
        yield FieldError.required(path.child("name"))
    if kind == "ServiceAccount":
        if name:
            yield from dns_subdomain(name, path.child("name"))
        if group:
            yield FieldError.not_supported(path.child("apiGroup"), group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield FieldError.required(path.child("namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            yield FieldError.not_supported(path.child("apiGroup"), group, (_GROUP,))
    else:
        yield FieldError.not_supported(path.child("kind"), kind, ("ServiceAccount", "User", "Group"))


def role_binding_update(obj: Object, old: Object) -> Rules:
    yield from role_binding(obj)
    yield from _reference_change(obj, old)


def cluster_role_binding_update(obj: Object, old: Object) -> Rules:
    yield from cluster_role_binding(obj)
    yield from _reference_change(obj, old)


def _reference_change(obj: Object, old: Object) -> Rules:
    """A binding to another role is another binding: who may write it was decided by what it grants."""
    reference = obj["roleRef"]
    if reference != old["roleRef"]:
        shown = struct(APIGroup=reference["apiGroup"], Kind=reference["kind"], Name=reference["name"])
        yield FieldError.invalid(_REF, shown, "cannot change roleRef")
