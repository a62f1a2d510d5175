"""When a machine counts as unhealthy, and when one has to look again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.common import HealthChecks
from kapstan.cluster.core.machinehealthcheck.health import Target, Verdict, judge
from kapstan.k8s.core_v1 import Node
from kapstan.machinery.codec import convert

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Generic", "name": "x"}
UP = ("ControlPlaneInitialized", "InfrastructureReady")


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


def a_condition(type: str, status: str = "True", age: float = 3600) -> dict[str, Any]:
    return {"type": type, "status": status, "reason": "Because", "lastTransitionTime": ago(age)}


def a_cluster(*types: str, age: float = 3600) -> Cluster:
    told = [a_condition(type, age=age) for type in types]
    return convert({"metadata": {"name": "c"}, "spec": {}, "status": {"conditions": told}}, Cluster)


def a_machine(*conditions: dict[str, Any], node: str = "", age: float = 3600, **metadata: Any) -> Machine:
    meta = {"name": "m", "namespace": "ns", "creationTimestamp": ago(age), **metadata}
    status: dict[str, Any] = {"conditions": list(conditions)}
    if node:
        status["nodeRef"] = {"name": node}
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REF}
    return convert({"metadata": meta, "spec": spec, "status": status}, Machine)


def a_node(*conditions: dict[str, Any]) -> Node:
    return convert({"metadata": {"name": "n"}, "status": {"conditions": list(conditions)}}, Node)


CHECKS = convert(
    {
        "nodeStartupTimeoutSeconds": 300,
        "unhealthyNodeConditions": [
            {"type": "Ready", "status": "False", "timeoutSeconds": 60},
            {"type": "Ready", "status": "Unknown", "timeoutSeconds": 120},
        ],
        "unhealthyMachineConditions": [{"type": "InfrastructureReady", "status": "False", "timeoutSeconds": 90}],
    },
    HealthChecks,
)


def judged(target: Target, cluster: Cluster | None = None, checks: HealthChecks = CHECKS) -> Verdict:
    return judge(target, cluster or a_cluster(*UP), checks, NOW)


def why(verdict: Verdict) -> tuple[str, str]:
    assert verdict.condition is not None
    return verdict.condition.reason, verdict.condition.message


def test_a_machine_with_a_good_node_is_healthy() -> None:
    verdict = judged(Target(a_machine(node="n"), a_node(a_condition("Ready"))))
    assert verdict.healthy
    assert verdict.due is None


def test_a_condition_that_has_lasted_for_too_long_is_unhealthy() -> None:
    verdict = judged(Target(a_machine(node="n"), a_node(a_condition("Ready", "Unknown", age=121))))
    message = "Condition Ready on Node is reporting status Unknown with reason Because for more than 2m0s"
    assert why(verdict) == ("UnhealthyNode", f"Health check failed:\n  * {message}")


def test_a_condition_that_may_still_recover_is_looked_at_exactly_when_its_time_is_over() -> None:
    verdict = judged(Target(a_machine(node="n"), a_node(a_condition("Ready", "False", age=50))))
    assert not verdict.healthy
    assert not verdict.unhealthy
    assert verdict.due == NOW + timedelta(seconds=10)


def test_conditions_of_the_machine_come_first_and_everything_is_told() -> None:
    machine = a_machine(a_condition("InfrastructureReady", "False", age=91), node="n")
    verdict = judged(Target(machine, a_node(a_condition("Ready", "False", age=61))))
    reason, message = why(verdict)
    assert reason == "UnhealthyMachine"
    assert message.splitlines() == [
        "Health check failed:",
        "  * Condition InfrastructureReady on Machine is reporting status False with reason Because "
        "for more than 1m30s",
        "  * Condition Ready on Node is reporting status False with reason Because for more than 1m0s",
    ]


def test_a_node_that_is_gone_is_unhealthy_at_once() -> None:
    verdict = judged(Target(a_machine(node="n"), node_gone=True))
    assert why(verdict) == ("NodeDeleted", "Health check failed:\n  * Node n has been deleted")


@pytest.mark.parametrize(
    ("machine", "cluster_age", "due"),
    [
        pytest.param({"age": 100}, 3600, 200, id="from its creation"),
        pytest.param({"age": 3600}, 50, 250, id="from when the cluster stood"),
        pytest.param({"age": 3600, "infrastructure": 20}, 3600, 280, id="from when its computer stood"),
    ],
)
def test_a_node_has_time_to_appear(machine: dict[str, Any], cluster_age: float, due: float) -> None:
    """The time counts from the latest of what a node needs."""
    told = [a_condition("InfrastructureReady", age=machine["infrastructure"])] if "infrastructure" in machine else []
    verdict = judged(Target(a_machine(*told, age=machine["age"])), a_cluster(*UP, age=cluster_age))
    assert verdict.condition is None
    assert verdict.due == NOW + timedelta(seconds=due)


def test_a_node_that_does_not_appear_is_unhealthy() -> None:
    verdict = judged(Target(a_machine(age=301)), a_cluster(*UP))
    assert why(verdict) == ("NodeStartupTimeout", "Health check failed:\n  * Node failed to report startup in 5m0s")


def test_the_start_up_time_out_can_be_switched_off_and_is_ten_minutes_by_default() -> None:
    waiting = Target(a_machine(age=599))
    off = judged(waiting, checks=HealthChecks(node_startup_timeout_seconds=0))
    assert (off.condition, off.due) == (None, None)
    assert judged(waiting, checks=HealthChecks()).due == NOW + timedelta(seconds=1)


def test_nobody_is_judged_before_the_cluster_stands() -> None:
    late = Target(a_machine(age=3000))
    assert judged(late, a_cluster("InfrastructureReady")) == Verdict(late)
    assert judged(late, a_cluster("ControlPlaneInitialized")) == Verdict(late)


def test_the_first_machine_of_a_control_plane_is_judged_before_it_is_initialized() -> None:
    machine = a_machine(age=3000, labels={"cluster.x-k8s.io/control-plane": ""})
    assert judged(Target(machine), a_cluster("InfrastructureReady")).unhealthy
    assert not judged(Target(machine), a_cluster()).unhealthy


def test_an_annotation_makes_a_machine_unhealthy_whatever_else_is_true() -> None:
    machine = a_machine(node="n", annotations={"cluster.x-k8s.io/remediate-machine": ""})
    verdict = judged(Target(machine, a_node(a_condition("Ready"))), a_cluster())
    assert why(verdict)[0] == "HasRemediateAnnotation"


def test_a_machine_that_goes_is_not_healthy() -> None:
    machine = a_machine(node="n", deletionTimestamp=ago(1))
    assert judged(Target(machine, a_node(a_condition("Ready")))).condition is None


@given(age=st.integers(0, 300), timeout=st.integers(0, 300))
def test_a_machine_is_either_unhealthy_or_looked_at_again_in_time(age: int, timeout: int) -> None:
    """Never too early, never too late, never forgotten."""
    checks = convert(
        {"unhealthyNodeConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": timeout}]}, HealthChecks
    )
    verdict = judged(Target(a_machine(node="n"), a_node(a_condition("Ready", "False", age=age))), checks=checks)
    assert verdict.unhealthy is (age >= timeout)
    assert (verdict.due is None) is verdict.unhealthy
    if verdict.due is not None:
        again = judge(verdict.target, a_cluster(*UP), checks, verdict.due)
        assert again.unhealthy
