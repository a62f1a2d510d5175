"""Typed built-in kinds: complete, faithful to what Kubernetes writes, cheap to import."""

from __future__ import annotations

import base64
import functools
import gzip
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kapstan import k8s
from kapstan.apiserver import builtin
from kapstan.apiserver.builtin.facts import definition_sources
from kapstan.k8s import apiextensions_v1, apps_v1, core_v1, events_v1, meta_v1, networking_v1, rbac_v1
from kapstan.k8s.core_v1 import Container, EnvVar, Pod, PodSpec, PodTemplateSpec, Secret
from kapstan.machinery import meta
from kapstan.machinery.base import Model
from kapstan.machinery.codec import decode, encode, to_builtins
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.meta import LabelSelector, MicroTime, ObjectMeta, Quantity
from kapstan.machinery.model import Resource, ResourceInfo, resource_info
from kapstan.machinery.schema import Schema
from kapstan.machinery.scheme import SCHEME

VECTORS = Path(__file__).parents[1] / "apiserver/protobuf/vectors/bodies.ndjson.gz"
MODULES = [importlib.import_module(f"kapstan.k8s.{name}") for name in k8s.__all__ if name != "meta_v1"]
CLASSES: list[type[Model]] = [getattr(module, name) for module in MODULES for name in module.__all__]
KINDS = [cls for cls in CLASSES if issubclass(cls, Resource)]
MISSING: Any = object()
ZEROS: dict[str, Any] = {"array": [], "object": {}, "string": "", "byte": "", "int32": 0, "int64": 0, "boolean": False}
SERVED = [kind for kind in KINDS if resource_info(kind).served]


def definition(cls: type) -> dict[str, Any]:
    """The only definition of that name in the class' group and version."""
    group, _, version = cls.__module__.rpartition(".")[2].rpartition("_")
    found = [
        source for name, source in definition_sources().items() if name.endswith(f".{group}.{version}.{cls.__name__}")
    ]
    assert len(found) == 1
    return dict(found[0])


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_a_class_has_the_fields_of_its_definition(cls: type[Model]) -> None:
    properties = set(definition(cls).get("properties", ()))
    if issubclass(cls, Resource):
        properties |= {"apiVersion", "kind", "metadata"}
    assert set(cls.__struct_encode_fields__) == properties
    msgspec.inspect.type_info(cls)  # every annotation resolves


@pytest.mark.parametrize("kind", SERVED, ids=lambda kind: resource_info(kind).gvk)
def test_a_kind_is_registered_as_the_server_serves_it(kind: type[Resource]) -> None:
    info = resource_info(kind)
    facts = next(found for found in builtin.resources(info.group, info.version) if found.kind == info.kind)
    assert info == ResourceInfo(
        group=info.group,
        version=info.version,
        kind=facts.kind,
        plural=facts.name,
        singular=facts.singular,
        list_kind=f"{facts.kind}List",
        scope="Namespaced" if facts.namespaced else "Cluster",
        short_names=facts.short_names,
        categories=facts.categories,
        subresources=tuple(sub.name for sub in facts.subresources),
        builtin=True,
    )
    assert SCHEME.find(info.gvk) is kind


def test_bodies_of_subresources_are_kinds_that_nobody_lists() -> None:
    unserved = {resource_info(kind).kind for kind in KINDS if not resource_info(kind).served}
    assert unserved == {"Eviction", "Scale", "TokenRequest"}


@functools.cache
def recorded() -> dict[GroupVersionKind, list[dict[str, Any]]]:
    """Random objects as Go writes them (see the protobuf decoder's tests)."""
    found: dict[GroupVersionKind, list[dict[str, Any]]] = {}
    for line in gzip.decompress(VECTORS.read_bytes()).splitlines():
        obj = json.loads(line)["json"]
        found.setdefault(GroupVersionKind.of(obj["apiVersion"], obj["kind"]), []).append(obj)
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: resource_info(kind).gvk)
def test_what_go_writes_is_read_and_written_again(kind: type[Resource]) -> None:
    info = resource_info(kind)
    name = builtin.definition_name(info.group, info.version, info.kind)
    assert name is not None
    for random in recorded()[info.gvk]:
        obj = valid(random, builtin.definitions().schema(name))
        decoded = decode(json.dumps(obj).encode(), kind)
        written = json.loads(encode(decoded))
        for claim in written.get("spec", {}).get("volumeClaimTemplates", ()):
            assert (claim.pop("apiVersion"), claim.pop("kind")) == ("v1", "PersistentVolumeClaim")
        assert without_zeros(written) == without_zeros(obj)
        assert decode(encode(decoded), kind) == decoded


def valid(value: Any, schema: Schema) -> Any:
    """Random objects lack things that a server would insist on: references, and conditions with a real status."""
    if isinstance(value, dict) and schema.properties:
        missing = {name: MISSING for name in schema.required if value.get(name) is None}
        found = {name: valid(part, schema.property(name) or schema) for name, part in (value | missing).items()}
        return found | {"status": "True"} if schema.ref.endswith(".Condition") else found
    if isinstance(value, list) and schema.items is not None:
        return [valid(part, schema.items) for part in value]
    if value is MISSING:
        return valid({}, schema) if schema.properties else ZEROS.get(schema.format or schema.type)
    return value


def without_zeros(part: Any) -> Any:
    """Null, empty and zero values are dropped: whether they are written depends on Go's tags."""
    if isinstance(part, dict):
        kept = {key: without_zeros(value) for key, value in part.items()}
        return {key: value for key, value in kept.items() if value}
    return [without_zeros(value) for value in part] if isinstance(part, list) else part


def test_a_deployment_reads_in_python_as_it_does_in_yaml() -> None:
    labels = {"app": "web"}
    web = Container(name="web", image="web:1", env=[EnvVar(name="A", value="b")])
    web.resources = core_v1.ResourceRequirements(limits={"cpu": Quantity("500m")})
    deployment = apps_v1.Deployment(
        metadata=ObjectMeta(name="web", namespace="team-a"),
        spec=apps_v1.DeploymentSpec(
            replicas=0,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[web])),
        ),
    )
    assert to_builtins(deployment) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "web:1",
                            "env": [{"name": "A", "value": "b"}],
                            "resources": {"limits": {"cpu": "500m"}},
                        }
                    ]
                },
            },
        },
        "status": {},
    }


def test_what_the_api_requires_python_requires() -> None:
    with pytest.raises(TypeError, match="name"):
        Container(image="web:1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="spec"):
        apps_v1.Deployment()  # type: ignore[call-arg]
    assert Pod().spec.containers == []


def test_an_object_without_a_status_of_its_own_has_an_empty_one() -> None:
    pod = decode(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[]}}', Pod)
    assert pod.status.phase is None
    assert pod.status.container_statuses == []


def test_each_object_has_its_own_lists() -> None:
    first, second = Pod(), Pod()
    first.spec.containers.append(Container(name="a"))
    assert second.spec.containers == []


def test_bytes_are_bytes() -> None:
    secret = Secret(data={"password": b"\x00secret"})
    assert to_builtins(secret)["data"] == {"password": base64.b64encode(b"\x00secret").decode()}
    assert decode(encode(secret), Secret).data == {"password": b"\x00secret"}


def test_acronyms_and_keywords_keep_their_json_names() -> None:
    status = core_v1.PodStatus(pod_ips=[core_v1.PodIP(ip="10.0.0.1")], host_ip="10.0.0.2")
    assert to_builtins(status) == {"podIPs": [{"ip": "10.0.0.1"}], "hostIP": "10.0.0.2"}
    peer = networking_v1.NetworkPolicyPeer(ip_block=networking_v1.IPBlock(cidr="10.0.0.0/8", except_=["10.1.0.0/16"]))
    assert to_builtins(networking_v1.NetworkPolicyIngressRule(from_=[peer])) == {
        "from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]
    }


def test_schemas_hold_schemas() -> None:
    document = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
        "additionalProperties": False,
        "not": {"$ref": "x"},
        "default": {"a": []},
        "x-kubernetes-list-map-keys": ["a"],
    }
    schema = decode(json.dumps(document).encode(), apiextensions_v1.JSONSchemaProps)
    inner = schema.properties["a"]
    assert isinstance(inner.items, apiextensions_v1.JSONSchemaProps)
    assert inner.items.type == "string"
    assert schema.not_ is not None and schema.not_.ref == "x"
    assert to_builtins(schema) == document


def test_times_that_go_writes_as_null_are_absent() -> None:
    event = decode(b'{"metadata":{"name":"a"},"eventTime":null}', events_v1.Event)
    assert event.event_time is None
    event.event_time = MicroTime(2026, 1, 2, 3, 4, 5, 60, tzinfo=meta.now().tzinfo)
    assert to_builtins(event)["eventTime"] == "2026-01-02T03:04:05.000060Z"


def test_rules_that_go_writes_as_null_are_empty() -> None:
    role = decode(b'{"metadata":{"name":"a"},"rules":null}', rbac_v1.ClusterRole)
    assert role.rules == []


def test_meta_v1_has_all_that_the_machinery_has() -> None:
    assert set(meta_v1.__all__) == {*meta.__all__, "FieldSelectorRequirement"}
    for name in meta.__all__:
        assert getattr(meta_v1, name) is getattr(meta, name)


def test_a_module_is_imported_only_when_it_is_used() -> None:
    program = """
import sys
import kapstan.k8s, kapstan.k8s.rbac_v1
loaded = [name for name in sys.modules if name.startswith("kapstan.k8s.")]
assert loaded == ["kapstan.k8s.rbac_v1"], loaded
assert kapstan.k8s.coordination_v1.Lease.__name__ == "Lease"
assert "core_v1" in dir(kapstan.k8s)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_group_version_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="core_v9"):
        k8s.core_v9  # noqa: B018
