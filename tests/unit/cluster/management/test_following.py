"""How far a cluster has come is read from its status alone."""

from __future__ import annotations

from datetime import UTC, datetime

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ClusterSpec, ClusterStatus, ReplicaCounts
from kapstan.cluster.api.core.common import VersionCount
from kapstan.cluster.management.following import (
    is_available,
    is_scaled,
    is_upgraded,
    milestones_of,
    steps_of,
    waits_for,
)
from kapstan.machinery.meta import Condition, ConditionStatus, ObjectMeta


def condition(type: str, status: ConditionStatus, message: str = "", second: int = 0) -> Condition:
    at = datetime(2030, 1, 1, 0, 0, second, tzinfo=UTC)
    return Condition(type=type, status=status, reason="Because", message=message, last_transition_time=at)


def cluster(*conditions: Condition, **status: object) -> Cluster:
    metadata = ObjectMeta(name="c", namespace="n", generation=2)
    known = ClusterStatus(conditions=list(conditions), observed_generation=2)
    for name, value in status.items():
        setattr(known, name, value)
    return Cluster(metadata=metadata, spec=ClusterSpec(), status=known)


AVAILABLE = condition("Available", "True", second=9)


def test_a_cluster_is_available_when_all_of_its_workers_are() -> None:
    assert is_available(cluster(AVAILABLE))
    assert not is_available(cluster(AVAILABLE, workers=ReplicaCounts(desired_replicas=3, available_replicas=2)))
    assert is_available(cluster(AVAILABLE, workers=ReplicaCounts(desired_replicas=3, available_replicas=3)))
    assert not is_available(cluster(AVAILABLE), workers=3), "it has not heard of them yet"


def test_a_status_of_the_past_says_nothing() -> None:
    assert not is_available(cluster(AVAILABLE, observed_generation=1))


def test_milestones_come_in_the_order_in_which_they_were_reached() -> None:
    seen = cluster(
        AVAILABLE, condition("InfrastructureReady", "True", second=1), condition("WorkersAvailable", "False")
    )
    assert [one.text for one in milestones_of(seen)] == ["Infrastructure ready", "Cluster available"]


def test_steps_count_conditions_and_workers() -> None:
    counts = ReplicaCounts(desired_replicas=3, available_replicas=2)
    assert steps_of(cluster(AVAILABLE, workers=counts)) == (1 + 2, 6 + 3)


def test_scaled_is_what_has_neither_more_nor_less() -> None:
    three = cluster(workers=ReplicaCounts(desired_replicas=3, available_replicas=3))
    assert is_scaled(three, workers=3)
    assert not is_scaled(three, workers=5)
    assert not is_scaled(three, workers=3, control_plane=1)
    assert is_scaled(cluster(control_plane=ReplicaCounts(desired_replicas=0)), control_plane=0)


def test_upgraded_is_what_runs_one_version_only() -> None:
    new, old = VersionCount(version="v1.36.4", replicas=1), VersionCount(version="v1.36.3", replicas=2)
    counts = ReplicaCounts(desired_replicas=0, versions=[new])
    assert is_upgraded(cluster(AVAILABLE, control_plane=counts), "v1.36.4")
    mixed = ReplicaCounts(desired_replicas=0, versions=[old, new])
    assert not is_upgraded(cluster(AVAILABLE, control_plane=counts, workers=mixed), "v1.36.4")
    assert not is_upgraded(cluster(AVAILABLE), "v1.36.4")


def test_what_is_waited_for_is_one_line() -> None:
    message = "* InfrastructureReady: being made\n* ControlPlaneAvailable:\n  * EndpointReady: no port"
    waiting = cluster(condition("Available", "False", message))
    assert waits_for(waiting) == "InfrastructureReady: being made; ControlPlaneAvailable: EndpointReady: no port"


def test_a_cluster_that_nobody_has_looked_at_waits_for_a_controller() -> None:
    assert "kapstan up" in waits_for(cluster())


def test_an_available_cluster_may_still_wait_for_workers() -> None:
    counts = ReplicaCounts(desired_replicas=5, available_replicas=3)
    assert waits_for(cluster(AVAILABLE, workers=counts)) == "workers: 3 of 5 are available"
    assert waits_for(cluster(AVAILABLE)) == ""
