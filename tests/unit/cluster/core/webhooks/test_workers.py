"""Defaults and rules of MachineSets and MachineDeployments."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cluster.core.builders import a_deployment, a_set, a_template

from kapstan.cluster.core.webhooks.machinedeployment import (
    default_machine_deployment,
    deployment_errors,
    validate_machine_deployment,
)
from kapstan.cluster.core.webhooks.machineset import default_machine_set, validate_machine_set
from kapstan.cluster.core.webhooks.workers import default_workers, worker_errors
from kapstan.machinery.errors import Invalid

AUTOSCALED = {
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "2",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "5",
}


def test_a_set_is_defaulted() -> None:
    machine_set = a_set(replicas=None, template=a_template("1.36.0"))
    default_machine_set(machine_set)
    assert machine_set.spec.replicas == 1
    assert machine_set.metadata.labels == {"cluster.x-k8s.io/cluster-name": "c"}
    assert machine_set.spec.selector.match_labels == {"cluster.x-k8s.io/set-name": "s"}
    assert machine_set.spec.template.metadata is not None
    assert machine_set.spec.template.metadata.labels == {"cluster.x-k8s.io/set-name": "s"}
    assert machine_set.spec.template.spec.version == "v1.36.0"
    validate_machine_set(machine_set, None)


def test_a_deployment_is_defaulted() -> None:
    deployment = a_deployment()
    default_machine_deployment(deployment)
    labels = {"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": "d"}
    assert deployment.spec.selector.match_labels == labels
    assert deployment.spec.rollout is not None and deployment.spec.rollout.strategy is not None
    rolling = deployment.spec.rollout.strategy.rolling_update
    assert rolling is not None and (rolling.max_surge, rolling.max_unavailable) == (1, 0)
    validate_machine_deployment(deployment, None)


def test_what_is_given_is_kept() -> None:
    given = {"strategy": {"type": "OnDelete"}}
    deployment = a_deployment(
        0, rollout=given, selector={"matchLabels": {"a": "b"}}, template=a_template(labels={"a": "b"})
    )
    default_machine_deployment(deployment)
    assert deployment.spec.replicas == 0
    assert deployment.spec.rollout is not None and deployment.spec.rollout.strategy is not None
    assert deployment.spec.rollout.strategy.rolling_update is None
    assert deployment.spec.selector.match_labels == {"a": "b", "cluster.x-k8s.io/cluster-name": "c"}
    again = a_deployment(0, rollout=given, selector={"matchLabels": {"a": "b"}}, template=a_template(labels={"a": "b"}))
    default_machine_deployment(again)
    default_machine_deployment(again)
    assert again == deployment


@pytest.mark.parametrize(("before", "replicas"), [(None, 2), (1, 2), (3, 3), (9, 5)])
def test_the_autoscaler_takes_over_within_its_range(before: int | None, replicas: int) -> None:
    old = a_set(replicas=before) if before is not None else None
    new = a_set(replicas=None, metadata={"annotations": AUTOSCALED})
    default_workers(new, old, name_label="n", cluster_label=False)
    assert new.spec.replicas == replicas


def test_a_range_that_is_no_number_is_refused() -> None:
    annotations = {**AUTOSCALED, "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "few"}
    new = a_set(replicas=None, metadata={"annotations": annotations})
    with pytest.raises(ValueError, match="is a number of machines, got 'few'"):
        default_machine_set(new)


def changed(**spec: Any) -> dict[str, Any]:
    template = a_template()
    template["spec"] |= spec
    return {"template": template}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param(changed(bootstrap={}), "spec.template.spec.bootstrap", id="no bootstrap"),
        pytest.param(changed(version="v1.36"), "spec.template.spec.version", id="half a version"),
        pytest.param(changed(clusterName="x"), "spec.clusterName", id="two clusters"),
        pytest.param({"selector": {"matchLabels": {"a": "b"}}}, "spec.template.metadata.labels", id="no match"),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Within"}]}}, "spec.selector", id="no selector"
        ),
        pytest.param({"machineNaming": {"template": "x"}}, "spec.machineNaming.template", id="no random"),
        pytest.param({"machineNaming": {"template": "X{{ .random }}"}}, "spec.machineNaming.template", id="no name"),
        pytest.param(
            {"metadata": {"annotations": {"machineset.cluster.x-k8s.io/skip-preflight-checks": "Some"}}},
            "metadata.annotations.machineset.cluster.x-k8s.io/skip-preflight-checks",
            id="no check",
        ),
        pytest.param({"template": a_template(labels={"a b": "c"})}, "spec.template.metadata.labels", id="no label"),
        pytest.param(
            changed(taints=[{"key": "node.kubernetes.io/x", "effect": "NoSchedule", "propagation": "Always"}]),
            "spec.template.spec.taints[0].key",
            id="a taint of Kubernetes",
        ),
    ],
)
def test_sets_that_are_refused(changes: dict[str, Any], field: str) -> None:
    assert [error.field for error in worker_errors(a_set(**changes), None)] == [field]


def test_the_cluster_stays() -> None:
    old = a_deployment(clusterName="other", template=a_template())
    assert [error.field for error in worker_errors(a_deployment(), old)] == ["spec.clusterName"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"metadata": {"name": "d" * 64}}, "metadata.name"),
        ({"remediation": {"maxInFlight": "some"}}, "spec.remediation.maxInFlight"),
        ({"rolling": {"maxSurge": "x"}}, "spec.rollout.strategy.rollingUpdate.maxSurge"),
        ({"rolling": {"maxUnavailable": "5"}}, "spec.rollout.strategy.rollingUpdate.maxUnavailable"),
        ({"rolling": {"maxSurge": 0, "maxUnavailable": 0}}, "spec.rollout.strategy.rollingUpdate"),
    ],
)
def test_deployments_that_are_refused(changes: dict[str, Any], field: str) -> None:
    changes = dict(changes)
    if "rolling" in changes:
        changes["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": changes.pop("rolling")}}
    deployment = a_deployment(**changes)
    assert [error.field for error in deployment_errors(deployment, None)] == [field]
    with pytest.raises(Invalid, match=r'MachineDeployment\.cluster\.x-k8s\.io "d+" is invalid'):
        validate_machine_deployment(deployment, None)
