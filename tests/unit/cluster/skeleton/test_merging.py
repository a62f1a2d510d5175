"""Merging conditions into one."""

from __future__ import annotations

import pytest

from kapstan.cluster.skeleton.conditions import false, true, unknown
from kapstan.cluster.skeleton.merging import Reasons, Reported, aggregate, priority_of, summary
from kapstan.machinery.meta import Condition

REASONS = Reasons("Bad", "Unclear", "Good")
OF = ("Deleting", "Infra", "Node")


def summarised(*conditions: Condition, optional: tuple[str, ...] = ()) -> tuple[str, str, str]:
    result = summary(conditions, "Ready", OF, REASONS, priority=priority_of("Deleting"), optional=optional)
    return result.status, result.reason, result.message


WELL = (false("Deleting", "NotDeleting"), true("Infra", "Ready"), true("Node", "Ready"))


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param(WELL, ("True", "Good", ""), id="all is well"),
        pytest.param(
            (*WELL[:2], true("Node", "Ready", "with a word")), ("True", "Good", "* Node: with a word"), id="with a word"
        ),
        pytest.param(
            (
                true("Deleting", "Draining", "pods are left"),
                false("Infra", "Gone"),
                unknown("Node", "Lost", "no answer"),
            ),
            ("False", "Bad", "* Deleting: pods are left\n* Infra: Gone\n* Node: no answer"),
            id="issues and unknowns are told in order of relevance",
        ),
        pytest.param(
            (WELL[0], true("Infra", "Ready", "unimportant"), unknown("Node", "Lost")),
            ("Unknown", "Unclear", "* Node: Lost"),
            id="information is silent where something is unknown",
        ),
        pytest.param(WELL[:2], ("Unknown", "Unclear", "* Node: Condition not yet reported"), id="absent is unknown"),
        pytest.param(
            (*WELL[:2], false("Node", "Bad", "* one\n* two")),
            ("False", "Bad", "* Node:\n  * one\n  * two"),
            id="a list becomes a list below",
        ),
        pytest.param(
            (*WELL[:2], false("Node", "Bad", "Drain not completed:\n* Pod a")),
            ("False", "Bad", "* Node:\n  * Drain not completed:\n    * Pod a"),
            id="text and list become a list of both",
        ),
    ],
)
def test_a_summary_tells_the_weightiest(conditions: tuple[Condition, ...], expected: tuple[str, str, str]) -> None:
    assert summarised(*conditions) == expected


def test_what_is_optional_may_be_absent() -> None:
    assert summarised(*WELL[:2], optional=("Node",)) == ("True", "Good", "")


def machines(*conditions: tuple[str, Condition], control_plane: tuple[str, ...] = ()) -> list[Reported]:
    return [Reported(condition, "Machine", name, name in control_plane) for name, condition in conditions]


def test_an_aggregate_groups_objects_that_say_the_same() -> None:
    reported = machines(*[(f"m{index}", false("Ready", "No", "no disk")) for index in range(5)])
    result = aggregate(reported, "MachinesReady", REASONS)
    assert (result.status, result.reason) == ("False", "Bad")
    assert result.message == "* Machines m0, m1, m2, ... (2 more): no disk"


def test_an_aggregate_tells_of_the_control_plane_first_and_counts_the_rest() -> None:
    reported = machines(
        ("w1", false("Ready", "No", "a")),
        ("w2", false("Ready", "No", "b")),
        ("w3", false("Ready", "No", "b")),
        ("w4", unknown("Ready", "Lost", "c")),
        ("w5", unknown("Ready", "Lost", "d")),
        ("w6", unknown("Ready", "Lost", "e")),
        ("cp", unknown("Ready", "Lost", "z")),
        ("w7", true("Ready", "Yes", "not told")),
        control_plane=("cp",),
    )
    result = aggregate(reported, "MachinesReady", REASONS)
    assert result.message.split("\n") == [
        "* Machine cp: z",
        "* Machines w2, w3: b",
        "* Machine w1: a",
        "And 3 Machines with status unknown",
    ]


def test_a_negative_aggregate_is_true_when_one_is() -> None:
    reported = [Reported(false("ScalingUp", "No"), "A", "a"), Reported(true("ScalingUp", "Yes", "1 to 3"), "B", "b")]
    result = aggregate(reported, "ScalingUp", REASONS, negative=True)
    assert (result.status, result.reason, result.message) == ("True", "Bad", "* B b: 1 to 3")
    result = aggregate(reported[:1], "ScalingUp", REASONS, negative=True)
    assert (result.status, result.reason, result.message) == ("False", "Good", "")
