"""How many machines a cluster counts."""

from __future__ import annotations

from tests.unit.cluster.core.builders import a_deployment, a_machine, a_set

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.core.cluster.counters import of_workers
from kapstan.cluster.core.cluster.descendants import Descendants
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.owners import set_controller, set_owner

CLUSTER = Cluster(metadata=ObjectMeta(name="c", namespace="n", uid="uid-c"), spec=ClusterSpec())


def test_what_was_adopted_is_counted_by_its_adopter_alone() -> None:
    """A set or a machine that the cluster owned before somebody adopted it has two owners since."""
    deployment, alone, adopted = a_deployment(), a_set("alone"), a_set("adopted")
    deployment.status.replicas, alone.status.replicas, adopted.status.replicas = 3, 2, 3
    for machine_set in (alone, adopted):
        set_owner(CLUSTER, machine_set)
    set_controller(deployment, adopted)
    single, member = a_machine("single", metadata={"ownerReferences": []}), a_machine("member")
    for machine in (single, member):
        set_owner(CLUSTER, machine)
    counts = of_workers(CLUSTER, Descendants([deployment], [alone, adopted], [], [single, member]))
    assert counts.replicas == 3 + 2 + 1
