"""The contract: versions found by label, and the same fields read wherever a provider has them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kapstan.cluster.api.core.cluster import APIEndpoint
from kapstan.cluster.contract.objects import (
    BootstrapConfig,
    ContractViolation,
    ControlPlane,
    InfraCluster,
    InfraMachine,
)
from kapstan.cluster.contract.version import Contract, NoContract, contract_of, crd_name
from kapstan.machinery.gvk import GroupKind, GroupVersionKind

KIND = GroupKind("infrastructure.cluster.x-k8s.io", "DockerMachine")
NEW, OLD = Contract("v1beta2", "v1"), Contract("v1beta1", "v1alpha1")


def an_object(**parts: Any) -> dict[str, Any]:
    return {"apiVersion": "x/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "b"}, **parts}


@pytest.mark.parametrize(
    ("labels", "contract"),
    [
        pytest.param({"cluster.x-k8s.io/v1beta2": "v1beta1_v1beta2"}, Contract("v1beta2", "v1beta2"), id="newest"),
        pytest.param({"cluster.x-k8s.io/v1beta2": "v1_v2alpha1"}, Contract("v1beta2", "v1"), id="most stable"),
        pytest.param({"cluster.x-k8s.io/v1beta1": "v1beta1"}, Contract("v1beta1", "v1beta1"), id="old contract"),
        pytest.param(
            {"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"},
            Contract("v1beta2", "v1beta2"),
            id="both contracts",
        ),
    ],
)
def test_the_contract_is_found_by_label(labels: dict[str, str], contract: Contract) -> None:
    assert contract_of(KIND, labels) == contract


def test_a_crd_without_label_is_refused_by_name() -> None:
    with pytest.raises(NoContract, match=r"dockermachines\.infrastructure\.cluster\.x-k8s\.io has no label"):
        contract_of(KIND, {"cluster.x-k8s.io/v1beta2": ""})


def test_names_follow_from_the_kind() -> None:
    assert crd_name(GroupKind("g", "OpenStackClusterIdentity")) == "openstackclusteridentities.g"
    assert NEW.kind(KIND) == GroupVersionKind(KIND.group, "v1", KIND.kind)


def test_provisioned_is_read_where_each_contract_has_it() -> None:
    assert InfraCluster(an_object(status={"initialization": {"provisioned": True}}), NEW).provisioned
    assert not InfraCluster(an_object(status={"ready": True}), NEW).provisioned
    assert InfraMachine(an_object(status={"ready": True}), OLD).provisioned
    assert not InfraMachine(an_object(), OLD).provisioned


def test_an_endpoint_needs_host_and_port() -> None:
    half = InfraCluster(an_object(spec={"controlPlaneEndpoint": {"host": "h", "port": 0}}), NEW)
    whole = ControlPlane(an_object(spec={"controlPlaneEndpoint": {"host": "h", "port": 6443}}), NEW)
    assert half.endpoint is None
    assert whole.endpoint == APIEndpoint(host="h", port=6443)


def test_failure_domains_are_a_list_or_a_map() -> None:
    listed = InfraCluster(
        an_object(status={"failureDomains": [{"name": "z", "controlPlane": True}, {"name": "a"}]}), NEW
    )
    mapped = InfraCluster(an_object(status={"failureDomains": {"z": {"controlPlane": True}, "a": {}}}), OLD)
    assert [(d.name, d.control_plane) for d in listed.failure_domains] == [("z", True), ("a", False)]
    assert [(d.name, d.control_plane) for d in mapped.failure_domains] == [("a", False), ("z", True)]


def test_bootstrap_data_is_read_where_each_contract_has_it() -> None:
    new = BootstrapConfig(an_object(status={"dataSecretName": "s", "initialization": {"dataSecretCreated": True}}), NEW)
    old = BootstrapConfig(an_object(status={"dataSecretName": "s", "ready": True}), OLD)
    assert new.data_secret_created
    assert old.data_secret_created
    assert old.data_secret_name == "s"


def test_a_control_plane_s_counters_are_read_where_each_contract_has_them() -> None:
    status = {"replicas": 3, "unavailableReplicas": 1, "updatedReplicas": 2, "initialized": True, "version": "v1.36.0"}
    old = ControlPlane(an_object(status=status), OLD)
    assert (old.available_replicas, old.up_to_date_replicas, old.initialized) == (2, 2, True)
    assert [count.version for count in old.versions] == ["v1.36.0"]
    new = ControlPlane(an_object(status={"availableReplicas": 0, "externalManagedControlPlane": True}), NEW)
    assert (new.available_replicas, new.up_to_date_replicas) == (0, None)
    assert new.externally_managed


def test_conditions_of_v1beta1_are_read_leniently() -> None:
    ready = InfraMachine(an_object(status={"conditions": [{"type": "Ready", "status": "True"}]}), OLD).condition(
        "Ready"
    )
    assert ready is not None
    assert (ready.status, ready.reason) == ("True", "")
    both = {
        "conditions": [{"type": "Ready", "status": "False"}],
        "v1beta2": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    newer = InfraMachine(an_object(status=both), OLD).condition("Ready")
    assert newer is not None
    assert newer.status == "True"


def test_a_field_of_the_wrong_type_names_the_provider_s_object_and_path() -> None:
    with pytest.raises(ContractViolation, match=r"Thing b/a: \.spec\.providerID"):
        _ = InfraMachine(an_object(spec={"providerID": 3}), NEW).provider_id


def test_a_condition_keeps_the_time_at_which_it_changed() -> None:
    told = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z"},
        {"type": "Odd", "status": "True", "lastTransitionTime": "yesterday"},
    ]
    view = InfraMachine(an_object(status={"conditions": told}), NEW)
    ready, odd = view.condition("Ready"), view.condition("Odd")
    assert ready is not None and odd is not None
    assert ready.last_transition_time == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert odd.last_transition_time is None
