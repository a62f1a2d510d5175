"""Random sequences of writes to custom resources by several managers: objects, ownership and refusals are the same."""

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
MERGE, APPLY = ({"Content-Type": f"application/{name}"} for name in ("merge-patch+json", "apply-patch+yaml"))

names = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["1", "2", ""])
managers = st.sampled_from(["one", "two", "three"])
texts = st.dictionaries(names, values, max_size=3)


def some(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries(required, optional=optional)


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "scalar": {"type": "string", "maxLength": 3},
                "number": {"type": "integer", "default": 7, "minimum": 0},
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "atomic": {"type": "array", "items": {"type": "string"}},
                "keyed": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "port"],
                    "items": {
                        "type": "object",
                        "required": ["name", "port"],
                        "properties": {
                            "name": {"type": "string"},
                            "port": {"type": "integer", "default": 80},
                            "value": {"type": "string"},
                        },
                    },
                },
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "whole": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "string"},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
items = st.lists(some({"name": names}, port=st.sampled_from([80, 81]), value=values), max_size=3)
gadgets = some(
    {},
    metadata=some({}, labels=texts),
    spec=some(
        {},
        scalar=st.sampled_from(["x", "long text", None]),
        number=st.sampled_from([1, -1, None]),
        set=st.lists(names, max_size=3),
        atomic=st.lists(names, max_size=2),
        keyed=items,
        map=texts,
        whole=texts,
        free=st.dictionaries(names, st.one_of(values, texts, st.lists(values, max_size=2)), max_size=2),
        unknown=values,
    ),
    status=some({}, phase=values),
)
gadget_changes = st.lists(
    st.tuples(st.sampled_from(["apply", "merge", "status"]), managers, gadgets, st.booleans()), min_size=1, max_size=5
)


@pytest.fixture(scope="module")
def gadget_path(lab: Lab) -> str:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": SCHEMA},
    }
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": lab.group, "scope": "Namespaced", "names": names, "versions": [version]}
    lab.ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {"metadata": {"name": f"gadgets.{lab.group}"}, "spec": spec},
    )
    lab.wait_for(f"/apis/{lab.group}/v1/gadgets")
    return f"/apis/{lab.group}/v1/namespaces/default/gadgets"


@examples(60)
@given(first=gadgets, by=managers, then=gadget_changes)
def test_custom_resources(lab: Lab, gadget_path: str, first: Object, by: str, then: list[tuple[Any, ...]]) -> None:
    """Lists that are sets, keyed or atomic, maps, defaults, pruning and a status."""
    name = lab.new_name()

    def gadget(content: Object) -> Object:
        metadata = {**content.get("metadata", {}), "name": name}
        return {**content, "apiVersion": f"{lab.group}/v1", "kind": "Gadget", "metadata": metadata}

    lab.agree("POST", f"{gadget_path}?fieldManager={by}", gadget(first))
    for how, manager, content, force in then:
        where = f"{gadget_path}/{name}" + ("/status" if how == "status" else "")
        query = f"?fieldManager={manager}" + ("&force=true" if force and how != "merge" else "")
        if how == "merge":
            lab.agree("PATCH", where + query, content, MERGE)
        else:
            lab.agree("PATCH", where + query, gadget(content), APPLY)
    lab.agree("GET", f"{gadget_path}/{name}")
