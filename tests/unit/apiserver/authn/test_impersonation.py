"""Acting as somebody else."""

from __future__ import annotations

import pytest

from kapstan.apiserver.authn.impersonation import impersonated
from kapstan.apiserver.authz.interface import Decision
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.machinery.errors import BadRequest, Forbidden

ALICE = UserInfo("alice", groups=("system:authenticated",))


class Allowing:
    """Allows what is listed: `verb group/resource[/subresource] [namespace/]name`; remembers what it was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[str] = []

    def authorize(self, attributes: Attributes) -> Decision:
        subresource = f"/{attributes.subresource}" if attributes.subresource else ""
        namespace = f"{attributes.namespace}/" if attributes.namespace else ""
        what = f"{attributes.group}/{attributes.resource}{subresource} {namespace}{attributes.name}"
        self.asked.append(
            f"{attributes.verb} {what}" if attributes.resource else f"{attributes.verb} {attributes.path}"
        )
        return Decision(self.asked[-1] in self.allowed or "everything" in self.allowed)


def act(allowing: Allowing, *headers: tuple[str, str], user: UserInfo = ALICE) -> UserInfo:
    attributes = Attributes(user=user, verb="list", version="v1", resource="pods", namespace="default")
    return impersonated(headers, attributes, allowing)


def test_without_headers_one_is_oneself() -> None:
    allowing = Allowing()
    assert act(allowing, ("Accept", "*/*")) is ALICE
    assert allowing.asked == []


def test_the_old_verb_suffices() -> None:
    allowing = Allowing("impersonate /users bob", "impersonate /groups devs")
    found = act(allowing, ("Impersonate-User", "bob"), ("impersonate-group", "devs"))
    assert found == UserInfo("bob", groups=("devs", "system:authenticated"))


def test_a_constrained_user_needs_the_action_and_the_person() -> None:
    on, who = "impersonate-on:user-info:list /pods default/", "impersonate:user-info authentication.k8s.io/users bob"
    assert act(Allowing(on, who), ("Impersonate-User", "bob")).name == "bob"
    with pytest.raises(
        Forbidden, match=r'cannot impersonate:user-info resource "users" in API group "authentication.k8s'
    ):
        act(Allowing(on), ("Impersonate-User", "bob"))
    with pytest.raises(Forbidden) as caught:
        act(Allowing(who), ("Impersonate-User", "bob"))
    assert str(caught.value) == (
        'pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" '
        'in API group "" in the namespace "default"'
    )


def test_a_service_account_brings_its_groups() -> None:
    allowing = Allowing("impersonate /serviceaccounts default/robot")
    found = act(allowing, ("Impersonate-User", "system:serviceaccount:default:robot"))
    assert found.groups == ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
    constrained = Allowing(
        "impersonate-on:serviceaccount:list /pods default/",
        "impersonate:serviceaccount authentication.k8s.io/serviceaccounts default/robot",
    )
    assert act(constrained, ("Impersonate-User", "system:serviceaccount:default:robot")) == found


def test_a_node_brings_its_group_in_constrained_modes_only() -> None:
    allowing = Allowing(
        "impersonate-on:arbitrary-node:list /pods default/", "impersonate:arbitrary-node authentication.k8s.io/nodes n1"
    )
    assert act(allowing, ("Impersonate-User", "system:node:n1")).groups == ("system:nodes", "system:authenticated")
    legacy = Allowing("impersonate /users system:node:n1")
    assert act(legacy, ("Impersonate-User", "system:node:n1")).groups == ("system:authenticated",)


def test_an_agent_may_be_the_node_that_it_runs_on() -> None:
    allowing = Allowing(
        "impersonate-on:associated-node:list /pods default/",
        "impersonate:associated-node authentication.k8s.io/nodes *",
    )
    agent = UserInfo("system:serviceaccount:default:agent", extra={"authentication.kubernetes.io/node-name": ("n1",)})
    assert act(allowing, ("Impersonate-User", "system:node:n1"), user=agent).name == "system:node:n1"
    with pytest.raises(Forbidden):
        act(allowing, ("Impersonate-User", "system:node:n2"), user=agent)


def test_uid_and_extra_are_asked_for_one_by_one() -> None:
    allowing = Allowing(
        "impersonate /users bob",
        "impersonate authentication.k8s.io/uids 123",
        "impersonate authentication.k8s.io/userextras/acme.com/scopes view",
        "impersonate authentication.k8s.io/userextras/acme.com/scopes edit",
    )
    headers = [
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "123"),
        ("Impersonate-Extra-Acme.com%2fScopes", "view"),
        ("Impersonate-Extra-Acme.com%2fScopes", "edit"),
    ]
    found = act(allowing, *headers)
    assert found == UserInfo("bob", "123", ("system:authenticated",), {"acme.com/scopes": ("view", "edit")})
    with pytest.raises(Forbidden):
        act(Allowing(*allowing.allowed[:-1]), *headers)


def test_masters_are_for_the_old_verb_only() -> None:
    constrained = Allowing(
        "impersonate-on:user-info:list /pods default/",
        "impersonate:user-info authentication.k8s.io/users bob",
        "impersonate:user-info authentication.k8s.io/groups system:masters",
    )
    headers = [("Impersonate-User", "bob"), ("Impersonate-Group", "system:masters")]
    with pytest.raises(Forbidden, match="impersonating the system:masters group is not allowed"):
        act(constrained, *headers)
    assert act(Allowing("everything"), *headers).groups == ("system:masters", "system:authenticated")


def test_anonymous_stays_unauthenticated() -> None:
    found = act(Allowing("everything"), ("Impersonate-User", "system:anonymous"))
    assert found.groups == ("system:unauthenticated",)


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        (
            [("Impersonate-Group", "g")],
            '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)}',
        ),
        (
            [("Impersonate-Uid", "u"), ("Impersonate-Extra-Foo%2fBar", "x")],
            '&user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), '
            'Extra:map[string][]string{"foo/bar":[]string{"x"}}}',
        ),
    ],
)
def test_everything_needs_a_name(headers: list[tuple[str, str]], shown: str) -> None:
    with pytest.raises(BadRequest) as caught:
        act(Allowing("everything"), *headers)
    assert str(caught.value) == f"requested {shown} without impersonating a user name"
