"""Which machines go first."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cluster.core.builders import a_condition, a_machine

from kapstan.cluster.api.core.machineset import DeletionOrder
from kapstan.cluster.core.machineset.deletionorder import first_to_go

MACHINES = [
    a_machine("old", age=9),
    a_machine("young", age=1),
    a_machine("sick", a_condition("NodeHealthy", "False"), age=5),
    a_machine("unwell", a_condition("HealthCheckSucceeded", "False"), age=5),
    a_machine("unborn", age=5, status={"nodeRef": None}),
    a_machine(
        "changing", metadata={"annotations": {"in-place-updates.internal.cluster.x-k8s.io/update-in-progress": ""}}
    ),
    a_machine("marked", metadata={"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}),
    a_machine("going", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
]
FIRST = ["going", "marked", "changing", "sick", "unborn", "unwell"]


@pytest.mark.parametrize(
    ("order", "last"),
    [("Random", ["old", "young"]), ("Oldest", ["old", "young"]), ("Newest", ["young", "old"])],
)
def test_order(order: DeletionOrder, last: list[str]) -> None:
    assert [machine.name for machine in first_to_go(MACHINES, 99, order)] == [*FIRST, *last]


@pytest.mark.parametrize(("count", "names"), [(0, []), (-1, []), (2, FIRST[:2])])
def test_no_more_than_asked_for(count: int, names: list[str]) -> None:
    assert [machine.name for machine in first_to_go(MACHINES, count)] == names


def test_what_is_not_known_is_not_held_against_a_machine() -> None:
    conditions: list[Any] = [a_condition("NodeHealthy", "Unknown"), a_condition("HealthCheckSucceeded", "Unknown")]
    unknown = a_machine("z", *conditions)
    assert first_to_go([unknown, a_machine("a")], 1)[0].name == "a"
