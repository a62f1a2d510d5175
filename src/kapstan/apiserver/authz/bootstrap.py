"""Bootstrap policy: the roles and bindings that every cluster has from its first moment, those of kube-apiserver.

`documents` makes them complete, with the aggregated roles already filled in, so that a new logical cluster needs no
controller run to be usable. `reconciled` brings what an earlier release stored up to date, as kube-apiserver does on
starting: rights are added, never taken away, and who annotated `autoupdate: "false"` is left alone.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib import resources
from typing import Any
from uuid import UUID, uuid5

from kapstan.apiserver.authz import aggregation
from kapstan.apiserver.authz.rules import Rules, rules_of, uncovered
from kapstan.machinery import codec

__all__ = ("AUTO_UPDATE", "cluster_role_rules", "documents", "reconciled")

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"

_API_VERSION = "rbac.authorization.k8s.io/v1"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS = {AUTO_UPDATE: "true"}
_ATOMIC_FIELDS = ("rules", "subjects", "roleRef")
_UIDS = UUID("5c0b87d1-7a0f-4a5e-8f5f-0d5c0a3f2d61")


def documents(created: str) -> list[dict[str, Any]]:
    """All roles and bindings, as objects that were created at that time; only resourceVersion is missing.

    Uids depend on nothing but the object, so that every logical cluster of a process can share them.
    """
    found = [_document(fact, created) for fact in _facts()]
    roles = [document for document in found if document["kind"] == "ClusterRole"]
    aggregated = [role for role in roles if aggregation.is_aggregated(role)]
    while _aggregate(aggregated, roles):  # view is part of edit, edit of admin
        pass
    for role in aggregated:
        applied = _managed(aggregation.FIELD_MANAGER, "Apply", created, {"f:rules": {}})
        role["metadata"]["managedFields"].insert(0, applied)
    return found


def _aggregate(aggregated: list[dict[str, Any]], roles: list[dict[str, Any]]) -> bool:
    """Fill in the aggregated roles; whether anything changed."""
    changed = False
    for role in aggregated:
        rules = aggregation.aggregated_rules(role, roles)
        changed |= rules != role["rules"]
        role["rules"] = rules
    return changed


@cache
def cluster_role_rules(name: str) -> Rules:
    """The rules that a ClusterRole has from the start, before any aggregation."""
    return next(rules_of(fact) for fact in _facts() if fact["kind"] == "ClusterRole" and fact["name"] == name)


def reconciled(existing: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a stored bootstrap object should become; None if it may stay. A binding to another role is replaced."""
    if (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return None
    wanted: dict[str, Any] = deepcopy(dict(existing))
    for key in ("annotations", "labels"):
        wanted["metadata"][key] = {**expected["metadata"][key], **(existing["metadata"].get(key) or {})}
    if "roleRef" in expected:
        if existing.get("roleRef") != expected["roleRef"]:
            return deepcopy(dict(expected))
        _add_subjects(wanted, expected)
    else:
        _add_rules(wanted, expected)
    return wanted if wanted != existing else None


def _add_subjects(wanted: dict[str, Any], expected: Mapping[str, Any]) -> None:
    subjects = wanted.get("subjects") or []
    missing = [subject for subject in expected.get("subjects") or () if subject not in subjects]
    if missing:
        wanted["subjects"] = subjects + missing


def _add_rules(wanted: dict[str, Any], expected: Mapping[str, Any]) -> None:
    missing = uncovered(rules_of(wanted), rules_of(expected))
    if missing:
        wanted["rules"] = (wanted.get("rules") or []) + codec.to_builtins(missing)
    if not aggregation.is_aggregated(expected):
        wanted.pop("aggregationRule", None)
        return
    selectors = (wanted.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    missing_selectors = [one for one in expected["aggregationRule"]["clusterRoleSelectors"] if one not in selectors]
    if missing_selectors:
        wanted["aggregationRule"] = {"clusterRoleSelectors": selectors + missing_selectors}


@cache
def _facts() -> list[dict[str, Any]]:
    data = resources.files("kapstan.apiserver.authz").joinpath("data/bootstrap.json.gz").read_bytes()
    facts: list[dict[str, Any]] = codec.decode_any(gzip.decompress(data))["objects"]
    return facts


def _document(fact: Mapping[str, Any], created: str) -> dict[str, Any]:
    content = deepcopy({key: fact[key] for key in (*_ATOMIC_FIELDS, "aggregationRule") if key in fact})
    labels = {**_LABELS, **fact.get("labels", {})}
    namespace = {"namespace": fact["namespace"]} if "namespace" in fact else {}
    metadata = {
        "name": fact["name"],
        **namespace,
        "uid": str(uuid5(_UIDS, f"{fact['kind']}/{fact.get('namespace', '')}/{fact['name']}")),
        "creationTimestamp": created,
        "labels": labels,
        "annotations": dict(_ANNOTATIONS),
        "managedFields": [_managed("kube-apiserver", "Update", created, _owned(content, labels))],
    }
    return {"apiVersion": _API_VERSION, "kind": fact["kind"], "metadata": metadata, **content}


def _owned(content: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """fieldsV1 of whoever created such an object."""
    owned: dict[str, Any] = {f"f:{key}": {} for key in _ATOMIC_FIELDS if content.get(key)}
    if "aggregationRule" in content:
        owned["f:aggregationRule"] = {".": {}, "f:clusterRoleSelectors": {}}
    owned["f:metadata"] = {
        "f:annotations": {".": {}, **{f"f:{key}": {} for key in _ANNOTATIONS}},
        "f:labels": {".": {}, **{f"f:{key}": {} for key in labels}},
    }
    return dict(sorted(owned.items()))


def _managed(manager: str, operation: str, time: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": _API_VERSION,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
