"""Random sequences of applies and patches by several managers: objects, ownership and conflicts are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.apiserver.exploring import examples

if TYPE_CHECKING:
    from tests.integration.apiserver.generated.conftest import Lab

pytestmark = pytest.mark.real

Object = dict[str, Any]
MERGE, JSON, STRATEGIC, APPLY = (
    {"Content-Type": f"application/{name}"}
    for name in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

names = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["1", "2", ""])
managers = st.sampled_from(["one", "two", "three"])
texts = st.dictionaries(names, values, max_size=3)


def some(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries(required, optional=optional)


def keyed(key: str, keys: st.SearchStrategy[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Object]]:
    """A list of objects that are told apart by a key."""
    return st.lists(some({key: keys}, **fields), max_size=3, unique_by=lambda one: one[key])


ports = keyed("containerPort", st.sampled_from([80, 81]), protocol=st.sampled_from(["TCP", "UDP"]), name=names)
environment = keyed("name", names, value=values)
containers = keyed(
    "name",
    names,
    image=st.sampled_from(["i", "j:1"]),
    args=st.lists(values, max_size=2),
    env=environment,
    ports=ports,
    resources=some({}, limits=st.dictionaries(st.just("cpu"), st.sampled_from(["1", "1500m", "0.5"]))),
)
volumes = keyed("name", names, emptyDir=st.just({}))
tolerations = st.lists(some({"key": names}, operator=st.just("Exists"), effect=st.just("NoSchedule")), max_size=2)
pod_specs = some({}, containers=containers, volumes=volumes, tolerations=tolerations, nodeSelector=texts)
contents = some(
    {},
    metadata=some(
        {}, labels=texts, annotations=texts, finalizers=st.lists(st.sampled_from(["e.io/x", "e.io/y"]), unique=True)
    ),
    spec=some(
        {},
        replicas=st.integers(0, 3),
        template=some({}, spec=pod_specs, metadata=some({}, annotations=texts)),
        strategy=st.sampled_from(
            [
                {"type": "Recreate"},
                {"type": "RollingUpdate"},
                {"rollingUpdate": {"maxSurge": 2}},
                {"type": "Recreate", "rollingUpdate": None},
            ]
        ),
    ),
)


def deployment(name: str, content: Object, *, whole: bool) -> Object:
    """One that is asked for; a whole one has what every deployment must have."""
    spec = dict(content.get("spec", {}))
    if whole:
        template = dict(spec.get("template", {}))
        template["metadata"] = {**template.get("metadata", {}), "labels": {"app": "x"}}
        pod = dict(template.get("spec", {}))
        pod["containers"] = [{"image": "i", **one} for one in pod.get("containers") or [{"name": "main"}]]
        spec |= {"selector": {"matchLabels": {"app": "x"}}, "template": {**template, "spec": pod}}
    metadata = {**content.get("metadata", {}), "name": name}
    found = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return {**found, "spec": spec} if spec else found


@st.composite
def directives(draw: st.DrawFn) -> Object:
    """Strategic patches that say how to merge."""
    key = draw(names)
    listed: Object = draw(
        st.sampled_from(
            [
                {"containers": [{"$patch": "delete", "name": key}]},
                {"containers": [{"name": key, "$patch": "replace", "image": "k"}]},
                {"containers": [{"$patch": "replace"}, {"name": key, "image": "k"}]},
                {
                    "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                    "containers": [{"name": "a", "image": "k"}],
                },
                {"$setElementOrder/volumes": [{"name": "c"}, {"name": "a"}]},
                {"volumes": [{"name": key, "$retainKeys": ["name", "configMap"], "configMap": {"name": "m"}}]},
                {"nodeSelector": {"$patch": "replace", key: "1"}},
                {"nodeSelector": {"$patch": "delete"}},
                {"nodeSelector": None},
                {"tolerations": None},
                {"containers": [{"name": key, "env": [{"name": "a", "$patch": "delete"}]}]},
                {"containers": [{"name": key, "ports": [{"containerPort": 80, "protocol": "UDP"}]}]},
            ]
        )
    )
    top: Object = draw(
        st.sampled_from(
            [
                {},
                {"metadata": {"$deleteFromPrimitiveList/finalizers": ["e.io/x"]}},
                {"metadata": {"finalizers": ["e.io/y"], "$setElementOrder/finalizers": ["e.io/y", "e.io/x"]}},
                {"metadata": {"labels": {"$patch": "replace", "c": "2"}}},
            ]
        )
    )
    strategy: Object = draw(st.sampled_from([{}, {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}]))
    return {**top, "spec": {"template": {"spec": listed}, **strategy}}


pointers = st.sampled_from(
    [
        "/metadata/labels",
        "/metadata/labels/a",
        "/spec/replicas",
        "/spec/template/spec/containers/0/image",
        "/spec/template/spec/containers/-",
        "/spec/template/spec/containers/1",
        "/spec/template/spec/nodeSelector",
        "/spec/nope/x",
    ]
)
operations = st.lists(
    st.one_of(
        st.builds(
            lambda path, value: {"op": "add", "path": path, "value": value},
            pointers,
            st.sampled_from([1, "1", {"a": "1"}, {"name": "z", "image": "z"}]),
        ),
        st.builds(lambda path: {"op": "remove", "path": path}, pointers),
        st.builds(
            lambda path, value: {"op": "replace", "path": path, "value": value}, pointers, st.sampled_from([2, "2"])
        ),
        st.builds(
            lambda path, value: {"op": "test", "path": path, "value": value}, pointers, st.sampled_from([1, "i"])
        ),
        st.builds(lambda source, path: {"op": "copy", "from": source, "path": path}, pointers, pointers),
        st.builds(lambda source, path: {"op": "move", "from": source, "path": path}, pointers, pointers),
    ),
    min_size=1,
    max_size=3,
)
# What is done, by whom: a method of change, its content, and whether it is forced.
changes = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), managers, contents, st.booleans()),
        st.tuples(st.just("merge"), managers, contents, st.just(False)),
        st.tuples(st.just("strategic"), managers, st.one_of(contents, directives()), st.just(False)),
        st.tuples(st.just("json"), managers, operations, st.just(False)),
    ),
    min_size=1,
    max_size=5,
)


def step(name: str, how: str, manager: str, content: Any, force: bool) -> tuple[Any, ...]:
    query = f"?fieldManager={manager}"
    path = f"{DEPLOYMENTS}/{name}"
    if how == "apply":
        applied = deployment(name, content, whole=manager == "one")
        return "PATCH", path + query + ("&force=true" if force else ""), applied, APPLY
    headers = {"merge": MERGE, "strategic": STRATEGIC, "json": JSON}[how]
    return "PATCH", path + query, content, headers


@examples(60)
@given(first=contents, by=managers, applied=st.booleans(), then=changes)
def test_deployments(lab: Lab, first: Object, by: str, applied: bool, then: list[tuple[Any, ...]]) -> None:
    name = lab.new_name()
    whole = deployment(name, first, whole=True)
    if applied:
        lab.agree("PATCH", f"{DEPLOYMENTS}/{name}?fieldManager={by}", whole, APPLY)
    else:
        lab.agree("POST", f"{DEPLOYMENTS}?fieldManager={by}", whole)
    lab.all_agree(step(name, *change) for change in then)
    lab.agree("GET", f"{DEPLOYMENTS}/{name}")
