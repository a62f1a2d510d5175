"""The field manager: who owns what after which write, when writes conflict, and what the entries say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapstan.machinery.apply import FieldManager, excluding, keep_timestamps, validate_managed_fields
from kapstan.machinery.errors import APIError, BadRequest, Conflict
from kapstan.machinery.schema import compile_schema

SCHEMA = compile_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "color": {"type": "string"},
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
                        },
                    },
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
)
VERSION, KIND = "example.dev/v1", "Widget"
MANAGER = FieldManager(
    SCHEMA, VERSION, KIND, reset_fields={"": excluding("status"), "status": excluding("metadata", "spec")}
)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Object = dict[str, Any]


def widget(status: Object | None = None, metadata: Object | None = None, **spec: Any) -> Object:
    made = {"apiVersion": VERSION, "kind": KIND, "metadata": {"name": "it", **(metadata or {})}, "spec": spec}
    return {**made, "status": status} if status is not None else made


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}Z"


def stored(obj: Object) -> Object:
    """The object after the server has given it an identity."""
    return {**obj, "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "1"}}


def created(obj: Object, manager: str = "creator") -> Object:
    return stored(MANAGER.update(None, obj, manager, now=at(0)))


def applied(live: Object | None, obj: Object, manager: str, *, force: bool = False, second: int = 1) -> Object:
    return stored(MANAGER.apply(live, obj, manager, force=force, now=at(second)))


def entries(obj: Object) -> list[Object]:
    found: list[Object] = obj["metadata"].get("managedFields", [])
    return found


def owners(obj: Object) -> dict[str, Any]:
    """What each manager owns of the spec."""
    return {entry["manager"]: entry["fieldsV1"].get("f:spec") for entry in entries(obj)}


def test_who_creates_an_object_owns_all_of_it_but_what_is_the_server_s() -> None:
    obj = created(widget(size=1, metadata={"labels": {"a": "b"}, "generation": 1, "resourceVersion": "1"}))
    assert entries(obj) == [
        {
            "manager": "creator",
            "operation": "Update",
            "apiVersion": VERSION,
            "time": at(0),
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:size": {}},
            },
        }
    ]


def test_who_changes_a_field_by_an_update_takes_it_over() -> None:
    live = created(widget(size=1, color="red"))
    after = MANAGER.update(live, {**live, "spec": {"size": 2, "color": "red"}}, "other", now=at(1))
    assert owners(after) == {"creator": {".": {}, "f:color": {}}, "other": {"f:size": {}}}


def test_an_update_that_changes_nothing_leaves_entries_and_times_alone() -> None:
    live = created(widget(size=1))
    after = MANAGER.update(live, widget(size=1, metadata={"uid": "u", "resourceVersion": "1"}), "other", now=at(1))
    assert after == live


def test_an_update_without_managed_fields_keeps_them() -> None:
    """Clients that know nothing of managedFields send back objects without them."""
    live = created(widget(size=1))
    after = MANAGER.update(live, widget(size=2, metadata={"uid": "u"}), "creator", now=at(1))
    assert owners(after) == {"creator": {".": {}, "f:size": {}}}
    assert entries(after)[0]["time"] == at(1)


def test_a_removed_field_is_nobody_s() -> None:
    live = created(widget(size=1, color="red"))
    after = MANAGER.update(live, {**live, "spec": {"size": 1}}, "other", now=at(1))
    assert owners(after) == {"creator": {".": {}, "f:size": {}}}


def test_a_subresource_is_another_manager_and_owns_nothing_else() -> None:
    live = created(widget(size=1))
    new = {**live, "status": {"ready": True}, "spec": {"size": 9}}
    after = MANAGER.update(live, new, "creator", now=at(1), subresource="status")
    assert [(entry["manager"], entry.get("subresource")) for entry in entries(after)] == [
        ("creator", None),
        ("creator", "status"),
    ]
    assert entries(after)[1]["fieldsV1"] == {"f:status": {".": {}, "f:ready": {}}}


def test_the_main_endpoint_ignores_status() -> None:
    obj = created(widget(size=1, status={"ready": True}))
    assert "f:status" not in entries(obj)[0]["fieldsV1"]


@pytest.mark.parametrize("reset", [[], [{}]])
def test_an_empty_list_forgets_all_managers(reset: list[Any]) -> None:
    live = created(widget(size=1))
    new = {**live, "metadata": {**live["metadata"], "managedFields": reset}}
    assert entries(MANAGER.update(live, new, "other", now=at(1))) == []


def test_objects_that_nobody_tracks_stay_so_under_updates() -> None:
    live = stored(widget(size=1))
    assert entries(MANAGER.update(live, stored(widget(size=2)), "other", now=at(1))) == []


@pytest.mark.parametrize("bad", [[{"operation": "Frob"}], [{"manager": "x"}], "text", [1]])
def test_managed_fields_that_cannot_be_read_count_as_absent(bad: Any) -> None:
    live = created(widget(size=1))
    new = {**live, "metadata": {**live["metadata"], "managedFields": bad}}
    assert entries(MANAGER.update(live, new, "other", now=at(1))) == entries(live)


def test_entries_given_with_an_update_are_taken_over() -> None:
    """This is how kubectl hands fields of one manager to another."""
    live = created(widget(size=1))
    moved = [{**entries(live)[0], "manager": "mover"}]
    new = {**live, "metadata": {**live["metadata"], "managedFields": moved}}
    assert owners(MANAGER.update(live, new, "other", now=at(1))) == {"mover": {".": {}, "f:size": {}}}


def test_the_ownership_of_an_object_that_does_not_fit_is_unknown() -> None:
    live = created(widget(size=1))
    after = MANAGER.update(live, {**live, "spec": {"unknown": {"a": 1}}}, "other", now=at(1))
    assert entries(after) == []
    assert after["spec"] == {"unknown": {"a": 1}}


def test_an_apply_owns_what_it_mentions_and_no_more() -> None:
    obj = applied(None, widget(size=1, parts=[{"name": "a"}]), "me")
    assert entries(obj) == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": VERSION,
            "time": at(1),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}}}, "f:size": {}}},
        }
    ]


def test_an_apply_removes_what_it_mentioned_before() -> None:
    live = applied(None, widget(size=1, color="red", parts=[{"name": "a"}, {"name": "b"}]), "me")
    after = applied(live, widget(size=1, parts=[{"name": "b"}]), "me")
    assert after["spec"] == {"size": 1, "parts": [{"name": "b"}]}


def test_an_apply_does_not_remove_what_others_own_too() -> None:
    live = applied(None, widget(size=1, color="red"), "me")
    live = applied(live, widget(color="red"), "other")
    after = applied(live, widget(size=1), "me")
    assert after["spec"] == {"size": 1, "color": "red"}
    assert owners(after) == {"me": {"f:size": {}}, "other": {"f:color": {}}}


def test_an_element_goes_with_all_that_is_in_it_and_others_stay() -> None:
    """Who put a field into somebody's element does not own the element."""
    live = applied(None, widget(parts=[{"name": "a"}]), "me")
    new = {**live, "spec": {"parts": [{"name": "a", "value": "theirs"}, {"name": "b"}]}}
    live = stored(MANAGER.update(live, new, "other", now=at(2)))
    assert applied(live, widget(), "me")["spec"] == {"parts": [{"name": "b"}]}


def test_owning_the_same_value_is_no_conflict() -> None:
    live = applied(None, widget(size=1), "me")
    assert owners(applied(live, widget(size=1), "other")) == {"me": {"f:size": {}}, "other": {"f:size": {}}}


def test_an_apply_that_changes_nothing_keeps_its_time() -> None:
    live = applied(None, widget(size=1), "me", second=1)
    assert applied(live, widget(size=1), "me", second=9) == live


def test_changing_the_field_of_another_is_a_conflict() -> None:
    live = applied(None, widget(size=1), "me")
    with pytest.raises(Conflict) as caught:
        applied(live, widget(size=2), "other")
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "me": .spec.size'
    (cause,) = caught.value.causes
    assert (cause.reason, cause.field, cause.message) == ("FieldManagerConflict", ".spec.size", 'conflict with "me"')


def test_several_conflicts_are_told_by_manager() -> None:
    live = created(widget(size=1, color="red", parts=[{"name": "a", "value": "1"}]), "z")
    live = applied(live, widget(size=1), "b")
    new = {**live, "status": {"ready": True}}
    live = stored(MANAGER.update(live, new, "z", now=at(2), subresource="status"))
    with pytest.raises(Conflict) as caught:
        applied(live, widget(size=2, color="blue", parts=[{"name": "a", "value": "2"}]), "other")
    assert str(caught.value) == (
        "Apply failed with 4 conflicts: "
        'conflicts with "b":\n- .spec.size\n'
        'conflicts with "z" using example.dev/v1:\n- .spec.color\n- .spec.size\n- .spec.parts[name="a"].value'
    )
    with pytest.raises(Conflict, match='conflict with "z" with subresource "status" using example'):
        MANAGER.apply(live, widget(status={"ready": False}), "o", force=False, now=at(3), subresource="status")


def test_force_takes_the_fields_over() -> None:
    live = applied(None, widget(size=1, color="red"), "me")
    after = applied(live, widget(size=2), "other", force=True)
    assert after["spec"] == {"size": 2, "color": "red"}
    assert owners(after) == {"me": {"f:color": {}}, "other": {"f:size": {}}}


def test_what_an_object_had_before_its_first_apply_has_an_owner_too() -> None:
    live = stored(widget(size=1, color="red"))
    after = applied(live, widget(size=1), "me")
    assert owners(after) == {"me": {"f:size": {}}, "before-first-apply": {".": {}, "f:color": {}, "f:size": {}}}
    with pytest.raises(Conflict, match="before-first-apply"):
        applied(live, widget(size=2), "me")


def test_at_most_ten_updaters_are_kept_apart() -> None:
    live = created(widget(size=0), "u00")
    for number in range(1, 14):
        labels = {**live["metadata"].get("labels", {}), f"l{number}": "x"}
        new = {**live, "metadata": {**live["metadata"], "labels": labels}}
        live = stored(MANAGER.update(live, new, f"u{number:02d}", now=at(number)))
    names = [entry["manager"] for entry in entries(live)]
    assert names == ["ancient-changes", *(f"u{number:02d}" for number in range(5, 14))]
    merged = entries(live)[0]
    assert merged["time"] == at(4)
    assert set(merged["fieldsV1"]["f:metadata"]["f:labels"]) == {".", "f:l1", "f:l2", "f:l3", "f:l4"}
    assert merged["fieldsV1"]["f:spec"] == {".": {}, "f:size": {}}


def test_managers_of_versions_that_are_gone_are_forgotten() -> None:
    live = created(widget(size=1))
    entry = {**entries(live)[0], "apiVersion": "example.dev/v0"}
    live = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert owners(applied(live, widget(size=2), "me")) == {"me": {"f:size": {}}}


def test_managers_of_another_version_are_compared_in_theirs() -> None:
    """In v2 the size is called scale."""

    def convert(obj: Object, version: str) -> Object:
        names = {"size": "scale"} if version.endswith("v2") else {"scale": "size"}
        spec = {names.get(name, name): value for name, value in obj.get("spec", {}).items()}
        return {**obj, "apiVersion": version, "spec": spec}

    fields = {"scale": {"type": "integer"}, "color": {"type": "string"}}
    second = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    first_manager = FieldManager(
        SCHEMA, VERSION, KIND, versions={"example.dev/v2": compile_schema(second)}, convert=convert
    )
    second_manager = FieldManager(
        compile_schema(second), "example.dev/v2", KIND, versions={VERSION: SCHEMA}, convert=convert
    )
    config = {"apiVersion": "example.dev/v2", "kind": KIND, "metadata": {"name": "it"}, "spec": {"scale": 1}}
    live = convert(second_manager.apply(None, config, "me", force=False, now=at(0)), VERSION)
    with pytest.raises(Conflict, match=r'conflict with "me": \.spec\.scale'):
        first_manager.apply(live, widget(size=2), "other", force=False, now=at(1))
    after = first_manager.apply(live, widget(color="red"), "me", force=False, now=at(1))
    assert after["spec"] == {"color": "red"}


def client_side_applied(**spec: Any) -> Object:
    text = json.dumps(widget(**spec))
    return created(widget(metadata={"annotations": {LAST_APPLIED: text}}, **spec), "kubectl-client-side-apply")


def test_kubectl_may_change_what_it_set_before_it_applied_on_the_server() -> None:
    live = client_side_applied(size=1)
    after = applied(live, widget(size=2), "kubectl")
    assert after["spec"] == {"size": 2}
    with pytest.raises(Conflict):
        applied(live, widget(size=2), "somebody")


def test_kubectl_may_not_change_what_others_have_changed_since() -> None:
    live = client_side_applied(size=1, color="red")
    new = {**live, "spec": {"size": 5, "color": "red"}}
    live = stored(MANAGER.update(live, new, "autoscaler", now=at(1)))
    with pytest.raises(Conflict) as caught:
        applied(live, widget(size=2, color="blue"), "kubectl")
    assert str(caught.value) == (
        'Apply failed with 1 conflict: conflict with "autoscaler" using example.dev/v1: .spec.size'
    )


def test_kubectl_s_annotation_follows_what_it_applies() -> None:
    live = client_side_applied(size=1)
    after = applied(live, widget(size=2, color="<red>"), "kubectl")
    assert after["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"example.dev/v1","kind":"Widget","metadata":{"name":"it"},'
        '"spec":{"color":"\\u003cred\\u003e","size":2}}\n'
    )
    assert LAST_APPLIED not in applied(None, widget(size=1), "kubectl")["metadata"].get("annotations", {})


def test_an_annotation_that_grew_too_large_is_dropped() -> None:
    live = client_side_applied(size=1)
    after = applied(live, widget(size=1, color="x" * 300_000), "kubectl")
    assert after["metadata"]["annotations"] == {}


@pytest.mark.parametrize(
    ("patch", "error", "message"),
    [
        ({**widget(size=1), "kind": "Other"}, BadRequest, "invalid object type: example.dev/v1, Kind=Other"),
        ({"kind": KIND}, BadRequest, "invalid object type: /, Kind=Widget"),
        ({**widget(), "metadata": {"managedFields": []}}, BadRequest, "metadata.managedFields must be nil"),
        (
            widget(unknown=1),
            APIError,
            "failed to create typed patch object (/it; example.dev/v1, Kind=Widget): "
            ".spec.unknown: field not declared in schema",
        ),
        (
            widget(parts=[{"name": "a"}, {"name": "a"}], metadata={"namespace": "here"}),
            APIError,
            "failed to create typed patch object (here/it; example.dev/v1, Kind=Widget): "
            '.spec.parts: duplicate entries for key [name="a"]',
        ),
    ],
)
def test_what_cannot_be_applied_is_refused(patch: Object, error: type[APIError], message: str) -> None:
    with pytest.raises(error) as caught:
        MANAGER.apply(None, patch, "me", force=False, now=at(0))
    assert str(caught.value) == message


def test_entries_without_time_or_with_one_in_another_zone_are_read() -> None:
    live = created(widget(size=1))
    first = {**entries(live)[0], "time": "2026-01-01T02:00:00+02:00"}
    second = {key: value for key, value in first.items() if key != "time"} | {"manager": "timeless"}
    live = {**live, "metadata": {**live["metadata"], "managedFields": [first, second]}}
    after = MANAGER.update(live, {**live, "spec": {"size": 1, "color": "red"}}, "new", now=at(1))
    assert [(entry["manager"], entry.get("time")) for entry in entries(after)] == [
        ("timeless", None),
        ("creator", at(0)),
        ("new", at(1)),
    ]


def test_times_alone_are_no_change() -> None:
    live = created(widget(size=1))
    again = {**live, "metadata": {**live["metadata"], "managedFields": [{**entries(live)[0], "time": at(9)}]}}
    assert keep_timestamps(live, again) == live
    changed = {**again, "spec": {"size": 2}}
    assert keep_timestamps(live, changed) == changed


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"operation": "Frob"}, "operation must be `Apply` or `Update`"),
        ({"operation": "Apply"}, "apiVersion must not be empty"),
        ({"operation": "Apply", "apiVersion": "v1"}, "missing fieldsType in managed fields entry 0"),
        (
            {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"},
            'invalid fieldsType "FieldsV2" in managed fields entry 0',
        ),
        (
            {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"broken": {}}},
            "error decoding set: fieldsV1 has the key 'broken', which lacks a colon after its first letter",
        ),
    ],
)
def test_entries_are_validated(entry: Object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        validate_managed_fields([entry])
    assert str(caught.value) == message
