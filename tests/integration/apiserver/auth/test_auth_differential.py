"""Authentication, authorization and reviews: the same questions to the embedded and to the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.apiserver.auth.conftest import Both

pytestmark = pytest.mark.real

Object = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
JSON_PATCH = "application/json-patch+json"


def role(name: str, *rules: Object, **content: Any) -> Object:
    return {"metadata": {"name": name}, "rules": list(rules), **content}


def binding(name: str, role_kind: str, role_name: str, *users: str) -> Object:
    group = "rbac.authorization.k8s.io"
    subjects = [{"apiGroup": group, "kind": "User", "name": user} for user in users]
    ref = {"apiGroup": group, "kind": role_kind, "name": role_name}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": subjects}


# --- Who is it ---


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/healthz"),
        ("GET", "/version"),
        ("GET", "/api"),
        ("GET", "/apis"),
        ("GET", "/openapi/v3"),
        ("GET", "/metrics"),
        ("GET", "/nope"),
        ("GET", "/.well-known/openid-configuration"),
        ("GET", "/api/v1/namespaces/default/pods"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ],
)
@pytest.mark.parametrize("token", ["", "Bearer nonsense", "Bearer  spaced", "Basic YTpi"])
async def test_who_presents_nothing_and_who_presents_nonsense(both: Both, method: str, path: str, token: str) -> None:
    headers = [("Authorization", token)] if token else []
    ours = await both.embedded.ask(method, path, user=None, headers=headers)
    theirs = await both.real.ask(method, path, user=None, headers=headers)
    assert ours.status == theirs.status
    assert ours.warnings == theirs.warnings
    if theirs.status >= 400:
        assert ours.body == theirs.body


async def test_a_certificate_is_its_user(both: Both) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await both.same("POST", path, {}, user="alice", groups=["devs", "ops"])
    assert answer.body["status"]["userInfo"]["groups"] == ["devs", "ops", "system:authenticated"]


async def test_service_account_tokens(both: Both) -> None:
    """Issued, reviewed, used, refused; issuer and key differ, nothing else does."""
    tokens = {}
    for server in both:
        await server.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
        path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        issued = await server.create(path, {"spec": {}})
        assert issued["spec"]["expirationSeconds"] == 3600
        tokens[server.name] = issued["status"]["token"]
        assert sorted(issued["metadata"]) == sorted(
            {*issued["metadata"], "name", "namespace", "uid", "creationTimestamp"}
        )
    answers = []
    for server in both:
        headers = [("Authorization", f"Bearer {tokens[server.name]}")]
        reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = await server.ask("POST", reviews, {}, user=None, headers=headers)
        answers.append(
            (answer.status, answer.body["status"]["userInfo"]["username"], answer.body["status"]["userInfo"]["groups"])
        )
        assert list(answer.body["status"]["userInfo"]["extra"]) == ["authentication.kubernetes.io/credential-id"]
    assert answers[0] == answers[1]
    assert answers[0][1] == "system:serviceaccount:default:robot"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("nobody", {"spec": {}}),
        ("default", {"spec": {"expirationSeconds": 599}}),
        ("default", {"spec": {"expirationSeconds": 4294967297}}),
        ("default", {"metadata": {"name": "other"}, "spec": {}}),
        ("default", {"metadata": {"namespace": "kube-system"}, "spec": {}}),
        ("default", {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nothing"}}}),
        ("default", {"spec": {"boundObjectRef": {"kind": "Deployment", "apiVersion": "apps/v1", "name": "x"}}}),
        ("default", {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "nothing"}}}),
    ],
)
async def test_token_requests_are_refused_alike(both: Both, name: str, body: Object) -> None:
    for server in both:
        path = "/api/v1/namespaces/default/serviceaccounts"
        await server.ask("POST", path, {"metadata": {"name": "default"}})
    answer = await both.same("POST", f"/api/v1/namespaces/default/serviceaccounts/{name}/token", body)
    assert answer.status >= 400


@pytest.mark.parametrize("spec", [{}, {"token": "garbage"}, {"token": "abcdef.0123456789abcdef"}, {"token": "a b"}])
async def test_token_reviews(both: Both, spec: Object) -> None:
    await both.same("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": spec})


# --- Who may do what ---


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/namespaces/default/pods"),
        ("GET", "/apis/apps/v1/namespaces/default/deployments/x/scale"),
        ("GET", "/api/v1/nodes"),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dfoo"),
        ("GET", "/api/v1/namespaces/default/pods?watch=true"),
        ("DELETE", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps"),
        ("PUT", "/api/v1/namespaces/default/configmaps/x"),
        ("PATCH", "/api/v1/namespaces/default/configmaps/x"),
        ("GET", "/api/v1/namespaces/default"),
        ("GET", "/api/v1/namespaces/default/configmaps/a/b/c"),
        ("GET", "/apis/nope.io/v1/foos"),
        ("PUT", "/metrics"),
        ("GET", "/api/v1/watch/pods"),
    ],
)
async def test_refusals(both: Both, method: str, path: str) -> None:
    answer = await both.same(method, path, {} if method != "GET" else None, user="alice")
    assert answer.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-User", "bob")],
        [("Impersonate-User", "system:serviceaccount:default:robot")],
        [("Impersonate-User", "system:node:n1")],
        [("Impersonate-User", "bob"), ("Impersonate-Group", "g")],
        [("Impersonate-Group", "g")],
        [("Impersonate-Uid", "u"), ("Impersonate-Extra-Foo%2fBar", "x")],
    ],
)
async def test_refused_impersonation(both: Both, headers: list[tuple[str, str]]) -> None:
    await both.same("GET", "/api/v1/namespaces/default/pods", user="alice", headers=headers)
    await both.same("GET", "/healthz", user="alice", headers=headers)


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-User", "bob"), ("Impersonate-Group", "g"), ("Impersonate-Extra-Scopes", "view")],
        [("Impersonate-User", "system:serviceaccount:default:robot"), ("Impersonate-Uid", "u")],
        [("Impersonate-User", "system:anonymous")],
        [("Impersonate-User", "system:node:n1")],
    ],
)
async def test_the_administrator_can_be_anybody(both: Both, headers: list[tuple[str, str]]) -> None:
    """As a new administrator each time: a server remembers which mode last worked for somebody."""
    admin = f"admin-{len(headers)}-{headers[0][1].replace(':', '-')}"
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    await both.same("POST", path, {}, user=admin, groups=["system:masters"], headers=headers)


REVIEWS: list[tuple[str, Object]] = [
    ("selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}),
    ("selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/api"}}}),
    ("selfsubjectaccessreviews", {"spec": {}}),
    (
        "selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/x"}}},
    ),
    (
        "selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "fieldSelector": {"rawSelector": "!"}}}},
    ),
    (
        "selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "labelSelector": {}}}},
    ),
    ("subjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
    (
        "subjectaccessreviews",
        {"spec": {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}},
    ),
    (
        "subjectaccessreviews",
        {
            "spec": {
                "user": "system:kube-scheduler",
                "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"},
            }
        },
    ),
    (
        "subjectaccessreviews",
        {"spec": {"groups": ["system:masters"], "resourceAttributes": {"verb": "*", "group": "*", "resource": "*"}}},
    ),
    ("selfsubjectrulesreviews", {"spec": {}}),
]


@pytest.mark.parametrize(("resource", "body"), REVIEWS)
@pytest.mark.parametrize("user", ["", "alice"])
async def test_access_reviews(both: Both, resource: str, body: Object, user: str) -> None:
    await both.same("POST", f"/apis/authorization.k8s.io/v1/{resource}", body, user=user)


async def test_local_access_reviews(both: Both) -> None:
    path = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
    asked = {"verb": "get", "resource": "pods", "namespace": "default"}
    await both.same("POST", path, {"spec": {"user": "bob", "resourceAttributes": asked}})
    await both.same("POST", path, {"spec": {"user": "bob", "resourceAttributes": {**asked, "namespace": "other"}}})
    await both.same("POST", path, {"spec": {"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/"}}})


async def test_rules_reviews(both: Both) -> None:
    """The order of rules is not defined."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    found = []
    for server in both:
        answer = await server.ask("POST", path, {"spec": {"namespace": "default"}}, user="alice")
        status = answer.body["status"]
        for rules in (status["resourceRules"], status["nonResourceRules"]):
            rules.sort(key=lambda rule: str(sorted(rule.items())))
        found.append(status)
    assert found[0] == found[1]


async def test_bootstrap_roles_are_those_of_kubernetes(both: Both) -> None:
    """The real server leaves aggregated roles to kube-controller-manager."""
    for resource in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"):
        found: list[dict[tuple[str, str], Object]] = []
        for server in both:
            answer = await server.until("GET", f"{RBAC}/{resource}", 200)
            documents = (
                one
                for one in answer.body["items"]
                if "kubernetes.io/bootstrapping" in one["metadata"].get("labels", {})
            )
            found.append({(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in documents})
        ours, theirs = found
        assert ours.keys() == theirs.keys()
        for key, document in theirs.items():
            mine = ours[key]
            for entry in (*mine["metadata"].pop("managedFields"), *document["metadata"].pop("managedFields")):
                entry.pop("time")
            for metadata in (mine["metadata"], document["metadata"]):
                for field in ("uid", "resourceVersion", "creationTimestamp"):
                    del metadata[field]
            if "aggregationRule" in document:
                del mine["rules"], document["rules"]
            assert mine == document


async def test_roles_may_not_grant_more_than_their_writer_holds(both: Both) -> None:
    manage = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create", "update", "get"]}
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    for server in both:
        await server.create(f"{RBAC}/clusterroles", role("escalation", manage, pods))
        await server.create(f"{RBAC}/clusterrolebindings", binding("escalation", "ClusterRole", "escalation", "eve"))
        await server.until("GET", f"{RBAC}/clusterroles/escalation", 200, user="eve")
    secrets = {"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": ["get", "list"]}
    metrics = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    selectors = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    cases = [
        ("clusterroles", role("a", pods)),
        ("clusterroles", role("b", secrets, metrics)),
        ("clusterroles", role("c", pods, **selectors)),
        ("namespaces/default/roles", role("d", {**secrets, "resourceNames": ["x", "y"]})),
        ("clusterrolebindings", binding("e", "ClusterRole", "system:node-proxier", "bob")),
        ("clusterrolebindings", binding("f", "ClusterRole", "escalation", "bob")),
        ("clusterrolebindings", binding("g", "ClusterRole", "nothing", "bob")),
        ("namespaces/default/rolebindings", binding("h", "Role", "nothing", "bob")),
        ("namespaces/default/rolebindings", binding("i", "ClusterRole", "system:kube-scheduler", "bob")),
    ]
    statuses = [(await both.same("POST", f"{RBAC}/{path}", body, user="eve")).status for path, body in cases]
    assert statuses == [201, 403, 403, 403, 403, 201, 404, 404, 403]
    for path in (
        "clusterroles/escalation",
        "clusterroles/a",
        "clusterrolebindings/escalation",
        "clusterrolebindings/f",
    ):
        for server in both:
            await server.ask("DELETE", f"{RBAC}/{path}")
