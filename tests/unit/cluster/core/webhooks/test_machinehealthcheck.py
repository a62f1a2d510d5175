"""Defaults and rules of MachineHealthChecks."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.cluster.api.core import MachineHealthCheck
from kapstan.cluster.core.webhooks.machinehealthcheck import default_machine_health_check, health_check_errors
from kapstan.machinery.codec import convert

SOME = {"matchLabels": {"a": "b"}}


def a_check(**spec: Any) -> MachineHealthCheck:
    fields = {"clusterName": "c", "selector": SOME, **spec}
    return convert({"metadata": {"name": "h"}, "spec": fields}, MachineHealthCheck)


def test_label_and_time_out_are_defaulted() -> None:
    check = a_check()
    default_machine_health_check(check)
    assert check.metadata.labels == {"cluster.x-k8s.io/cluster-name": "c"}
    assert check.spec.checks is not None
    assert check.spec.checks.node_startup_timeout_seconds == 600


@pytest.mark.parametrize(
    ("new", "old", "errors"),
    [
        pytest.param(a_check(), None, [], id="fine"),
        pytest.param(
            a_check(selector={}), None, ["spec.selector: Required value: selector must not be empty"], id="all"
        ),
        pytest.param(
            a_check(clusterName="d"), a_check(), ["spec.clusterName: Forbidden: field is immutable"], id="moved"
        ),
        pytest.param(
            a_check(checks={"nodeStartupTimeoutSeconds": 29}),
            None,
            ["spec.checks.nodeStartupTimeoutSeconds: Invalid value: 29: must be at least 30s"],
            id="impatient",
        ),
        pytest.param(a_check(checks={"nodeStartupTimeoutSeconds": 0}), None, [], id="time-out off"),
        pytest.param(
            a_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": "3"}}),
            None,
            [
                'spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: Invalid value: "3": '
                "must be either an int or a percentage"
            ],
            id="no number",
        ),
    ],
)
def test_rules(new: MachineHealthCheck, old: MachineHealthCheck | None, errors: list[str]) -> None:
    assert [str(error) for error in health_check_errors(new, old)] == errors


def test_a_selector_must_be_readable_and_of_the_same_cluster() -> None:
    other = a_check(selector={"matchLabels": {"cluster.x-k8s.io/cluster-name": "d"}})
    (error,) = health_check_errors(other, None)
    assert "cannot specify a cluster selector other than the one specified by ClusterName" in str(error)
    unreadable = a_check(selector={"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]})
    (error,) = health_check_errors(unreadable, None)
    assert str(error).startswith("spec.selector: Invalid value")
