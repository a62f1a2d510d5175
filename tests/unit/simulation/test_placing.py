"""What keeps a pod from a node, what it asks of one, which pods go first, and how endpoints are sliced."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.simulation.objects import NOW, pod

from kapstan.k8s.core_v1 import Node, PodSpec, Service, Taint
from kapstan.k8s.discovery_v1 import EndpointSlice
from kapstan.machinery.codec import convert
from kapstan.simulation.endpoints.members import members
from kapstan.simulation.endpoints.slices import planned
from kapstan.simulation.nodes.taints import desired_taints, leaves_at
from kapstan.simulation.replicaset.ranking import surplus
from kapstan.simulation.scheduling.amounts import requests_of
from kapstan.simulation.scheduling.filters import affinity_admits, node_reasons

LABELS = {"zone": "a", "cores": "8"}


@pytest.mark.parametrize(
    ("tolerations", "taint", "admitted"),
    [
        ([], Taint(key="k", effect="NoSchedule"), False),
        ([], Taint(key="k", effect="PreferNoSchedule"), True),
        ([{"key": "k", "operator": "Exists"}], Taint(key="k", value="v", effect="NoExecute"), True),
        ([{"key": "k", "value": "v"}], Taint(key="k", value="v", effect="NoSchedule"), True),
        ([{"key": "k", "value": "w"}], Taint(key="k", value="v", effect="NoSchedule"), False),
        ([{"key": "k", "operator": "Exists", "effect": "NoExecute"}], Taint(key="k", effect="NoSchedule"), False),
        ([{"operator": "Exists"}], Taint(key="k", effect="NoExecute"), True),
    ],
)
def test_taints_keep_away_who_does_not_tolerate_them(tolerations: list[Any], taint: Taint, admitted: bool) -> None:
    reason = node_reasons(pod(spec={"tolerations": tolerations}), "n", LABELS, [taint], False)
    assert reason == ("" if admitted else "node(s) had untolerated taint(s)")


@pytest.mark.parametrize(
    ("requirement", "admitted"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "gpu", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "gpu", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "DoesNotExist"}, True),
        ({"key": "cores", "operator": "Gt", "values": ["4"]}, True),
        ({"key": "cores", "operator": "Lt", "values": ["4"]}, False),
        ({"key": "zone", "operator": "Gt", "values": ["4"]}, False),
    ],
)
def test_node_affinity(requirement: dict[str, Any], admitted: bool) -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert affinity_admits(pod(spec={"affinity": affinity}), "n", LABELS) is admitted


def test_a_pod_asks_for_its_containers_together_or_for_the_largest_that_runs_before() -> None:
    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("500m"), container("1")],
        "initContainers": [container("3"), container("200m", restartPolicy="Always")],
    }
    assert requests_of(convert(spec, PodSpec)) == {"cpu": 3000, "pods": 1}
    del spec["initContainers"][0]
    assert requests_of(convert(spec, PodSpec)) == {"cpu": 1700, "pods": 1}


def test_the_least_useful_pods_go_first() -> None:
    """Those without a node, then those not ready, the cheap, the crowded, those ready for the shortest time."""
    pods = [
        pod("old", ready_for=100, spec={"nodeName": "a"}),
        pod("young", ready_for=5, spec={"nodeName": "b"}),
        pod("cheap", ready_for=900, spec={"nodeName": "c"}, metadata={"annotations": {_COST: "-5"}}),
        pod("ill", status={"phase": "Running"}, spec={"nodeName": "d"}),
        pod("homeless", status={"phase": "Pending"}),
    ]
    order = [one.name for one in surplus(pods, 5)]
    assert order == ["homeless", "ill", "cheap", "young", "old"]
    crowded = [pod(name, ready_for=50, spec={"nodeName": name[0]}) for name in ("a1", "b1", "b2")]
    assert surplus(crowded, 1)[0].spec.node_name == "b"


_COST = "controller.kubernetes.io/pod-deletion-cost"


def node(ready: str, *taints: dict[str, Any], **spec: Any) -> Node:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return convert({"spec": {"taints": list(taints), **spec}, "status": {"conditions": conditions}}, Node)


@pytest.mark.parametrize(
    ("ready", "expected"),
    [
        ("True", set()),
        ("False", {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}),
        ("Unknown", {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}),
        ("", {("not-ready", "NoSchedule")}),
    ],
)
def test_taints_follow_from_readiness(ready: str, expected: set[tuple[str, str]]) -> None:
    """Those of others stay; those of ours that no longer hold go."""
    theirs, stale = (
        {"key": "t", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    )
    found = {
        (one.key.removeprefix("node.kubernetes.io/"), one.effect)
        for one in desired_taints(node(ready, theirs, stale), NOW)
    }
    assert found == {("t", "NoExecute"), *expected}


def test_a_pod_leaves_when_its_toleration_is_over() -> None:
    taint = Taint(key="k", effect="NoExecute", time_added=NOW - timedelta(seconds=100))
    patient = pod(spec={"tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}]})
    assert leaves_at(patient, [taint], NOW) == NOW + timedelta(seconds=200)
    assert leaves_at(pod(), [taint], NOW) == NOW
    assert leaves_at(pod(spec={"tolerations": [{"operator": "Exists"}]}), [taint], NOW) is None


SERVICE = convert(
    {
        "metadata": {"name": "web", "namespace": "default", "uid": "s"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}], "clusterIP": "10.0.0.1"},
    },
    Service,
)


@given(st.lists(st.sets(st.integers(0, 400), max_size=250), min_size=1, max_size=4))
def test_slices_hold_every_pod_once_and_stay_as_they_are_where_they_can(rounds: list[set[int]]) -> None:
    """No slice has more than a hundred; a pod that stays, stays in its slice."""
    slices: list[EndpointSlice] = []
    made = 0
    for numbers in rounds:
        pods = [
            pod(str(number), ready_for=9, status={"podIP": f"10.0.{number // 250}.{number % 250}"})
            for number in numbers
        ]
        plan = planned(SERVICE, members(SERVICE, pods), slices, lambda node: "")
        for one in plan.new:
            made += 1
            one.metadata.name = f"web-{made}"
        before = {ref.name: one.name for one in slices for ref in _references(one)}
        slices = [*(shall_be for _, shall_be in plan.kept), *plan.new]
        after = {ref.name: one.name for one in slices for ref in _references(one)}
        held = [ref.name for one in slices for ref in _references(one)]
        assert sorted(held) == sorted(map(str, numbers))
        assert slices and all(len(one.endpoints) <= 100 for one in slices)
        assert all(after[name] == where for name, where in before.items() if name in after)


def _references(one: EndpointSlice) -> list[Any]:
    return [endpoint.target_ref for endpoint in one.endpoints]
