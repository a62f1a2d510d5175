"""What rules allow and cover, against tables of Kubernetes' own behaviour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.authz.rules import PolicyRule, compact, compile_rules, uncovered


def rule(verbs: str, groups: str = "", resources: str = "", names: str = "", urls: str = "") -> PolicyRule:
    """Lists as words; `core` is the empty group."""
    return PolicyRule(
        verbs=tuple(verbs.split()),
        api_groups=tuple("" if group == "core" else group for group in groups.split()),
        resources=tuple(resources.split()),
        resource_names=tuple(names.split()),
        non_resource_urls=tuple(urls.split()),
    )


@pytest.mark.parametrize(
    ("held", "request_", "allowed"),
    [
        (rule("get", "core", "pods"), ("get", "", "pods", "", "x"), True),
        (rule("get", "core", "pods"), ("list", "", "pods", "", ""), False),
        (rule("get", "core", "pods"), ("get", "apps", "pods", "", "x"), False),
        (rule("*", "*", "*"), ("delete", "apps", "deployments", "scale", "x"), True),
        (rule("get", "*", "pods"), ("get", "metrics.k8s.io", "pods", "", "x"), True),
        (rule("get", "core", "pods"), ("get", "", "pods", "log", "x"), False),
        (rule("get", "core", "pods/log"), ("get", "", "pods", "log", "x"), True),
        (rule("get", "core", "pods/log"), ("get", "", "pods", "", "x"), False),
        (rule("update", "*", "*/scale"), ("update", "apps", "deployments", "scale", "x"), True),
        (rule("update", "apps", "*/scale"), ("update", "apps", "deployments", "status", "x"), False),
        (rule("get", "core", "pods/*"), ("get", "", "pods", "log", "x"), False),
        (rule("get", "core", "configmaps", "a b"), ("get", "", "configmaps", "", "b"), True),
        (rule("get", "core", "configmaps", "a b"), ("get", "", "configmaps", "", "c"), False),
        (rule("list", "core", "configmaps", "a"), ("list", "", "configmaps", "", ""), False),
        (rule("get", "core", "pods", urls="/x"), ("get", "", "pods", "", "y"), True),
    ],
)
def test_a_rule_allows_what_it_names(held: PolicyRule, request_: tuple[str, ...], allowed: bool) -> None:
    verb, group, resource, subresource, name = request_
    assert compile_rules((held,)).allows_resource(verb, group, resource, subresource, name) is allowed


@pytest.mark.parametrize(
    ("urls", "path", "allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/etcd", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("/healthz/*", "/healthz", False),
        ("/api*", "/apis/apps", True),
        ("*", "/anything", True),
        ("/a**", "/ab", True),
        ("/*/b", "/a/b", False),
    ],
)
def test_a_star_ends_a_path(urls: str, path: str, allowed: bool) -> None:
    """A star elsewhere than at the end is a letter like others."""
    compiled = compile_rules((rule("get", urls=urls),))
    assert compiled.allows_path("get", path) is allowed
    assert not compiled.allows_path("post", path)


@pytest.mark.parametrize(
    ("owned", "wanted", "missing"),
    [
        ([rule("get", "v1", "builds")], [rule("get", "v1", "builds")], []),
        ([rule("get", "v1", "*/scale")], [rule("get", "v1", "foo/scale")], []),
        ([rule("get", "v1", "*/scale")], [rule("get", "v1", "foo/status")], [rule("get", "v1", "foo/status")]),
        ([rule("get", "v1", "foo")], [rule("get", "v1", "foo/status")], [rule("get", "v1", "foo/status")]),
        (
            [rule("delete update", "v1", "builds deployments"), rule("delete", "v1", "pods")],
            [rule("delete update", "v1", "builds deployments pods")],
            [rule("update", "v1", "pods")],
        ),
        ([rule("get", "*", "roles")], [rule("get", "a b", "roles")], []),
        ([rule("get", "a", "roles")], [rule("get", "*", "roles")], [rule("get", "*", "roles")]),
        ([rule("get", "a", "*")], [rule("get", "a", "x x/y")], []),
        ([rule("get", "a", "x", "n")], [rule("get", "a", "x")], [rule("get", "a", "x")]),
        ([rule("get", "a", "x")], [rule("get", "a", "x", "n")], []),
        ([rule("get", "a", "x", "n")], [rule("get", "a", "x", "n m")], [rule("get", "a", "x", "m")]),
        ([rule("get", urls="/apis/*")], [rule("get", urls="/apis/x /apis/*")], []),
        ([rule("get", urls="/apis")], [rule("get post", urls="/apis")], [rule("post", urls="/apis")]),
        ([rule("*", "*", "*")], [rule("get", urls="/")], [rule("get", urls="/")]),
        ([rule("*", urls="*")], [rule("get", urls="*"), rule("get", urls="/x")], []),
    ],
)
def test_covering_names_the_missing_rights(
    owned: list[PolicyRule], wanted: list[PolicyRule], missing: list[PolicyRule]
) -> None:
    assert uncovered(owned, wanted) == missing


WORDS = st.lists(st.sampled_from(["*", "a", "b", "a/s", "*/s"]), max_size=3).map(tuple)
RULES = st.builds(PolicyRule, verbs=WORDS, api_groups=WORDS, resources=WORDS, resource_names=WORDS)


@given(owned=st.lists(RULES, max_size=4), wanted=st.lists(RULES, max_size=3))
def test_who_is_covered_can_do_nothing_new(owned: list[PolicyRule], wanted: list[PolicyRule]) -> None:
    """Whatever `wanted` allows, `owned` allows as well, unless some right is reported as missing."""
    if uncovered(owned, wanted):
        return
    mine, theirs = compile_rules(tuple(owned)), compile_rules(tuple(wanted))
    for verb in ("a", "b", "c"):
        for resource, subresource in (("a", ""), ("a", "s"), ("c", "s")):
            for name in ("", "a"):
                request = (verb, "a", resource, subresource, name)
                assert mine.allows_resource(*request) or not theirs.allows_resource(*request)


def test_missing_rights_are_shown_as_kubernetes_shows_them() -> None:
    missing = uncovered([], [rule("get list", "core apps", "pods", "x"), rule("get", urls="/metrics")])
    assert sorted(map(str, compact(missing))) == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["x"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["pods"], ResourceNames:["x"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
    ]
