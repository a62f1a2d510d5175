"""What a set makes, and what it changes in place."""

from __future__ import annotations

from tests.unit.cluster.core.builders import a_machine, a_set, a_template

from kapstan.cluster.contract.objects import Template
from kapstan.cluster.contract.version import Contract
from kapstan.cluster.core.machineset.desired import desired_clone, desired_machine, metadata_of
from kapstan.cluster.core.machineset.propagation import changes
from kapstan.cluster.core.ownedkeys import owned_keys


def test_a_machine() -> None:
    template = a_template(labels={"pool": "a"}, annotations={"note": "x"})
    machine_set = a_set(template=template, metadata={"labels": {"cluster.x-k8s.io/deployment-name": "d"}})
    machine = desired_machine(machine_set, "m")
    assert machine.metadata.labels == {
        "pool": "a",
        "cluster.x-k8s.io/cluster-name": "c",
        "cluster.x-k8s.io/set-name": "s",
        "cluster.x-k8s.io/deployment-name": "d",
    }
    assert machine.metadata.annotations == {"note": "x"}
    assert machine.metadata.finalizers == ["machine.cluster.x-k8s.io"]
    assert machine.spec.infrastructure_ref.kind == "Computer" and machine.spec.infrastructure_ref.name == "m"
    assert machine.spec.bootstrap.config_ref is not None and machine.spec.bootstrap.config_ref.kind == "Config"
    assert machine.spec.deletion is not None and machine.spec.deletion.node_deletion_timeout_seconds == 10
    assert machine_set.spec.template.spec.infrastructure_ref.name == "t"


def test_a_long_name_becomes_a_hash() -> None:
    labels, _ = metadata_of(a_set("s" * 64))
    assert labels["cluster.x-k8s.io/set-name"].startswith("hash_")


def test_a_clone_has_what_its_template_says() -> None:
    document = {
        "apiVersion": "i.io/v1",
        "kind": "ComputerTemplate",
        "metadata": {"name": "t"},
        "spec": {"template": {"metadata": {"labels": {"size": "s", "pool": "x"}}, "spec": {"cpus": 2}}},
    }
    clone = desired_clone(Template(document, Contract("v1beta2", "v1")), a_machine(), ({"pool": "a"}, {"note": "n"}))
    assert clone["kind"] == "Computer" and clone["spec"] == {"cpus": 2}
    assert clone["metadata"]["labels"] == {"size": "s", "pool": "a"}
    assert clone["metadata"]["annotations"] == {
        "note": "n",
        "cluster.x-k8s.io/cloned-from-name": "t",
        "cluster.x-k8s.io/cloned-from-groupkind": "ComputerTemplate.i.io",
    }
    (owner,) = clone["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("Machine", True)


def test_only_what_differs_is_changed() -> None:
    metadata = {"labels": {"a": "1", "b": "1", "old": "1", "theirs": "1"}}
    assert changes(metadata, ({"a": "1", "b": "2"}, {}), ({"old": "", "gone": "", "a": ""}, {})) == {
        "labels": {"b": "2", "old": None}
    }
    assert changes(metadata, ({"a": "1"}, {}), ({}, {})) == {}


def test_the_api_server_knows_whose_labels_they_are() -> None:
    managed = [
        {"manager": "me", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:mine": {}}}}},
        {"manager": "other", "fieldsV1": {"f:metadata": {"f:labels": {"f:theirs": {}}}}},
        {"manager": "me", "fieldsV1": {"f:metadata": {"f:annotations": {"f:note": {}}}}},
    ]
    assert owned_keys({"managedFields": managed}, ("me",)) == ({"mine": ""}, {"note": ""})
