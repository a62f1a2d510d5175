"""The roles and bindings of a new cluster."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kapstan.apiserver.authz.aggregation import aggregated_rules
from kapstan.apiserver.authz.bootstrap import AUTO_UPDATE, documents, reconciled

NOW = "2026-01-02T03:04:05Z"


def bootstrap(kind: str, name: str) -> dict[str, Any]:
    found = [one for one in documents(NOW) if one["kind"] == kind and one["metadata"]["name"] == name]
    assert len(found) == 1
    return found[0]


def cluster_role(name: str, labels: dict[str, str] | None = None, **content: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, **content}


def test_every_object_is_complete_and_its_own() -> None:
    found = documents(NOW)
    assert len({one["metadata"]["uid"] for one in found}) == len(found) > 100
    assert documents(NOW) == found
    found[0]["metadata"]["labels"]["changed"] = "yes"
    assert documents(NOW) != found


def test_admin_holds_what_edit_and_view_hold() -> None:
    """No controller has to run before the aggregated roles are of use."""
    admin, edit, view = (bootstrap("ClusterRole", name)["rules"] for name in ("admin", "edit", "view"))
    assert all(rule in edit for rule in view)
    assert all(rule in admin for rule in edit)
    assert view


def test_aggregation_takes_selected_roles_by_name_and_each_rule_once() -> None:
    get, watch = {"verbs": ["get"], "resources": ["a"]}, {"verbs": ["watch"], "resources": ["a"]}
    wide = cluster_role("wide", {"x": "1"}, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"x": "1"}}]})
    roles = [
        cluster_role("z", {"x": "1"}, rules=[get]),
        cluster_role("b", {"x": "1"}, rules=[watch, {**get, "resourceNames": []}]),
        cluster_role("c", {"x": "2"}, rules=[{"verbs": ["delete"]}]),
        cluster_role("d", None, rules=[{"verbs": ["delete"]}]),
        wide,
    ]
    assert aggregated_rules(wide, roles) == [watch, {**get, "resourceNames": []}]


def test_what_is_as_expected_stays() -> None:
    for document in documents(NOW):
        assert reconciled(document, document) is None


def test_missing_rules_come_back_and_additions_stay() -> None:
    expected = bootstrap("ClusterRole", "system:basic-user")
    stored = deepcopy(expected)
    own = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    stored["rules"] = [own]
    stored["metadata"]["labels"] = {"mine": "yes"}
    found = reconciled(stored, expected)
    assert found is not None
    assert found["rules"][0] == own
    assert len(found["rules"]) > 1
    assert found["metadata"]["labels"] == {"mine": "yes", "kubernetes.io/bootstrapping": "rbac-defaults"}
    assert reconciled(found, expected) is None


def test_who_opted_out_is_left_alone() -> None:
    expected = bootstrap("ClusterRole", "system:basic-user")
    stored = deepcopy(expected) | {"rules": []}
    stored["metadata"]["annotations"][AUTO_UPDATE] = "false"
    assert reconciled(stored, expected) is None


@pytest.mark.parametrize("stored", [[], None])
def test_missing_subjects_come_back(stored: Any) -> None:
    expected = bootstrap("ClusterRoleBinding", "system:discovery")
    found = reconciled(expected | {"subjects": stored}, expected)
    assert found is not None
    assert found["subjects"] == expected["subjects"]


def test_a_binding_to_another_role_is_replaced() -> None:
    expected = bootstrap("ClusterRoleBinding", "system:discovery")
    stored = expected | {"roleRef": {**expected["roleRef"], "name": "cluster-admin"}}
    assert reconciled(stored, expected) == expected


def test_lost_aggregation_comes_back() -> None:
    expected = bootstrap("ClusterRole", "edit")
    stored = {key: value for key, value in expected.items() if key != "aggregationRule"}
    found = reconciled(stored, expected)
    assert found is not None
    assert found["aggregationRule"] == expected["aggregationRule"]
