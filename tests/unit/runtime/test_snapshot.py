"""Snapshots: what is read off an object's bytes, and what is cut out of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.client.interface import PartialObjectMetadata, metadata_of
from kapstan.machinery.base import Model
from kapstan.machinery.gvk import GroupVersionKind, ObjectKey
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import resource
from kapstan.runtime.snapshot import Malformed, Snapshot, is_newer


class WidgetSpec(Model):
    size: int = 0


@resource(group="test.kapstan.dev", version="v1")
class Widget(Resource):
    spec: WidgetSpec | None = None


WIDGET = GroupVersionKind("test.kapstan.dev", "v1", "Widget")
MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:size": {}}}}]


def compact(obj: Any) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def widget(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "test.kapstan.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "ns", "uid": "u1", "resourceVersion": "7", **metadata},
        "spec": {"size": 3},
    }


def test_the_metadata_is_read_off() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u0", "controller": True}
    snapshot = Snapshot.of(compact(widget(labels={"a": "b"}, generation=2, ownerReferences=[owner])))
    assert snapshot.key == ObjectKey("ns", "w") == (snapshot.namespace, snapshot.name)
    assert (snapshot.uid, snapshot.resource_version, snapshot.generation) == ("u1", "7", 2)
    assert dict(snapshot.labels) == {"a": "b"}
    assert snapshot.owner_uids == ("u0",)
    assert snapshot.owners() == [("apps", "Deployment", "d", "u0", True)]
    assert not snapshot.deleting


def test_a_deletion_timestamp_is_noticed() -> None:
    assert Snapshot.of(compact(widget(deletionTimestamp="2026-01-01T00:00:00Z"))).deleting


def test_annotations_are_read_when_asked_for() -> None:
    assert Snapshot.of(compact(widget(annotations={"a": "1"}))).annotations() == {"a": "1"}
    assert Snapshot.of(compact(widget())).annotations() == {}


def test_each_reader_gets_an_object_of_its_own() -> None:
    snapshot = Snapshot.of(compact(widget()))
    first, second = snapshot.decode(Widget), snapshot.decode(Widget)
    first.spec.size = 9
    assert second.spec.size == 3


def test_the_kind_decides_what_is_decoded() -> None:
    snapshot = Snapshot.of(compact(widget()))
    assert isinstance(snapshot.decode(Widget), Widget)
    assert snapshot.decode(WIDGET) == widget()
    metadata = snapshot.decode(metadata_of(Widget))
    assert isinstance(metadata, PartialObjectMetadata) and metadata.name == "w" and metadata.kind == "Widget"


def test_an_item_of_a_list_gets_its_kind_back() -> None:
    item = {key: value for key, value in widget().items() if key not in ("apiVersion", "kind")}
    snapshot = Snapshot.of(compact(item))
    assert snapshot.decode(WIDGET) == widget()
    assert snapshot.decode(Widget).kind == "Widget"


def test_an_object_that_does_not_fit_its_class_is_named() -> None:
    snapshot = Snapshot.of(compact({**widget(), "spec": {"size": "large"}}))
    with pytest.raises(Malformed, match=r"ns/w does not fit Widget: .*spec\.size"):
        snapshot.decode(Widget)


def test_what_is_no_object_is_refused() -> None:
    for data in (b"", b"{}", b"[]", b'{"metadata":{}}', b'{"metadata":{"name":3}}'):
        with pytest.raises(Malformed):
            Snapshot.of(data)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"managedFields": MANAGED}, id="last"),
        pytest.param({"managedFields": MANAGED, "name": "w"}, id="anywhere"),
        pytest.param(
            {"annotations": {"managedFields": "[{}]"}, "managedFields": MANAGED}, id="annotation_of_that_name"
        ),
        pytest.param({"annotations": {"x": compact({"managedFields": MANAGED}).decode()}}, id="inside_a_text"),
        pytest.param({"annotations": {"x": '"managedFields":[]'}, "managedFields": MANAGED}, id="text_and_real"),
        pytest.param({"managedFields": []}, id="empty"),
    ],
)
@pytest.mark.parametrize("spaces", [False, True])
def test_managed_fields_are_cut_out_and_nothing_else(metadata: dict[str, Any], spaces: bool) -> None:
    obj = widget(**metadata)
    obj["spec"]["nested"] = {"managedFields": MANAGED}
    data = json.dumps(obj).encode() if spaces else compact(obj)
    snapshot = Snapshot.of(data)
    obj["metadata"].pop("managedFields", None)
    assert json.loads(snapshot.data) == obj


def test_managed_fields_are_cut_out_when_they_come_first() -> None:
    obj = {"metadata": {"managedFields": MANAGED, "name": "w"}}
    assert Snapshot.of(compact(obj)).data == b'{"metadata":{"name":"w"}}'
    assert (
        Snapshot.of(compact({"metadata": {"name": "w", "managedFields": MANAGED}})).data == b'{"metadata":{"name":"w"}}'
    )


def test_managed_fields_can_be_kept() -> None:
    data = compact(widget(managedFields=MANAGED))
    assert Snapshot.of(data, managed_fields=True).data == data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("managedFields"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(annotations=st.dictionaries(st.text() | st.just("managedFields"), st.text()), managed=st.lists(JSON), spec=JSON)
def test_cutting_equals_decoding_and_removing(annotations: dict[str, str], managed: list[Any], spec: Any) -> None:
    obj: dict[str, Any] = {
        "metadata": {"annotations": annotations, "managedFields": managed, "name": "w"},
        "spec": spec,
    }
    data = compact(obj)
    del obj["metadata"]["managedFields"]
    assert json.loads(Snapshot.of(data).data) == obj


def test_resource_versions_compare_as_numbers() -> None:
    assert is_newer("10", "9")
    assert not is_newer("9", "10")
    assert not is_newer("9", "9")


def test_nothing_is_known_of_resource_versions_that_are_no_numbers() -> None:
    assert not is_newer("b", "a") and not is_newer("a", "b")
