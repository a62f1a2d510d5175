"""Conditions: transition times move only when the status does; summaries name what is wrong."""

from datetime import UTC, datetime

from kapstan.machinery.codec import decode, encode, to_builtins
from kapstan.machinery.conditions import find, is_false, is_true, remove, set_condition, summary
from kapstan.machinery.meta import Condition

EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def test_setting_the_same_condition_again_changes_nothing() -> None:
    conditions: list[Condition] = []
    assert set_condition(conditions, "Ready", True, reason="Up", at=EARLIER)
    assert not set_condition(conditions, "Ready", True, reason="Up", at=LATER)
    assert is_true(conditions, "Ready")


def test_a_new_message_keeps_the_transition_time() -> None:
    conditions: list[Condition] = []
    set_condition(conditions, "Ready", False, reason="Down", message="1 of 3", at=EARLIER)
    assert set_condition(conditions, "Ready", False, reason="Down", message="2 of 3", at=LATER)
    found = find(conditions, "Ready")
    assert found is not None
    assert (found.message, found.last_transition_time) == ("2 of 3", EARLIER)


def test_a_new_status_moves_the_transition_time() -> None:
    conditions: list[Condition] = []
    set_condition(conditions, "Ready", None, reason="Starting", at=EARLIER)
    set_condition(conditions, "Ready", False, reason="Down", at=LATER)
    assert is_false(conditions, "Ready")
    assert conditions[0].last_transition_time == LATER


def test_what_the_api_demands_of_a_condition_is_always_written() -> None:
    """A CRD that has conditions requires reason and message, and an empty message is one."""
    conditions: list[Condition] = []
    set_condition(conditions, "Ready", True, reason="Up", at=EARLIER)
    assert to_builtins(conditions) == [
        {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ]
    assert decode(encode(conditions), list[Condition]) == conditions


def test_remove_says_whether_it_was_there() -> None:
    conditions = [Condition(type="Ready", status="True")]
    assert remove(conditions, "Ready")
    assert not remove(conditions, "Ready")


def test_a_summary_names_what_is_wrong_before_what_is_unknown() -> None:
    conditions = [
        Condition(type="Deleting", status="False"),
        Condition(type="Infrastructure", status="False", reason="NoQuota", message="quota exceeded"),
        Condition(type="Node", status="Unknown"),
    ]
    result = summary(conditions, "Ready", ["Deleting", "Infrastructure", "Node", "Extra"], negative=["Deleting"])
    assert result.status == "False"
    assert result.message.startswith("* Infrastructure: quota exceeded")
    assert "Extra: not reported yet" in result.message


def test_a_summary_of_what_is_well_is_true() -> None:
    conditions = [Condition(type="Deleting", status="False"), Condition(type="Node", status="True")]
    assert (
        summary(conditions, "Ready", ["Deleting", "Node", "X"], negative=["Deleting"], optional=["X"]).status == "True"
    )
