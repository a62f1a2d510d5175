"""Putting conditions on objects."""

from datetime import UTC, datetime

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.skeleton.conditions import ConditionType, false, get, put, true, unknown
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.meta import ObjectMeta

BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
AFTER = datetime(2026, 1, 2, tzinfo=UTC)


def a_cluster() -> Cluster:
    return Cluster(metadata=ObjectMeta(name="c", namespace="n", generation=7), spec=ClusterSpec())


def test_conditions_are_shown_in_their_order() -> None:
    cluster = a_cluster()
    for type in ("Deleting", "Paused", "zebra.example.com/Gate", "Apple", "ScalingUp", "Available"):
        put(cluster, true(type, "Because"))
    assert [condition.type for condition in cluster.status.conditions] == [
        "Available",
        "ScalingUp",
        "Apple",
        "zebra.example.com/Gate",
        "Paused",
        "Deleting",
    ]


def test_the_time_moves_only_with_the_status() -> None:
    cluster = a_cluster()
    put(cluster, false("Ready", "No").replace(last_transition_time=BEFORE))
    put(cluster, false("Ready", "StillNo", "why").replace(last_transition_time=AFTER))
    condition = get(cluster, "Ready")
    assert condition is not None
    assert (condition.reason, condition.message, condition.last_transition_time) == ("StillNo", "why", BEFORE)
    put(cluster, unknown("Ready", "Lost").replace(last_transition_time=AFTER))
    condition = get(cluster, "Ready")
    assert condition is not None and condition.last_transition_time == AFTER


def test_a_condition_says_which_generation_it_is_of() -> None:
    cluster = a_cluster()
    put(cluster, true(ConditionType.READY, "Yes"))
    assert to_builtins(cluster.status.conditions)[0]["observedGeneration"] == 7
    assert to_builtins(cluster.status.conditions)[0]["type"] == "Ready"


def test_a_message_that_the_api_server_would_refuse_is_cut() -> None:
    cluster = a_cluster()
    put(cluster, false("Ready", "No", "x" * 100_000))
    condition = get(cluster, "Ready")
    assert condition is not None and condition.message == "x" * 32768
