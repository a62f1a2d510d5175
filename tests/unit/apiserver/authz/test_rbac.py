"""Decisions by roles and bindings, current with every write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kapstan.apiserver.authz.interface import Decision
from kapstan.apiserver.authz.rbac import RBAC, RoleRef
from kapstan.apiserver.authz.rules import PolicyRule
from kapstan.apiserver.request import Attributes, UserInfo

if TYPE_CHECKING:
    from tests.unit.apiserver.conftest import Objects

V1 = "rbac.authorization.k8s.io/v1"
READ_PODS = [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]


def subject(kind: str, name: str, namespace: str = "") -> dict[str, str]:
    found = {"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    return found | ({"namespace": namespace} if namespace else {})


def role_ref(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def reading_pods(user: UserInfo, namespace: str = "", **more: Any) -> Attributes:
    return Attributes(**{"user": user, "verb": "list", "resource": "pods", "namespace": namespace, **more})


ALICE = UserInfo("alice", groups=("devs", "system:authenticated"))


async def test_without_bindings_nothing_is_allowed(objects: Objects) -> None:
    assert RBAC(objects.storage).authorize(reading_pods(ALICE)) == Decision(False)


async def test_a_cluster_role_binding_holds_everywhere(objects: Objects) -> None:
    await objects.put(V1, "ClusterRole", "reader", rules=READ_PODS)
    await objects.put(
        V1, "ClusterRoleBinding", "b", roleRef=role_ref("ClusterRole", "reader"), subjects=[subject("Group", "devs")]
    )
    rbac = RBAC(objects.storage)
    reason = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"'
    assert rbac.authorize(reading_pods(ALICE)) == Decision(True, reason)
    assert rbac.authorize(reading_pods(ALICE, "default")) == Decision(True, reason)
    assert not rbac.authorize(reading_pods(UserInfo("bob"), "default")).allowed
    assert not rbac.authorize(reading_pods(UserInfo("devs"), "default")).allowed


async def test_a_role_binding_holds_in_its_namespace(objects: Objects) -> None:
    await objects.put(V1, "ClusterRole", "reader", rules=READ_PODS)
    await objects.put(
        V1,
        "RoleBinding",
        "b",
        "default",
        roleRef=role_ref("ClusterRole", "reader"),
        subjects=[subject("User", "alice")],
    )
    rbac = RBAC(objects.storage)
    decision = rbac.authorize(reading_pods(ALICE, "default"))
    assert decision.reason == 'RBAC: allowed by RoleBinding "b/default" of ClusterRole "reader" to User "alice"'
    assert not rbac.authorize(reading_pods(ALICE, "other")).allowed
    assert not rbac.authorize(reading_pods(ALICE)).allowed


@pytest.mark.parametrize(
    ("binding_namespace", "subject_namespace", "allowed"),
    [
        ("default", "", True),
        ("default", "default", True),
        ("default", "other", False),
        ("", "default", True),
        ("", "", False),
    ],
)
async def test_a_service_account_is_of_the_bindings_namespace_unless_it_says_otherwise(
    objects: Objects, binding_namespace: str, subject_namespace: str, allowed: bool
) -> None:
    await objects.put(V1, "ClusterRole", "reader", rules=READ_PODS)
    await objects.put(
        V1,
        "RoleBinding" if binding_namespace else "ClusterRoleBinding",
        "b",
        binding_namespace,
        roleRef=role_ref("ClusterRole", "reader"),
        subjects=[subject("ServiceAccount", "robot", subject_namespace)],
    )
    robot = UserInfo("system:serviceaccount:default:robot")
    assert RBAC(objects.storage).authorize(reading_pods(robot, "default")).allowed is allowed


async def test_decisions_follow_every_change_at_once(objects: Objects) -> None:
    rbac = RBAC(objects.storage)
    ask = reading_pods(ALICE, "default")
    assert not rbac.authorize(ask).allowed

    await objects.put(
        V1, "RoleBinding", "b", "default", roleRef=role_ref("Role", "reader"), subjects=[subject("User", "alice")]
    )
    missing = Decision(False, 'RBAC: role.rbac.authorization.k8s.io "reader" not found')
    assert rbac.authorize(ask) == missing

    await objects.put(V1, "Role", "reader", "default", rules=READ_PODS)
    assert rbac.authorize(ask).allowed

    await objects.put(V1, "Role", "reader", "default", rules=None)
    assert rbac.authorize(ask) == Decision(False)

    await objects.put(V1, "Role", "reader", "default", rules=READ_PODS)
    await objects.put(
        V1, "RoleBinding", "b", "default", roleRef=role_ref("Role", "reader"), subjects=[subject("User", "bob")]
    )
    assert not rbac.authorize(ask).allowed
    assert rbac.authorize(reading_pods(UserInfo("bob"), "default")).allowed

    await objects.delete(V1, "RoleBinding", "b", "default")
    assert not rbac.authorize(reading_pods(UserInfo("bob"), "default")).allowed


async def test_several_missing_roles_are_named_once_each(objects: Objects) -> None:
    for name, role in (("a", "x"), ("b", "y"), ("c", "x")):
        await objects.put(
            V1, "ClusterRoleBinding", name, roleRef=role_ref("ClusterRole", role), subjects=[subject("User", "alice")]
        )
    reason = (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, '
        'clusterrole.rbac.authorization.k8s.io "y" not found]'
    )
    assert RBAC(objects.storage).authorize(reading_pods(ALICE)) == Decision(False, reason)


async def test_paths_are_for_cluster_roles(objects: Objects) -> None:
    await objects.put(
        V1, "ClusterRole", "probe", rules=[{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez/*"]}]
    )
    await objects.put(
        V1, "ClusterRoleBinding", "b", roleRef=role_ref("ClusterRole", "probe"), subjects=[subject("User", "alice")]
    )
    rbac = RBAC(objects.storage)
    assert rbac.authorize(Attributes(user=ALICE, verb="get", path="/livez/ping")).allowed
    assert not rbac.authorize(Attributes(user=ALICE, verb="get", path="/metrics")).allowed


async def test_rules_are_told_with_what_could_not_be_found(objects: Objects) -> None:
    await objects.put(V1, "ClusterRole", "reader", rules=READ_PODS)
    for name in ("reader", "nothing"):
        await objects.put(
            V1, "ClusterRoleBinding", name, roleRef=role_ref("ClusterRole", name), subjects=[subject("User", "alice")]
        )
    rules, error = RBAC(objects.storage).rules_for(ALICE, "default")
    assert rules == [PolicyRule(verbs=("get", "list"), api_groups=("",), resources=("pods",))]
    assert error == 'clusterrole.rbac.authorization.k8s.io "nothing" not found'


async def test_a_role_is_looked_up_where_the_binding_is(objects: Objects) -> None:
    await objects.put(V1, "Role", "reader", "default", rules=READ_PODS)
    rbac = RBAC(objects.storage)
    assert rbac.role_rules(RoleRef(kind="Role", name="reader"), "default")
    assert rbac.role_rules(RoleRef(kind="Role", name="reader"), "other") is None
    assert rbac.role_rules(RoleRef(kind="ClusterRole", name="reader"), "default") is None
    assert rbac.role_rules(RoleRef(kind="Elephant", name="reader"), "default") is None
