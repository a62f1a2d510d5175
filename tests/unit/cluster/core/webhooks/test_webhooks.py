"""Defaults and rules of core's kinds."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.cluster.api.core import Cluster, Machine, MachineDrainRule
from kapstan.cluster.core.webhooks import WEBHOOKS
from kapstan.cluster.core.webhooks.cluster import cluster_errors, default_cluster, upgrade_errors, validate_cluster
from kapstan.cluster.core.webhooks.machine import default_machine, machine_errors, validate_machine
from kapstan.cluster.core.webhooks.machinedrainrule import rule_errors
from kapstan.machinery.codec import convert
from kapstan.machinery.errors import Invalid
from kapstan.runtime.webhook.declaration import Admission, declared

REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Generic", "name": "x"}
TOPOLOGY = {"classRef": {"name": "k"}, "version": "v1.36.0"}


def a_cluster(name: str = "c", **spec: Any) -> Cluster:
    return convert({"metadata": {"name": name}, "spec": spec}, Cluster)


def a_machine(labels: dict[str, str] | None = None, **spec: Any) -> Machine:
    fields = {"clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "infrastructureRef": REF, **spec}
    return convert({"metadata": {"name": "m", "labels": labels or {}}, "spec": fields}, Machine)


@pytest.mark.parametrize(
    ("new", "old", "errors"),
    [
        pytest.param(a_cluster(infrastructureRef=REF), None, [], id="fine"),
        pytest.param(
            a_cluster(),
            None,
            [
                "spec: Forbidden: one of spec.controlPlaneRef, spec.infrastructureRef or spec.topology must be set",
            ],
            id="nothing to refer to",
        ),
        pytest.param(
            a_cluster(controlPlaneRef=REF),
            a_cluster(infrastructureRef=REF, controlPlaneRef=REF),
            ["spec.infrastructureRef: Forbidden: cannot be removed"],
            id="infrastructure taken away",
        ),
        pytest.param(
            a_cluster(
                infrastructureRef=REF,
                clusterNetwork={
                    "pods": {"cidrBlocks": ["10.0.0.0/8", "10.0.0.0"]},
                    "services": {"cidrBlocks": ["x/8", "10.96.0.0/255.240.0.0"]},
                },
            ),
            None,
            [
                'spec.clusterNetwork.pods.cidrBlocks[1]: Invalid value: "10.0.0.0": invalid CIDR address: 10.0.0.0',
                'spec.clusterNetwork.services.cidrBlocks[0]: Invalid value: "x/8": invalid CIDR address: x/8',
                'spec.clusterNetwork.services.cidrBlocks[1]: Invalid value: "10.96.0.0/255.240.0.0": '
                "invalid CIDR address: 10.96.0.0/255.240.0.0",
            ],
            id="ranges that are none",
        ),
        pytest.param(
            a_cluster(topology=TOPOLOGY),
            None,
            ["spec.topology: Forbidden: there is no ClusterClass controller; set the references instead"],
            id="a topology that nobody makes",
        ),
    ],
)
def test_clusters(new: Cluster, old: Cluster | None, errors: list[str]) -> None:
    assert [str(error) for error in cluster_errors(new, old)] == errors


def test_the_name_of_a_cluster_is_a_label() -> None:
    (error,) = cluster_errors(a_cluster("x" * 64, infrastructureRef=REF), None)
    assert "must be a valid label value must be no more than 63 bytes" in str(error)


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("v1.35.0", "v1.36.2", False),
        ("v1.36.0", "v1.36.0", False),
        ("v1.36.0-rc.1", "v1.36.0-rc.0", False),
        ("v1.36.0", "v1.35.9", True),
        ("v1.34.9", "v1.36.0", True),
        ("v1.34.9", "v1.36.0-alpha.1", True),
    ],
)
def test_versions_go_up_one_minor_at_a_time(before: str, after: str, refused: bool) -> None:
    cluster = a_cluster(topology=TOPOLOGY)
    assert bool(list(upgrade_errors(cluster, before, after))) is refused
    cluster.metadata.annotations["unsafe.topology.cluster.x-k8s.io/disable-update-version-check"] = ""
    assert not list(upgrade_errors(cluster, before, after))


def test_a_version_gets_its_v() -> None:
    cluster = a_cluster(topology={**TOPOLOGY, "version": "1.36.0"})
    default_cluster(cluster)
    assert cluster.spec.topology is not None and cluster.spec.topology.version == "v1.36.0"


def test_a_cluster_may_always_be_deleted() -> None:
    assert validate_cluster(None, a_cluster()) == []


def test_a_machine_is_defaulted() -> None:
    machine = a_machine(version="1.36.0")
    default_machine(machine)
    assert machine.metadata.labels == {"cluster.x-k8s.io/cluster-name": "c"}
    assert machine.spec.version == "v1.36.0"
    assert machine.spec.deletion is not None and machine.spec.deletion.node_deletion_timeout_seconds == 10
    kept = a_machine(deletion={"nodeDeletionTimeoutSeconds": 0})
    default_machine(kept)
    assert kept.spec.deletion is not None and kept.spec.deletion.node_deletion_timeout_seconds == 0


@pytest.mark.parametrize(
    ("new", "field"),
    [
        pytest.param(a_machine(bootstrap={}), "spec.bootstrap", id="no bootstrap"),
        pytest.param(a_machine(clusterName="other"), "spec.clusterName", id="another cluster"),
        pytest.param(a_machine(version="v1.36"), "spec.version", id="half a version"),
        pytest.param(
            a_machine(taints=[{"key": "node.kubernetes.io/x", "effect": "NoSchedule", "propagation": "Always"}]),
            "spec.taints[0].key",
            id="a taint of Kubernetes",
        ),
        pytest.param(
            a_machine(
                taints=[
                    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule", "propagation": "Always"}
                ]
            ),
            "spec.taints[0].key",
            id="a worker that poses as control plane",
        ),
    ],
)
def test_machines_that_are_refused(new: Machine, field: str) -> None:
    assert [error.field for error in machine_errors(new, a_machine())] == [field]
    with pytest.raises(Invalid, match=r'Machine\.cluster\.x-k8s\.io "m" is invalid') as refused:
        validate_machine(new, a_machine())
    assert refused.value.causes[0].field == field


def test_a_machine_of_a_pool_needs_no_bootstrap() -> None:
    assert not list(machine_errors(a_machine({"cluster.x-k8s.io/pool-name": "p"}, bootstrap={}), None))


def test_drain_rules() -> None:
    rule = convert(
        {
            "metadata": {"name": "r"},
            "spec": {
                "drain": {"behavior": "Skip", "order": 1},
                "pods": [{"selector": {"matchExpressions": [{"key": "a", "operator": "Within"}]}}],
            },
        },
        MachineDrainRule,
    )
    assert [str(error.field) for error in rule_errors(rule)] == ["spec.drain.order", "spec.pods[0].selector"]


def test_webhooks_are_declared_under_cluster_apis_names() -> None:
    """So that configurations of the real ones lead to ours."""
    found = [declared(webhook) for webhook in WEBHOOKS]
    names = {one.name: one.path for one in found if isinstance(one, Admission)}
    assert names["validation.cluster.cluster.x-k8s.io"] == "/validate-cluster-x-k8s-io-v1beta2-cluster"
    assert names["default.machine.cluster.x-k8s.io"] == "/mutate-cluster-x-k8s-io-v1beta2-machine"
    assert len(names) == len(WEBHOOKS)
