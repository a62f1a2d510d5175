"""Roles: what reconcilers declare and imply, merged as controller-gen merges, and not a verb more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import field

from kapstan.client import metadata_of
from kapstan.generate.rbac import implied_rules, roles_of
from kapstan.generate.roles import leader_election_role, metrics_auth_role, metrics_reader_role, user_role
from kapstan.generate.rules import covers, normalize, policy_rules
from kapstan.k8s.apps_v1 import Deployment
from kapstan.k8s.core_v1 import ConfigMap, Node, Secret
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.model import Model, Resource, resource_info
from kapstan.machinery.scheme import resource
from kapstan.runtime.declaration import Rule, Watched, controller, rbac, watches
from kapstan.runtime.handler import map_to
from kapstan.runtime.reconcile import Reconciler


class ProgramStatus(Model):
    phase: str = ""


@resource(group="test.kapstan.dev", version="v1")
class Program(Resource):
    status: ProgramStatus = field(default_factory=ProgramStatus)


@resource(group="test.kapstan.dev", version="v1", scope="Cluster")
class Machine(Resource):
    pass


def nobody(_: Any) -> Iterable[ObjectKey]:
    return ()


@controller(
    Program,
    owns=[Deployment, metadata_of(ConfigMap)],
    watches=[Watched(GroupVersionKind("example.com", "v1", "Policy"), map_to(nobody))],
    reads=[Node],
)
@rbac("apps", "deployments", verbs="create;patch;delete")
@rbac(urls="/metrics", verbs="get")
class Full(Reconciler[Program]):
    async def finalize(self, obj: Program) -> None: ...

    @watches(Secret)
    def programs_of(self, secret: Secret) -> Iterable[ObjectKey]:
        return ()


class Plain(Reconciler[Machine]):
    """Built by steps: only its subject is known."""


def rules(document: dict[str, Any]) -> dict[str, list[str]]:
    """`group/resource` or a URL, and the verbs."""
    return {
        name: rule["verbs"]
        for rule in document["rules"]
        for name in [
            *rule.get("nonResourceURLs", ()),
            *(f"{group}/{one}" for group in rule.get("apiGroups", ()) for one in rule.get("resources", ())),
        ]
    }


def test_a_role_has_what_is_declared_and_what_the_runtime_does_and_nothing_else() -> None:
    (role,) = roles_of([Full])
    assert role["kind"] == "ClusterRole" and role["metadata"] == {"name": "manager-role"}
    assert rules(role) == {
        "/metrics": ["get"],
        "/configmaps": ["list", "watch"],
        "/nodes": ["list", "watch"],
        "/secrets": ["list", "watch"],
        "apps/deployments": ["create", "delete", "list", "patch", "watch"],
        "events.k8s.io/events": ["create", "patch"],
        "example.com/policies": ["list", "watch"],
        "test.kapstan.dev/programs": ["list", "patch", "watch"],
        "test.kapstan.dev/programs/finalizers": ["update"],
        "test.kapstan.dev/programs/status": ["patch"],
    }


def test_a_reconciler_that_is_built_by_steps_implies_its_subject_only() -> None:
    (role,) = roles_of([Plain])
    assert rules(role) == {
        "events.k8s.io/events": ["create", "patch"],
        "test.kapstan.dev/machines": ["list", "watch"],
    }


def test_a_namespaced_manager_has_a_role_and_keeps_what_is_in_no_namespace_in_a_cluster_role() -> None:
    cluster, role = roles_of([Full, Plain], namespaces=["system"])
    assert (cluster["kind"], role["kind"], role["metadata"]["namespace"]) == ("ClusterRole", "Role", "system")
    assert set(rules(cluster)) == {"/metrics", "/nodes", "test.kapstan.dev/machines"}
    assert "apps/deployments" in rules(role) and "test.kapstan.dev/programs/status" in rules(role)


def test_a_manager_of_several_namespaces_has_the_same_role_in_each() -> None:
    cluster, *roles = roles_of([Full], namespaces=["blue", "green"])
    assert cluster["kind"] == "ClusterRole"
    assert [(role["kind"], role["metadata"]["namespace"]) for role in roles] == [("Role", "blue"), ("Role", "green")]
    assert roles[0]["rules"] == roles[1]["rules"] == roles_of([Full], namespaces=["one"])[1]["rules"]


def test_a_project_without_reconcilers_has_a_role_without_rules() -> None:
    (role,) = roles_of([], name="empty")
    assert (role["metadata"]["name"], role["rules"]) == ("empty", [])


def test_rules_can_be_for_a_namespace_and_for_a_role_of_another_name() -> None:
    @rbac("", "secrets", verbs="get", namespace="vault")
    @rbac("", "pods", verbs="get", role_name="pod-reader")
    class Reader(Reconciler[Any]): ...

    found = {(role["kind"], role["metadata"]["name"]): role for role in roles_of([Reader])}
    assert set(found) == {("ClusterRole", "manager-role"), ("ClusterRole", "pod-reader"), ("Role", "manager-role")}
    assert found["Role", "manager-role"]["metadata"]["namespace"] == "vault"
    assert rules(found["ClusterRole", "pod-reader"]) == {"/pods": ["get"]}


def test_a_class_that_is_no_reconciler_may_declare_rules_and_implies_none() -> None:
    class Informed:
        __rbac__ = (Rule(groups=("",), resources=("pods",), verbs=("list",)),)

    assert implied_rules(Informed) == []
    assert rules(roles_of([Informed])[0]) == {"/pods": ["list"]}


@pytest.mark.parametrize(
    ("given", "merged"),
    [
        pytest.param(
            [(("apps",), ("deployments",), ("get",)), (("apps",), ("deployments",), ("list",))],
            [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]}],
            id="verbs of one resource",
        ),
        pytest.param(
            [(("",), ("pods", "nodes"), ("get",)), (("core",), ("secrets",), ("get",))],
            [{"apiGroups": [""], "resources": ["nodes", "pods", "secrets"], "verbs": ["get"]}],
            id="resources with the same verbs",
        ),
        pytest.param(
            [(("apps",), ("x",), ("get",)), (("batch",), ("x",), ("get",))],
            [{"apiGroups": ["apps", "batch"], "resources": ["x"], "verbs": ["get"]}],
            id="groups with the same resources",
        ),
        pytest.param(
            [(("b",), ("x",), ("get",)), (("a",), ("y",), ("*", "list"))],
            [
                {"apiGroups": ["a"], "resources": ["y"], "verbs": ["*"]},
                {"apiGroups": ["b"], "resources": ["x"], "verbs": ["get"]},
            ],
            id="sorted, and a star is all",
        ),
    ],
)
def test_rules_merge_as_controller_gen_merges_them(given: list[Any], merged: list[Any]) -> None:
    parts = [Rule(groups=groups, resources=resources, verbs=verbs) for groups, resources, verbs in given]
    assert policy_rules(parts) == merged


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)
some_rules = st.lists(st.builds(Rule, groups=names, resources=names, verbs=names), max_size=6)


@given(some_rules)
def test_merging_neither_adds_nor_loses_a_permission(rules: list[Rule]) -> None:
    merged = normalize(rules)
    for group in "abc":
        for one in "abc":
            for verb in "abc":
                wanted = covers(rules, verb=verb, group=group, resource=one)
                assert covers(merged, verb=verb, group=group, resource=one) == wanted
    assert normalize(reversed(rules)) == merged


@pytest.mark.parametrize(
    ("rule", "request_", "allowed"),
    [
        (Rule(groups=("",), resources=("pods",), verbs=("get",)), {"verb": "get", "resource": "pods/log"}, False),
        (Rule(groups=("",), resources=("*/log",), verbs=("get",)), {"verb": "get", "resource": "pods/log"}, True),
        (Rule(groups=("*",), resources=("*",), verbs=("*",)), {"verb": "x", "group": "y", "resource": "z"}, True),
        (
            Rule(groups=("",), resources=("secrets",), verbs=("get",), resource_names=("a",)),
            {"verb": "get", "resource": "secrets", "name": "b"},
            False,
        ),
        (Rule(urls=("/healthz/*",), verbs=("get",)), {"verb": "get", "url": "/healthz/etcd"}, True),
        (Rule(urls=("/metrics",), verbs=("get",)), {"verb": "get", "url": "/metricsx"}, False),
    ],
)
def test_rules_cover_requests_as_the_api_server_decides(rule: Rule, request_: dict[str, str], allowed: bool) -> None:
    assert covers([rule], **request_) is allowed


def test_users_of_a_kind_have_three_roles() -> None:
    info = resource_info(Program)
    assert rules(user_role(info, "admin")) == {
        "test.kapstan.dev/programs": ["*"],
        "test.kapstan.dev/programs/status": ["get"],
    }
    assert rules(user_role(info, "viewer"))["test.kapstan.dev/programs"] == ["get", "list", "watch"]
    assert "update" in rules(user_role(info, "editor"))["test.kapstan.dev/programs"]
    assert user_role(info, "editor")["metadata"]["name"] == "program-editor-role"


def test_the_manager_has_roles_for_its_election_and_its_metrics() -> None:
    assert rules(leader_election_role())["coordination.k8s.io/leases"] == ["create", "get", "patch", "watch"]
    assert leader_election_role()["kind"] == "Role"
    assert rules(metrics_auth_role()) == {
        "authentication.k8s.io/tokenreviews": ["create"],
        "authorization.k8s.io/subjectaccessreviews": ["create"],
    }
    assert rules(metrics_reader_role()) == {"/metrics": ["get"]}
