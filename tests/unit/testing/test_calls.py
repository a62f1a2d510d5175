"""What a request asks, as an authorizer sees it; and rules held against calls."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import field

from kapstan.k8s.apps_v1 import Deployment
from kapstan.machinery.model import Model, Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.declaration import controller, rbac
from kapstan.runtime.reconcile import Reconciler
from kapstan.testing.calls import Call, call_of
from kapstan.testing.rbac import assert_least_privilege, missing_rules, unused_rules


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [
        ("GET", "/api/v1/namespaces/a/pods/b", Call("get", "", "pods", "a", "b")),
        ("GET", "/api/v1/namespaces/a/pods?limit=1", Call("list", "", "pods", "a")),
        ("GET", "/api/v1/pods?watch=true&labelSelector=a", Call("watch", "", "pods")),
        ("GET", "/api/v1/namespaces/a/pods/b/log", Call("get", "", "pods/log", "a", "b")),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", Call("create", "apps", "deployments", "a")),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/b", Call("update", "apps", "deployments", "a", "b")),
        ("PATCH", "/apis/x.dev/v1/things/b/status?fieldManager=m", Call("patch", "x.dev", "things/status", "", "b")),
        ("DELETE", "/apis/x.dev/v1/namespaces/a/things/b", Call("delete", "x.dev", "things", "a", "b")),
        ("DELETE", "/apis/x.dev/v1/namespaces/a/things", Call("deletecollection", "x.dev", "things", "a")),
        ("GET", "/api/v1/namespaces", Call("list", "", "namespaces")),
        ("GET", "/api/v1/namespaces/a", Call("get", "", "namespaces", "", "a")),
        ("PUT", "/api/v1/namespaces/a/finalize", Call("update", "", "namespaces/finalize", "", "a")),
        (
            "GET",
            "/apis/c.io/v1/namespaces/a/leases?watch=1&fieldSelector=metadata.name%3Db",
            Call("watch", "c.io", "leases", "a", "b"),
        ),
        ("GET", "/apis", None),
        ("GET", "/apis/apps/v1", None),
        ("GET", "/api/v1", None),
        ("GET", "/openapi/v3/apis/apps/v1", None),
        ("GET", "/version", None),
    ],
)
def test_a_request_is_a_call(method: str, path: str, call: Call | None) -> None:
    assert call_of(method, path) == call


class ToolStatus(Model):
    phase: str = ""


@resource(group="test.kapstan.dev", version="v1")
class Tool(Resource):
    status: ToolStatus = field(default_factory=ToolStatus)


@controller(Tool, owns=[Deployment])
@rbac("apps", "deployments", verbs="create;patch;delete")
@rbac("", "secrets", verbs="get", namespace="vault")
class ToolReconciler(Reconciler[Tool]): ...


IMPLIED = [
    Call("list", "test.kapstan.dev", "tools"),
    Call("watch", "apps", "deployments"),
    Call("patch", "test.kapstan.dev", "tools/status", "a", "b"),
    Call("create", "events.k8s.io", "events", "a"),
]
DECLARED = [
    Call("create", "apps", "deployments", "a"),
    Call("patch", "apps", "deployments", "a", "b"),
    Call("delete", "apps", "deployments", "a", "b"),
    Call("get", "", "secrets", "vault", "key"),
]


def test_calls_that_use_all_rules_and_need_no_others_pass() -> None:
    assert_least_privilege([*IMPLIED, *DECLARED], ToolReconciler)
    assert_least_privilege(DECLARED, ToolReconciler)  # what is implied need not be used


def test_a_call_that_no_rule_allows_is_missing_once_however_often_it_was_made() -> None:
    extra = [Call("get", "", "pods", "a", "x"), Call("get", "", "pods", "a", "y"), Call("get", "", "secrets", "other")]
    assert missing_rules([*DECLARED, *extra], ToolReconciler) == [
        Call("get", "", "pods", "a"),
        Call("get", "", "secrets", "other"),
    ]


def test_a_declared_permission_without_a_call_is_unused() -> None:
    (unused,) = unused_rules(DECLARED[:2] + DECLARED[3:], ToolReconciler)
    assert (unused.resources, unused.verbs) == (("deployments",), ("delete",))


def test_what_a_call_need_not_show_is_not_unused() -> None:
    """Who watches may have to list, and an update of finalizers is only ever asked for by an admission plugin."""

    @rbac("", "pods", verbs="list;watch")
    @rbac("test.kapstan.dev", "tools/finalizers", verbs="update")
    class Watching(Reconciler[Tool]): ...

    assert unused_rules([Call("watch", "", "pods")], Watching) == []


def test_the_complaint_names_the_reconciler_and_every_rule() -> None:
    calls: list[Any] = [*DECLARED[:2], Call("list", "", "pods")]
    with pytest.raises(AssertionError) as complaint:
        assert_least_privilege(calls, ToolReconciler)
    assert str(complaint.value).splitlines() == [
        "ToolReconciler:",
        "no rule allows: list pods",
        "no call needs: delete deployments.apps",
        "no call needs: get secrets in namespace vault",
    ]
