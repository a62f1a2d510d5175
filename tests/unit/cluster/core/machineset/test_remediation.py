"""Which unhealthy machines are replaced, and how many at once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cluster.core.builders import a_condition, a_deployment, a_machine

from kapstan.cluster.core.machineset.remediation import allowed_at_once, to_remediate

UNHEALTHY = (a_condition("HealthCheckSucceeded", "False"), a_condition("OwnerRemediated", "False"))
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def test_marked_machines_first_then_the_newest() -> None:
    machines = [
        a_machine("old", *UNHEALTHY, age=3),
        a_machine("young", *UNHEALTHY, age=1),
        a_machine("marked", *UNHEALTHY, age=9, metadata={"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}),
        a_machine("well", a_condition("HealthCheckSucceeded")),
        a_machine("left-to-others", UNHEALTHY[0]),
        a_machine("going", *UNHEALTHY, metadata=DELETED),
    ]
    assert [machine.name for machine in to_remediate(machines)] == ["marked", "young", "old"]


@pytest.mark.parametrize(
    ("limit", "in_flight", "room"), [(None, 1, None), (2, 0, 2), (2, 1, 1), (1, 2, 0), ("50%", 0, 2), ("1%", 0, 1)]
)
def test_how_many_at_once(limit: Any, in_flight: int, room: int | None) -> None:
    """What is being replaced counts; percentages are rounded up."""
    remediation = {"remediation": {"maxInFlight": limit}} if limit is not None else {}
    said = a_condition("OwnerRemediated", "False", "MachineDeleting")
    machines = [a_machine(f"m{index}", said, metadata=DELETED) for index in range(in_flight)]
    machines.append(a_machine("other", metadata=DELETED))
    assert allowed_at_once(a_deployment(4, **remediation), machines) == room
    assert allowed_at_once(None, machines) is None
