"""Typed: objects take the form that Go's types give them, and what does not fit is refused in Go's words."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.strategy.typed import shape, struct_of
from kapstan.machinery.gvk import GroupVersionKind

Object = dict[str, Any]
VECTORS = Path(__file__).parents[1] / "protobuf" / "vectors" / "bodies.ndjson.gz"


def read(api_version: str, kind: str, **content: Any) -> tuple[Object, list[str]]:
    """What Go makes of an object's content, and the fields that it does not know."""
    struct = struct_of(GroupVersionKind.of(api_version, kind), defaults=False)
    assert struct is not None
    unknown = shape(struct, content)
    return content, unknown


def shaped(api_version: str, kind: str, **content: Any) -> Object:
    return read(api_version, kind, **content)[0]


def complaint(api_version: str, kind: str, **content: Any) -> str:
    with pytest.raises(ValueError) as caught:
        read(api_version, kind, **content)
    return str(caught.value)


def pod(**container: Any) -> Object:
    found: Object = shaped("v1", "Pod", spec={"containers": [container]})["spec"]["containers"][0]
    return found


def test_what_go_wrote_is_left_as_it_is() -> None:
    """Random objects of every kind, recorded from Kubernetes' own code."""
    for line in gzip.decompress(VECTORS.read_bytes()).splitlines():
        written = json.loads(line)["json"]
        gvk = GroupVersionKind.of(written["apiVersion"], written["kind"])
        struct = struct_of(gvk, defaults=False)
        if struct is None:
            continue
        again = json.loads(json.dumps(written))
        assert shape(struct, again) == []
        # Through text: 1 and 1.0 and True are equal in Python, and differ in JSON.
        assert json.dumps(_set(again), sort_keys=True) == json.dumps(_set(written), sort_keys=True), written["kind"]


def _set(value: Any) -> Any:
    """Without nulls: Go writes one for a pointer to an empty time, and reads it as no pointer."""
    if isinstance(value, dict):
        return {key: _set(item) for key, item in value.items() if item is not None}
    return [_set(item) for item in value] if isinstance(value, list) else value


def test_every_served_kind_has_a_type() -> None:
    for version in facts.group_versions():
        for resource in version.resources:
            struct = struct_of(GroupVersionKind(version.group, version.version, resource.kind))
            assert struct is not None, resource.kind
            assert struct.fields


def test_empty_values_are_dropped_unless_the_field_is_a_pointer() -> None:
    found = shaped("apps/v1", "Deployment", metadata={"labels": {}}, spec={"paused": False, "replicas": 0})
    assert found["metadata"] == {}
    assert found["spec"]["replicas"] == 0
    assert "paused" not in found["spec"]


def test_structs_that_are_no_pointers_are_written_even_if_nobody_set_them() -> None:
    found = shaped("apps/v1", "Deployment")
    assert found["status"] == {}
    assert found["spec"] == {
        "selector": None,
        "template": {"metadata": {}, "spec": {"containers": None}},
        "strategy": {},
    }


@pytest.mark.parametrize("rules", [None, []])
def test_a_list_that_is_always_written_is_null_when_empty(rules: Any) -> None:
    """Storage cannot tell an empty list from none, and Go writes null for none."""
    assert shaped("rbac.authorization.k8s.io/v1", "ClusterRole", rules=rules)["rules"] is None


def test_null_means_absent() -> None:
    assert shaped("v1", "ConfigMap", data=None, immutable=None) == {"metadata": {}}


def test_null_in_a_map_is_the_zero_of_its_values() -> None:
    assert shaped("v1", "ConfigMap", data={"a": None})["data"] == {"a": ""}
    assert shaped("v1", "Secret", data={"a": None})["data"] == {"a": ""}


@pytest.mark.parametrize(
    ("sent", "stored"), [("1024Mi", "1Gi"), (1.5, "1500m"), (2, "2"), ("0.5", "500m"), ("1e3", "1e3")]
)
def test_quantities_are_written_in_canonical_form(sent: Any, stored: str) -> None:
    assert pod(name="a", resources={"limits": {"cpu": sent}})["resources"] == {"limits": {"cpu": stored}}


def test_times_are_written_in_utc() -> None:
    found = shaped("v1", "Pod", metadata={"creationTimestamp": "2020-01-01T02:00:00+02:00"})
    assert found["metadata"] == {"creationTimestamp": "2020-01-01T00:00:00Z"}
    lease = shaped("coordination.k8s.io/v1", "Lease", spec={"renewTime": "2020-01-01T00:00:00.123456+02:00"})
    assert lease["spec"] == {"renewTime": "2019-12-31T22:00:00.123456Z"}


def test_unknown_fields_are_dropped_and_reported_in_the_order_in_which_they_stand() -> None:
    spec = {
        "containers": [{"name": "a", "resources": {"x": 1}, "ports": [{"containerPort": 1, "y": 2}]}],
        "a": [],
        "volumes": [{"name": "v", "configMap": {"z": 1}}],
    }
    found, unknown = read("v1", "Pod", spec=spec, b=1)
    assert unknown == [
        "spec.containers[0].resources.x",
        "spec.containers[0].ports[0].y",
        "spec.a",
        "spec.volumes[0].configMap.z",
        "b",
    ]
    assert found["spec"]["containers"] == [{"name": "a", "resources": {}, "ports": [{"containerPort": 1}]}]


def test_an_embedded_kind_keeps_its_type() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    found, unknown = read("apps/v1", "StatefulSet", spec={"volumeClaimTemplates": [claim]})
    assert unknown == []
    assert found["spec"]["volumeClaimTemplates"][0]["kind"] == "PersistentVolumeClaim"


MISMATCHES = [
    ({"replicas": "x"}, "string into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ({"replicas": 1.5}, "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ({"replicas": 99999999999}, "number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ({"paused": "x"}, "string into Go struct field DeploymentSpec.spec.paused of type bool"),
    (
        {"template": {"spec": {"containers": [{"name": 1}]}}},
        "number into Go struct field Container.spec.template.spec.containers.name of type string",
    ),
    (
        {"template": {"spec": {"containers": {"name": 1}}}},
        "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
    ),
    (
        {"template": {"metadata": {"labels": ["x"]}}},
        "array into Go struct field ObjectMeta.spec.template.metadata.labels of type map[string]string",
    ),
    (
        {"template": {"metadata": {"labels": {"x": 1}}}},
        "number into Go struct field ObjectMeta.spec.template.metadata.labels of type string",
    ),
    (
        {"strategy": {"rollingUpdate": {"maxSurge": True}}},
        "bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
    ),
    (
        {"template": {"spec": {"volumes": [{"name": "a", "configMap": {"name": 1}}]}}},
        "number into Go struct field ConfigMapVolumeSource.spec.template.spec.volumes.VolumeSource.configMap."
        "LocalObjectReference.name of type string",
    ),
    (
        {"template": {"spec": {"containers": [{"resources": {"limits": True}}]}}},
        "bool into Go struct field ResourceRequirements.spec.template.spec.containers.resources.limits of type "
        "v1.ResourceList",
    ),
]


@pytest.mark.parametrize(("spec", "message"), MISMATCHES)
def test_a_wrong_type_is_refused_in_gos_words(spec: Object, message: str) -> None:
    assert complaint("apps/v1", "Deployment", spec=spec) == f"json: cannot unmarshal {message}"


def test_an_object_in_place_of_a_struct() -> None:
    message = "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec"
    assert complaint("apps/v1", "Deployment", spec=[]) == message


@pytest.mark.parametrize("quantity", ["x", True, "1Zi", {}])
def test_a_bad_quantity_is_refused(quantity: Any) -> None:
    assert "quantities must match the regular expression" in complaint(
        "v1", "Pod", spec={"containers": [{"resources": {"limits": {"cpu": quantity}}}]}
    )


@pytest.mark.parametrize(
    ("text", "position"),
    [("??", 0), ("aGk", 0), ("aGkaG?=", 5), ("aGk==", 4), ("aG=k", 2), ("aGk=aGk=", 4), ("äaaa", 0), ("aG=", 3)],
)
def test_bad_base64_is_refused_where_go_stops(text: str, position: int) -> None:
    assert complaint("v1", "Secret", data={"x": text}) == f"illegal base64 data at input byte {position}"


def test_base64_may_be_broken_into_lines_and_end_in_stray_bits() -> None:
    assert shaped("v1", "Secret", data={"x": "aG\nk=", "y": "aGl="})["data"] == {"x": "aGk=", "y": "aGk="}


@given(st.binary(max_size=40))
def test_bytes_come_back_as_they_were(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert shaped("v1", "Secret", data={"x": text})["data"] == {"x": text}


MICRO_TIMES = [
    ("2020-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
    ("2020-01-01T00:00:00.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
    ("x", 'cannot parse "x" as "2006"'),
    ("", 'cannot parse "" as "2006"'),
]


@pytest.mark.parametrize(("text", "why"), MICRO_TIMES)
def test_micro_times_need_six_digits(text: str, why: str) -> None:
    found = complaint("coordination.k8s.io/v1", "Lease", spec={"acquireTime": text})
    assert found == f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": {why}'


def test_schemas_of_definitions_are_read_with_their_unions() -> None:
    schema = {"additionalProperties": True, "items": {"type": "string"}, "x": 1, "default": {"any": [1, None]}}
    spec = {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}
    found, unknown = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=spec)
    kept = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert kept == {"additionalProperties": True, "items": {"type": "string"}, "default": {"any": [1, None]}}
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.x"]
