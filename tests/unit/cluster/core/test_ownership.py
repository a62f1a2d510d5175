"""Who owns providers' objects."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.cluster.api.core import Cluster, Machine
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.api.core.machine import Bootstrap, MachineSpec
from kapstan.cluster.api.core.topology import ClusterClassReference, Topology
from kapstan.cluster.core.ownership import NotOurs, adopted_by_cluster, adopted_by_machine
from kapstan.cluster.skeleton import labels
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.meta import ObjectMeta

CONTROL_PLANE = ContractReference(api_group="controlplane.cluster.x-k8s.io", kind="KubeadmControlPlane", name="cp")
INFRA = ContractReference(api_group="infrastructure.cluster.x-k8s.io", kind="GenericMachine", name="m")
API = "cluster.x-k8s.io/v1beta2"


def a_cluster(topology: Topology | None = None) -> Cluster:
    spec = ClusterSpec(control_plane_ref=CONTROL_PLANE, topology=topology)
    return Cluster(metadata=ObjectMeta(name="c", namespace="n", uid="cluster-uid"), spec=spec)


def a_machine(**labels: str) -> Machine:
    spec = MachineSpec(cluster_name="c", bootstrap=Bootstrap(data_secret_name="s"), infrastructure_ref=INFRA)
    return Machine(metadata=ObjectMeta(name="m", namespace="n", uid="machine-uid", labels=labels), spec=spec)


def an_object(*owners: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "n", "labels": {"a": "b"}, "ownerReferences": list(owners)}
    return {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "Generic", "metadata": metadata}


def owner(kind: str, api_version: str = API, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": "o", "uid": f"{kind}-uid", **more}


def test_a_cluster_owns_without_controlling() -> None:
    """So that somebody else may manage the infrastructure."""
    adopted = adopted_by_cluster(an_object(owner("Other", controller=True)), a_cluster())
    assert to_builtins(adopted.metadata.owner_references) == [
        owner("Other", controller=True),
        {"apiVersion": API, "kind": "Cluster", "name": "c", "uid": "cluster-uid"},
    ]
    assert adopted.metadata.labels == {"a": "b", labels.CLUSTER_NAME: "c"}


def test_a_cluster_with_a_topology_controls() -> None:
    cluster = a_cluster(Topology(class_ref=ClusterClassReference(name="k"), version="v1.36.0"))
    adopted = adopted_by_cluster(an_object(), cluster)
    assert to_builtins(adopted.metadata.owner_references)[0]["controller"] is True


def test_a_machine_takes_the_place_of_the_set_that_made_its_objects() -> None:
    adopted = adopted_by_machine(an_object(owner("MachineSet", controller=True)), a_machine(), a_cluster())
    assert to_builtins(adopted.metadata.owner_references) == [
        {
            "apiVersion": API,
            "kind": "Machine",
            "name": "m",
            "uid": "machine-uid",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_only_a_control_plane_machine_takes_the_place_of_the_control_plane() -> None:
    made = an_object(owner("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta2", controller=True))
    machine = a_machine(**{labels.CONTROL_PLANE: ""})
    kinds = [ref.kind for ref in adopted_by_machine(made, machine, a_cluster()).metadata.owner_references]
    assert kinds == ["Machine"]
    with pytest.raises(NotOurs, match="already controlled by KubeadmControlPlane"):
        adopted_by_machine(made, a_machine(), a_cluster())
