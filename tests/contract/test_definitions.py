"""What the CRDs of every provider have to say."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.cluster.contract.version import contract_of, crd_name
from kapstan.generate.crd import crd_of
from kapstan.machinery.gvk import GroupKind
from kapstan.machinery.model import Resource

from .providers import CONTROL_PLANES, INFRA_CLUSTERS, INFRA_MACHINES, PROVIDERS, Provider, Sample

KINDS = [kind for provider in PROVIDERS for sample in provider.samples for kind in sample.kinds]
SAMPLES = [sample for provider in PROVIDERS for sample in provider.samples]


def name_of(value: type[Resource] | Sample) -> str:
    return (value.kind if isinstance(value, Sample) else value).__name__


def schema_of(kind: type[Resource], *path: str) -> dict[str, Any]:
    """The schema at a path; an AssertionError names what is not there."""
    (version,) = crd_of(kind)["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    for step in path:
        assert step in schema.get("properties", {}), f"{kind.__name__} has no .{'.'.join(path)}"
        schema = schema["properties"][step]
    return schema


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_a_kind_is_namespaced_and_says_which_contract_it_follows(kind: type[Resource]) -> None:
    """Core finds the CRD by the name that follows from the kind, and the version by its label."""
    crd = crd_of(kind)
    group_kind = GroupKind(crd["spec"]["group"], kind.__name__)
    assert crd["metadata"]["name"] == crd_name(group_kind)
    assert crd["spec"]["scope"] == "Namespaced"
    contract = contract_of(group_kind, crd["metadata"]["labels"])
    assert contract.name == "v1beta2"
    assert contract.version in [version["name"] for version in crd["spec"]["versions"] if version["served"]]
    assert "cluster-api" in crd["spec"]["names"]["categories"]


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_template_has_the_name_of_its_kind_and_makes_it_whole(sample: Sample) -> None:
    """Metadata and spec are copied from it: it may ask for nothing that the kind does not have."""
    assert sample.template.__name__ == f"{sample.kind.__name__}Template"
    made = schema_of(sample.kind, "spec")["properties"]
    template = schema_of(sample.template, "spec", "template", "spec").get("properties", {})
    assert template.keys() <= made.keys()
    for name in ("labels", "annotations"):
        assert schema_of(sample.template, "spec", "template", "metadata", name)["type"] == "object"


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_kind_has_a_status_with_conditions(sample: Sample) -> None:
    (version,) = crd_of(sample.kind)["spec"]["versions"]
    assert "status" in version["subresources"]
    conditions = schema_of(sample.kind, "status", "conditions")
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert schema_of(sample.kind, "status", "observedGeneration")["type"] == "integer"


@pytest.mark.parametrize("provider", INFRA_CLUSTERS, ids=str)
def test_infrastructure_of_clusters_has_the_fields_of_the_contract(provider: Provider) -> None:
    assert provider.infra_cluster is not None
    kind = provider.infra_cluster.kind
    assert schema_of(kind, "status", "initialization", "provisioned")["type"] == "boolean"
    assert schema_of(kind, "spec", "controlPlaneEndpoint", "host")["type"] == "string"
    assert schema_of(kind, "spec", "controlPlaneEndpoint", "port")["type"] == "integer"
    assert schema_of(kind, "status", "failureDomains")["type"] == "array"


@pytest.mark.parametrize("provider", INFRA_MACHINES, ids=str)
def test_infrastructure_of_machines_has_the_fields_of_the_contract(provider: Provider) -> None:
    assert provider.infra_machine is not None
    kind = provider.infra_machine.kind
    assert schema_of(kind, "status", "initialization", "provisioned")["type"] == "boolean"
    assert schema_of(kind, "spec", "providerID")["type"] == "string"
    assert schema_of(kind, "status", "addresses")["type"] == "array"
    assert schema_of(kind, "status", "failureDomain")["type"] == "string"
    template = schema_of(provider.infra_machine.template, "spec", "template", "spec").get("properties", {})
    assert "providerID" not in template, "two machines cannot be the same computer"


@pytest.mark.parametrize("provider", CONTROL_PLANES, ids=str)
def test_control_planes_have_the_fields_of_the_contract(provider: Provider) -> None:
    assert provider.control_plane is not None
    kind = provider.control_plane.kind
    assert schema_of(kind, "status", "initialization", "controlPlaneInitialized")["type"] == "boolean"
    assert schema_of(kind, "spec", "version")["type"] == "string"
    if "replicas" in schema_of(kind, "spec")["properties"]:
        counters = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
        assert all(schema_of(kind, "status", name)["type"] == "integer" for name in counters)
        assert schema_of(kind, "status", "selector")["type"] == "string"
        (version,) = crd_of(kind)["spec"]["versions"]
        assert version["subresources"]["scale"]["labelSelectorPath"] == ".status.selector"
