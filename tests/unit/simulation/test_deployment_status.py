"""What Deployments say of themselves, and which ReplicaSet is which revision."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.unit.simulation.objects import NOW, ago, deployment, replica_set, template

from kapstan.k8s.apps_v1 import DeploymentStatus
from kapstan.simulation.deployment.revisions import (
    current,
    desired_replica_set,
    inherited_annotations,
    next_revision,
    superseded,
)
from kapstan.simulation.deployment.status import is_complete, rolled_out, seconds_to_deadline


def progressing(reason: str, updated: float, status: str = "True") -> dict[str, Any]:
    when = {"lastUpdateTime": ago(updated), "lastTransitionTime": ago(updated)}
    return {"type": "Progressing", "status": status, "reason": reason, "message": "m", **when}


def reason(status: DeploymentStatus, type: str) -> str | None:
    return next((one.reason for one in status.conditions if one.type == type), None)


def test_a_rollout_whose_every_pod_is_available_is_complete() -> None:
    web, new = deployment(2), replica_set("new", 2, 2)
    status = rolled_out(web, [new], new, NOW)
    assert is_complete(web, status)
    assert reason(status, "Available") == "MinimumReplicasAvailable"
    assert reason(status, "Progressing") == "NewReplicaSetAvailable"
    assert seconds_to_deadline(web, status, NOW) is None


def test_a_counter_that_moves_is_progress() -> None:
    """And the deadline counts from there."""
    web = deployment(
        2, status={"updatedReplicas": 1, "replicas": 1, "conditions": [progressing("ReplicaSetUpdated", 500)]}
    )
    new = replica_set("new", 2, 1)
    status = rolled_out(web, [new], new, NOW)
    (said,) = [one for one in status.conditions if one.type == "Progressing"]
    assert (said.last_update_time, said.last_transition_time) == (NOW, NOW - timedelta(seconds=500))
    assert seconds_to_deadline(web, status, NOW) == 601


def test_a_rollout_that_has_not_moved_until_the_deadline_has_timed_out() -> None:
    known = {"updatedReplicas": 2, "replicas": 2, "conditions": [progressing("ReplicaSetUpdated", 600)]}
    web, new = deployment(2, status=known), replica_set("new", 2, 0)
    status = rolled_out(web, [new], new, NOW)
    assert reason(status, "Progressing") == "ProgressDeadlineExceeded"
    assert reason(status, "Available") == "MinimumReplicasUnavailable"


def test_a_rollout_that_was_complete_stays_so_when_a_pod_falls_ill() -> None:
    known = {"updatedReplicas": 2, "replicas": 2, "conditions": [progressing("NewReplicaSetAvailable", 9000)]}
    web, new = deployment(2, status=known), replica_set("new", 2, 1)
    status = rolled_out(web, [new], new, NOW)
    assert reason(status, "Progressing") == "NewReplicaSetAvailable"


def test_the_current_set_is_that_of_the_template_whatever_its_hash() -> None:
    sets = [replica_set("a", 1, image="c:0", age=9), replica_set("b", 1, age=5), replica_set("c", 1, age=7)]
    found = current(deployment(), sets)
    assert found is not None and found.name == "c"  # the older of two


def test_going_back_makes_an_old_set_the_newest_revision() -> None:
    old = [replica_set("b", 1, revision="2")]
    assert next_revision(old) == 3
    annotations = inherited_annotations(deployment(), {"deployment.kubernetes.io/revision": "1"}, 3)
    assert annotations == {
        "deployment.kubernetes.io/revision": "3",
        "deployment.kubernetes.io/revision-history": "1",
    }


def test_a_set_takes_over_what_the_deployment_is_annotated_with() -> None:
    """Except for what is about the Deployment itself."""
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    web = deployment(metadata={"annotations": {"why": "because", applied: "{}"}})
    made = desired_replica_set(web, 1, 2)
    assert made.metadata.annotations["why"] == "because" and applied not in made.metadata.annotations
    assert made.spec.selector.match_labels.keys() == {"app", "pod-template-hash"}
    assert made.spec.template is not None and made.spec.template.metadata is not None
    assert made.spec.selector.match_labels.items() <= made.spec.template.metadata.labels.items()


def test_templates_of_other_images_have_other_names() -> None:
    names = {desired_replica_set(deployment(template=template(image)), 1, 1).name for image in ("c:1", "c:2", "c:1")}
    assert len(names) == 2


def test_only_sets_without_pods_are_superseded() -> None:
    sets = [replica_set("a", 0, revision="1"), replica_set("b", 1, revision="2"), replica_set("c", 0, revision="3")]
    for one in sets:
        one.metadata.generation = one.status.observed_generation = 1
    assert [one.name for one in superseded(deployment(revisionHistoryLimit=1), sets)] == ["a"]
    assert superseded(deployment(revisionHistoryLimit=3), sets) == []
