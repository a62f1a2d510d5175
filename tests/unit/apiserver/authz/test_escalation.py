"""Nobody grants what he does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kapstan.apiserver.admission.interface import AdmissionAttributes, Operation
from kapstan.apiserver.authz.authorizer import ClusterAuthorizer
from kapstan.apiserver.authz.escalation import EscalationCheck
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.errors import Forbidden, NotFound

if TYPE_CHECKING:
    from tests.unit.apiserver.conftest import Objects

V1 = "rbac.authorization.k8s.io/v1"
ALICE = UserInfo("alice", groups=("devs", "system:authenticated"))
GET_PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
GET_SECRETS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["secrets"]}


class Writing:
    """Alice writes roles; she holds what the test gives her."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.check = EscalationCheck(ClusterAuthorizer(objects.storage))

    async def give_alice(self, *rules: dict[str, Any]) -> None:
        await self.objects.put(V1, "ClusterRole", "of-alice", rules=list(rules))
        subjects = [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "of-alice"}
        await self.objects.put(V1, "ClusterRoleBinding", "of-alice", subjects=subjects, roleRef=role)

    async def write(
        self, kind: str, written: dict[str, Any], old: dict[str, Any] | None = None, user: UserInfo = ALICE
    ) -> None:
        operation: Operation = "UPDATE" if old else "CREATE"
        namespace = "" if kind.startswith("Cluster") else "default"
        request = self.objects.request(user, operation.lower(), V1, kind, namespace, "x" if old else "")
        attributes = AdmissionAttributes(request=request, operation=operation, object=written, old=old)
        if self.check.handles(attributes):
            await self.check.admit(attributes)


@pytest.fixture
def writing(objects: Objects) -> Writing:
    return Writing(objects)


def role(*rules: dict[str, Any], **content: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "rules": list(rules), **content}


def binding(kind: str, name: str) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}}


async def test_a_role_may_grant_what_one_holds(writing: Writing) -> None:
    await writing.give_alice(GET_PODS, GET_SECRETS)
    await writing.write("Role", role(GET_PODS))
    await writing.write("ClusterRole", role(GET_SECRETS))


async def test_a_role_may_not_grant_more(writing: Writing) -> None:
    await writing.give_alice(GET_PODS)
    with pytest.raises(Forbidden) as caught:
        await writing.write("Role", role(GET_PODS, GET_SECRETS, {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}))
    assert str(caught.value) == (
        'roles.rbac.authorization.k8s.io "x" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )


async def test_who_may_escalate_may_grant_everything(writing: Writing) -> None:
    await writing.give_alice(
        {"verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}
    )
    await writing.write("ClusterRole", role(GET_SECRETS))
    with pytest.raises(Forbidden):
        await writing.write("Role", role(GET_SECRETS))


async def test_masters_are_not_asked(writing: Writing) -> None:
    await writing.write("ClusterRole", role(GET_SECRETS), user=UserInfo("root", groups=("system:masters",)))


async def test_collecting_garbage_is_no_grant(writing: Writing) -> None:
    old = role(GET_SECRETS)
    changed = role(GET_SECRETS)
    changed["metadata"]["finalizers"] = ["foregroundDeletion"]
    await writing.write("ClusterRole", changed, old)
    changed["metadata"]["labels"] = {"a": "b"}
    with pytest.raises(Forbidden):
        await writing.write("ClusterRole", changed, old)


@pytest.mark.parametrize("where", ["new", "old"])
async def test_aggregation_is_for_those_who_hold_everything(writing: Writing, where: str) -> None:
    """It can gather anything; taking it away can keep rights from being tightened."""
    wide = role(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    written, old = (wide, None) if where == "new" else (role(), wide)
    await writing.give_alice(GET_PODS)
    with pytest.raises(Forbidden, match="must have cluster-admin privileges to use the aggregationRule"):
        await writing.write("ClusterRole", written, old)
    await writing.give_alice(
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}
    )
    await writing.write("ClusterRole", written, old)


async def test_a_binding_grants_what_its_role_grants(writing: Writing, objects: Objects) -> None:
    await objects.put(V1, "ClusterRole", "secrets", rules=[GET_SECRETS])
    await writing.give_alice(GET_PODS)
    with pytest.raises(Forbidden) as caught:
        await writing.write("RoleBinding", binding("ClusterRole", "secrets"))
    assert str(caught.value).startswith(
        'rolebindings.rbac.authorization.k8s.io "x" is forbidden: user "alice" (groups='
    )
    await writing.give_alice(GET_SECRETS)
    await writing.write("RoleBinding", binding("ClusterRole", "secrets"))


async def test_who_may_bind_a_role_may_bind_it(writing: Writing, objects: Objects) -> None:
    await objects.put(V1, "ClusterRole", "secrets", rules=[GET_SECRETS])
    await writing.give_alice(
        {
            "verbs": ["bind"],
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterroles"],
            "resourceNames": ["secrets"],
        }
    )
    await writing.write("ClusterRoleBinding", binding("ClusterRole", "secrets"))
    await objects.put(V1, "ClusterRole", "others", rules=[GET_SECRETS])
    with pytest.raises(Forbidden):
        await writing.write("ClusterRoleBinding", binding("ClusterRole", "others"))


async def test_a_binding_to_nothing_is_refused_unless_one_may_bind_it(writing: Writing) -> None:
    with pytest.raises(NotFound, match=r'clusterrolebindings.rbac.authorization.k8s.io "nothing" not found'):
        await writing.write("ClusterRoleBinding", binding("ClusterRole", "nothing"))
