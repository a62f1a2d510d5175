"""Random selectors, pages and versions of lists, and random ways to delete: the answers are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.apiserver.exploring import examples

if TYPE_CHECKING:
    from tests.integration.apiserver.generated.conftest import Lab

pytestmark = pytest.mark.real

Object = dict[str, Any]
MERGE = {"Content-Type": "application/merge-patch+json"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"}

keys = st.sampled_from(["app", "tier", "example.com/x", "-bad", ""])
values = st.sampled_from(["a", "b", "", "1", "B_c", "-"])
requirements = st.one_of(
    keys,
    keys.map("!{}".format),
    st.builds("{}{}{}".format, keys, st.sampled_from(["=", "==", "!=", " = ", ">", "<"]), values),
    st.builds(
        lambda key, operator, listed: f"{key} {operator} ({','.join(listed)})",
        keys,
        st.sampled_from(["in", "notin", "of"]),
        st.lists(values, max_size=3),
    ),
)
label_selectors = st.lists(requirements, max_size=3).map(",".join)
field_selectors = st.lists(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["metadata.name", "metadata.namespace", "data", "metadata.labels"]),
        st.sampled_from(["=", "!=", "=="]),
        st.sampled_from(["c0", "c1", "lists", "a\\,b", ""]),
    ),
    max_size=2,
).map(",".join)


@pytest.fixture(scope="module")
def maps(lab: Lab) -> str:
    """Where some ConfigMaps with labels are."""
    path = f"/api/v1/namespaces/{lab.new_namespace()}/configmaps"
    for number in range(7):
        labels = {"app": "ab"[number % 2], **({"tier": str(number)} if number % 3 else {}), "example.com/x": ""}
        lab.agree("POST", path, {"metadata": {"name": f"c{number}", "labels": labels if number else {}}})
    return path


@examples(150)
@given(
    labels=label_selectors,
    fields=field_selectors,
    limit=st.sampled_from(["", "0", "1", "3", "100", "-1", "x"]),
    version=st.sampled_from(["", "0", "1", "x", "99999999"]),
    match=st.sampled_from(["", "", "Exact", "NotOlderThan", "Other"]),
    headers=st.sampled_from([None, TABLE, METADATA]),
)
def test_lists(
    lab: Lab, maps: str, labels: str, fields: str, limit: str, version: str, match: str, headers: Any
) -> None:
    if version == "99999999" and match != "Exact":
        version = ""  # a real server waits three seconds for the future
    if version == "1" and (match == "Exact" or limit in ("1", "3", "100")):
        version = "0"  # what has been compacted is each server's own matter
    asked = {
        "labelSelector": labels,
        "fieldSelector": fields,
        "limit": limit,
        "resourceVersion": version,
        "resourceVersionMatch": match,
    }
    query = {name: value for name, value in asked.items() if value}
    answer = lab.agree("GET", f"{maps}?{urlencode(query)}", None, headers)
    pages = 0
    while answer["status"] == 200 and answer["body"]["metadata"].get("continue") and pages < 8:
        pages += 1
        rest = {name: value for name, value in query.items() if not name.startswith("resourceVersion")}
        answer = lab.agree("GET", f"{maps}?{urlencode(rest)}&continue=$TOKEN", None, headers)


deletions = st.fixed_dictionaries(
    {},
    optional={
        "propagationPolicy": st.sampled_from(["Background", "Foreground", "Orphan", "Other", ""]),
        "orphanDependents": st.booleans(),
        "gracePeriodSeconds": st.sampled_from([0, 5, -1, None, "x"]),
        "preconditions": st.sampled_from([{}, {"uid": "x"}, {"resourceVersion": "1"}, {"uid": ""}, None]),
        "dryRun": st.sampled_from([["All"], ["Some"], []]),
        "kind": st.sampled_from(["DeleteOptions", "Pod"]),
        "apiVersion": st.sampled_from(["v1", "apps/v1", "nope/v1"]),
        "unknown": st.just(1),
    },
)
finalizers = st.lists(
    st.sampled_from(["example.com/a", "example.com/b", "foregroundDeletion", "orphan"]), max_size=2, unique=True
)
endings = st.lists(
    st.one_of(
        st.tuples(st.just("delete"), deletions),
        st.tuples(
            st.just("query"),
            st.sampled_from(["propagationPolicy=Orphan", "gracePeriodSeconds=3", "dryRun=All", "dryRun=x"]),
        ),
        st.tuples(st.just("finalizers"), finalizers),
        st.tuples(st.just("collection"), deletions),
    ),
    min_size=1,
    max_size=4,
)
KINDS: dict[str, tuple[str, Object]] = {
    "configmaps": ("/api/v1/namespaces/default/configmaps", {}),
    "pods": (
        "/api/v1/namespaces/default/pods",
        {"spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n", "automountServiceAccountToken": False}},
    ),
    "waiting pods": ("/api/v1/namespaces/default/pods", {"spec": {"containers": [{"name": "c", "image": "i"}]}}),
    "jobs": (
        "/apis/batch/v1/namespaces/default/jobs",
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}},
    ),
    "roles": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ),
}


@examples(80)
@given(kind=st.sampled_from(sorted(KINDS)), held=finalizers, then=endings)
def test_deletions(lab: Lab, kind: str, held: list[str], then: list[tuple[str, Any]]) -> None:
    path, content = KINDS[kind]
    name = lab.new_name()
    labels = {"example": name}
    lab.agree("POST", path, {**content, "metadata": {"name": name, "finalizers": held, "labels": labels}})
    for how, detail in then:
        match how:
            case "delete":
                lab.agree("DELETE", f"{path}/{name}", detail)
            case "query":
                lab.agree("DELETE", f"{path}/{name}?{detail}")
            case "collection":
                lab.agree("DELETE", f"{path}?labelSelector=example%3D{name}", detail)
            case _:
                lab.agree("PATCH", f"{path}/{name}", {"metadata": {"finalizers": detail}}, MERGE)
    lab.agree("GET", f"{path}/{name}")
