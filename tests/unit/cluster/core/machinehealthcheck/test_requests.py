"""What is made from a remediation template."""

from __future__ import annotations

from kapstan.cluster.api.core import Machine
from kapstan.cluster.core.machinehealthcheck.requests import desired_request
from kapstan.machinery.codec import convert

REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Generic", "name": "x"}


def test_a_request_is_the_machine_s_and_says_where_it_comes_from() -> None:
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REF}
    machine = convert({"metadata": {"name": "m", "namespace": "ns", "uid": "u"}, "spec": spec}, Machine)
    template = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1",
        "kind": "RebootTemplate",
        "metadata": {"name": "t"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"kind": "hard"}}},
    }
    assert desired_request(template, machine) == {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1",
        "kind": "Reboot",
        "metadata": {
            "name": "m",
            "namespace": "ns",
            "labels": {"a": "b", "cluster.x-k8s.io/cluster-name": "c"},
            "annotations": {
                "cluster.x-k8s.io/cloned-from-name": "t",
                "cluster.x-k8s.io/cloned-from-groupkind": "RebootTemplate.infrastructure.cluster.x-k8s.io",
            },
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "u"}],
        },
        "spec": {"kind": "hard"},
    }
