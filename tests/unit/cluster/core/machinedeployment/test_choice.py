"""Which set has what is wanted, its revision, and what a deployment makes of its sets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.cluster.core.builders import EPOCH, a_deployment, a_set, a_template

from kapstan.cluster.api.core import MachineSet
from kapstan.cluster.core.machinedeployment.choice import choose, revise, revision_of
from kapstan.cluster.core.machinedeployment.desired import desired_set, set_in_place, set_name
from kapstan.cluster.core.uptodate import note_rollout

REVISION = "machinedeployment.clusters.x-k8s.io/revision"
HISTORY = "machinedeployment.clusters.x-k8s.io/revision-history"


def test_a_set_is_told_by_its_template() -> None:
    """Not by labels, and not by its age."""
    labelled = a_template(labels={"x": "y"})
    sets = [a_set("old", template=a_template("v1.35.0")), a_set("fits", template=labelled)]
    new, old = choose(a_deployment(), sets, EPOCH)
    assert new is not None and new.name == "fits" and [one.name for one in old] == ["old"]


def test_of_several_the_largest_then_the_oldest() -> None:
    sets = [a_set("b", 1), a_set("a", 1, age=1), a_set("none", 0, age=9)]
    new, old = choose(a_deployment(), sets, EPOCH)
    assert new is not None and new.name == "a" and len(old) == 2
    going = a_set("a", 9, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert choose(a_deployment(), [going], EPOCH).new is None


@pytest.mark.parametrize(("hours", "fits"), [(-2, True), (-0.5, False), (1, True)])
def test_a_rollout_that_is_asked_for(hours: float, fits: bool) -> None:
    """Sets older than the time do not fit, once it has come."""
    after = (EPOCH + timedelta(hours=hours)).isoformat()
    found = choose(a_deployment(rollout={"after": after}), [a_set(age=1)], EPOCH).new
    assert (found is not None) is fits


def test_a_set_fits_the_rollout_that_it_was_made_in_whatever_the_api_server_s_clock_says() -> None:
    """A server whose clock is behind says that it was made before; each set would have another made in its place."""
    deployment = a_deployment(rollout={"after": (EPOCH - timedelta(seconds=1)).isoformat()})
    made = desired_set(deployment, 1, 3)
    note_rollout(made, deployment, EPOCH)
    made.metadata.creation_timestamp = EPOCH - timedelta(seconds=5)
    assert choose(deployment, [made], EPOCH).new is made
    again = a_deployment(rollout={"after": EPOCH.isoformat()})
    assert choose(again, [made], EPOCH + timedelta(seconds=1)).new is None
    early = desired_set(again, 1, 3)
    note_rollout(early, again, EPOCH - timedelta(hours=1))
    early.metadata.creation_timestamp = EPOCH - timedelta(hours=1)
    assert choose(again, [early], EPOCH + timedelta(seconds=1)).new is None, "a rollout that was yet to come"


def test_revisions_only_go_up() -> None:
    new, old = a_set(metadata={"annotations": {REVISION: "1"}}), a_set("o", metadata={"annotations": {REVISION: "2"}})
    revise(new, [old])
    assert revision_of(new) == 3 and new.metadata.annotations[HISTORY] == "1"
    revise(new, [])
    assert revision_of(new) == 3
    old.metadata.annotations[REVISION] = "7"
    revise(new, [old])
    assert new.metadata.annotations[HISTORY] == "1,3"


def test_who_makes_a_set_again_gives_it_the_same_name() -> None:
    deployment = a_deployment()
    name, identity = set_name(deployment, 1)
    assert set_name(a_deployment(5, template=a_template(labels={"x": "y"})), 1) == (name, identity)
    others = [
        set_name(deployment, 2),
        set_name(deployment, 1, collision=1),
        set_name(a_deployment(template=a_template("v1.37.0")), 1),
        set_name(a_deployment(rollout={"after": "2026-01-01T00:00:00Z"}), 1),
    ]
    assert len({name, *(other for other, _ in others)}) == 5
    assert identity.endswith(name[-5:])


def test_a_new_set() -> None:
    deployment = a_deployment(
        metadata={"annotations": {"mine": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
        template=a_template(labels={"a": "b"}),
        selector={"matchLabels": {"a": "b"}},
    )
    made = desired_set(deployment, 4, 2)
    identity = made.metadata.labels["machine-template-hash"]
    assert made.spec.selector.match_labels == {"a": "b", "machine-template-hash": identity}
    assert made.spec.template.metadata is not None
    assert made.spec.template.metadata.labels == {"a": "b", "machine-template-hash": identity}
    assert made.metadata.annotations == {
        "mine": "x",
        REVISION: "4",
        "cluster.x-k8s.io/disable-machine-create": "false",
        "machinedeployment.clusters.x-k8s.io/desired-replicas": "3",
        "machinedeployment.clusters.x-k8s.io/max-replicas": "4",
    }
    assert made.spec.replicas == 2 and made.metadata.finalizers == ["cluster.x-k8s.io/machineset"]


def test_what_changes_in_place() -> None:
    """Labels come and go with the deployment's; what others have set, and what only new machines can have, stays."""
    machine_set: MachineSet = a_set(
        template=a_template("v1.35.0", labels={"old": "1", "machine-template-hash": "h"}),
        metadata={"labels": {"old": "1", "theirs": "1", "machine-template-hash": "h"}},
    )
    template = a_template(labels={"new": "1"})
    template["spec"]["deletion"] = {"nodeDrainTimeoutSeconds": 5}
    set_in_place(machine_set, a_deployment(template=template, deletion={"order": "Oldest"}))
    assert machine_set.spec.template.spec.version == "v1.35.0"
    assert machine_set.spec.deletion is not None and machine_set.spec.deletion.order == "Oldest"
    timeouts = machine_set.spec.template.spec.deletion
    assert timeouts is not None and timeouts.node_drain_timeout_seconds == 5
    assert machine_set.spec.template.metadata is not None
    assert machine_set.spec.template.metadata.labels == {"new": "1", "machine-template-hash": "h"}
    labels = machine_set.metadata.labels
    assert labels["new"] == labels["theirs"] == "1" and "old" not in labels
