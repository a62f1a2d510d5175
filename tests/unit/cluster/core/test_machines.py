"""Many machines as one condition."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.cluster.core.builders import EPOCH, a_condition, a_machine

from kapstan.cluster.core.machinedeployment.status import rolling_out
from kapstan.cluster.core.machines import delayed, machines_up_to_date, remediating


def test_new_machines_are_not_said_to_be_out_of_date() -> None:
    machines = [a_machine()]
    assert machines_up_to_date("T", machines, now=EPOCH + timedelta(seconds=5)).reason == "NoReplicas"
    assert machines_up_to_date("T", machines, now=EPOCH + timedelta(seconds=15)).status == "Unknown"


def test_remediating() -> None:
    sick = a_condition("HealthCheckSucceeded", "False")
    left = remediating([a_machine("b", sick), a_machine("a", sick)], by="MachineSet")
    assert left.message == "Machines a, b are not healthy (not to be remediated by MachineSet)"
    chosen = a_machine("b", sick, a_condition("OwnerRemediated", "False", message="Machine is deleting"))
    found = remediating([chosen, a_machine("a", sick)])
    assert (found.status, found.message) == ("True", "* Machine b: Machine is deleting")
    assert remediating([a_machine()]).message == ""


def test_deletions_that_take_long_are_told() -> None:
    said = a_condition("Deleting", "True", "DrainingNode", "* Pod x: failed to evict Pod, x")
    drained = {"deletion": {"nodeDrainStartTime": EPOCH.isoformat()}}
    machine = a_machine("m", said, metadata={"deletionTimestamp": EPOCH.isoformat()}, status=drained)
    assert delayed([machine], now=EPOCH + timedelta(minutes=14)) == ""
    told = "Machine m is in deletion since more than 15m, delay likely due to Pod eviction errors"
    assert delayed([machine, a_machine("n")], now=EPOCH + timedelta(minutes=16)) == told


def test_a_change_of_version_is_told_first() -> None:
    said = a_condition("UpToDate", "False", message="* Failure domain a, b required\n* Version v1, v2 required")
    found = rolling_out([a_machine("a", said), a_machine("b", said), a_machine("c")])
    assert found.message == (
        "Rolling out 2 not up-to-date replicas\n* Version v1, v2 required\n* Failure domain a, b required"
    )
    assert rolling_out([]).status == "False"
