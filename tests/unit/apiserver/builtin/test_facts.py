"""The facts of built-in kinds: complete, consistent, without prose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kapstan.apiserver import builtin
from kapstan.apiserver.builtin.facts import definition_sources

SERVED = [(gv, resource) for gv in builtin.group_versions() for resource in gv.resources]
IDS = [f"{gv.api_version}/{resource.name}" for gv, resource in SERVED]


def test_group_versions_come_in_the_server_s_order_of_preference() -> None:
    served = [gv.api_version for gv in builtin.group_versions()]
    assert served[:4] == ["v1", "apiregistration.k8s.io/v1", "apps/v1", "events.k8s.io/v1"]
    assert served.index("autoscaling/v2") < served.index("autoscaling/v1")
    assert len(served) == len(set(served)) == 22


@pytest.mark.parametrize(("gv", "resource"), SERVED, ids=IDS)
def test_every_kind_that_a_resource_names_has_a_schema(gv: builtin.GroupVersion, resource: builtin.Resource) -> None:
    kinds = [(gv.group, gv.version, resource.kind)]
    if "list" in resource.verbs:
        kinds.append((gv.group, gv.version, f"{resource.kind}List"))
    # Options of streams are query parameters, not bodies.
    bodies = [sub for sub in resource.subresources if not sub.kind.endswith("Options")]
    kinds += [(sub.group if sub.version else gv.group, sub.version or gv.version, sub.kind) for sub in bodies]
    names = [builtin.definition_name(*kind) for kind in kinds]
    assert None not in names, dict(zip(kinds, names, strict=True))


def test_a_resource_tells_what_discovery_tells() -> None:
    apps = builtin.group_version("apps", "v1")
    assert apps is not None
    assert apps.path == "/apis/apps/v1"
    deployments = apps.resource("deployments")
    assert deployments is not None
    assert (deployments.kind, deployments.singular, deployments.namespaced) == ("Deployment", "deployment", True)
    assert deployments.short_names == ("deploy",)
    assert deployments.categories == ("all",)
    assert [sub.name for sub in deployments.subresources] == ["scale", "status"]
    scale = deployments.subresource("scale")
    assert scale is not None
    assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")
    assert deployments.subresource("eviction") is None


def test_deleting_a_pod_answers_with_the_pod_and_deleting_a_config_map_with_a_status() -> None:
    returned = {resource.name for resource in builtin.resources("", "v1") if resource.returns_deleted}
    assert "pods" in returned
    assert "configmaps" not in returned


def test_what_is_not_built_in_is_absent() -> None:
    assert builtin.group_version("cluster.x-k8s.io", "v1beta2") is None
    assert builtin.resources("apps", "v1beta1") == ()
    assert builtin.definition_name("apps", "v1", "Nothing") is None


def test_delete_options_are_one_kind_in_every_group() -> None:
    """Clients send them with the group-version they happen to speak."""
    name = builtin.definition_name("", "v1", "DeleteOptions")
    assert name == "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    assert builtin.definition_name("cluster.x-k8s.io", "v1beta2", "DeleteOptions") == name


def test_every_definition_compiles_and_every_reference_resolves() -> None:
    for name in definition_sources():
        assert builtin.definitions().schema(name).ref == name


def test_schemas_carry_what_patches_and_apply_need() -> None:
    spec = builtin.definitions().schema("io.k8s.api.core.v1.PodSpec")
    containers = spec.properties["containers"]
    assert (containers.list_type, tuple(containers.list_map_keys)) == ("map", ("name",))
    assert (tuple(containers.patch_strategies), containers.merge_key) == (("merge",), "name")
    assert tuple(spec.properties["volumes"].patch_strategies) == ("merge", "retainKeys")
    assert containers.items is not None
    ports = containers.items.properties["ports"]
    assert ports.items is not None
    assert ports.items.properties["protocol"].default == "TCP"
    assert spec.properties["restartPolicy"].enum == ["Always", "Never", "OnFailure"]
    assert spec.properties["nodeSelector"].map_type == "atomic"


def test_the_data_holds_facts_and_no_prose() -> None:
    for name, source in definition_sources().items():
        for part in schema_parts(source):
            assert "description" not in part, name


def test_the_data_is_shared() -> None:
    assert builtin.definitions() is builtin.definitions()
    assert builtin.group_versions() is builtin.group_versions()


def schema_parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for below in schema.get("properties", {}).values():
        yield from schema_parts(below)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            yield from schema_parts(schema[keyword])
    for keyword in ("allOf", "anyOf", "oneOf"):
        for below in schema.get(keyword, ()):
            yield from schema_parts(below)
