"""Checks before a machine is made."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cluster.core.builders import a_set, a_template

from kapstan.cluster.api.core import Cluster
from kapstan.cluster.contract.objects import ControlPlane
from kapstan.cluster.contract.version import Contract
from kapstan.cluster.core.machineset.preflight import NotVersioned, check, skipped_checks
from kapstan.machinery.codec import convert


def failed(spec: str, running: list[str], machines: str = "v1.36.0", **more: Any) -> list[str]:
    document = {
        "apiVersion": "x/v1",
        "kind": "Plane",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"version": spec} if spec else {},
        "status": {"versions": [{"version": version} for version in running]},
    }
    topology = more.get("topology")
    cluster = convert({"metadata": {"name": "c"}, "spec": {"topology": topology} if topology else {}}, Cluster)
    template = a_template(machines)
    if more.get("kubeadm"):
        template["spec"]["bootstrap"]["configRef"] = {
            "apiGroup": "bootstrap.cluster.x-k8s.io",
            "kind": "KubeadmConfigTemplate",
            "name": "k",
        }
    plane = ControlPlane(document, Contract("v1beta2", "v1"))
    return [name for name, _ in check(plane, cluster, a_set(template=template))]


@pytest.mark.parametrize(
    ("spec", "running", "machines", "names"),
    [
        pytest.param("v1.36.0", ["v1.36.0"], "v1.36.0", [], id="the same"),
        pytest.param("", [], "v1.36.0", [], id="a control plane without a version"),
        pytest.param("v1.36.0", [], "v1.36.0", ["ControlPlaneIsStable"], id="provisioning"),
        pytest.param("v1.36.0", ["v1.35.0", "v1.36.0"], "v1.35.0", ["ControlPlaneIsStable"], id="upgrading"),
        pytest.param("v1.36.0", ["v1.36.0"], "v1.37.0", ["KubernetesVersionSkew"], id="newer machines"),
        pytest.param("v1.36.0", ["v1.36.0"], "v1.33.9", [], id="three minors older"),
        pytest.param("v1.36.0", ["v1.36.0"], "v1.32.9", ["KubernetesVersionSkew"], id="four minors older"),
    ],
)
def test_versions(spec: str, running: list[str], machines: str, names: list[str]) -> None:
    assert failed(spec, running, machines) == names


def test_kubeadm_joins_its_own_minor_only() -> None:
    assert failed("v1.36.0", ["v1.36.0"], "v1.35.0", kubeadm=True) == ["KubeadmVersionSkew"]
    assert failed("v1.36.0", ["v1.36.0"], "v1.36.2", kubeadm=True) == []


def test_a_topology_is_waited_for() -> None:
    topology = {"classRef": {"name": "k"}, "version": "v1.37.0"}
    assert failed("v1.36.0", ["v1.36.0"], topology=topology) == ["ControlPlaneIsStable"]
    topology["version"] = "v1.36.0"
    assert failed("v1.36.0", ["v1.36.0"], "v1.35.0", topology=topology) == ["ControlPlaneVersionSkew"]


def test_what_is_no_version_is_said() -> None:
    with pytest.raises(NotVersioned, match="'latest' is not a version of Kubernetes"):
        failed("latest", [])


def test_checks_that_are_skipped() -> None:
    annotation = "machineset.cluster.x-k8s.io/skip-preflight-checks"
    assert skipped_checks({annotation: "All, KubeadmVersionSkew"}) == {"All", "KubeadmVersionSkew"}
    assert skipped_checks({}) == set()
