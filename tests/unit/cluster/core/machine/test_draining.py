"""Which pods leave a drained node, in which order, and what is said of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kapstan.client import Client, Config
from kapstan.cluster.api.core import Cluster, Machine, MachineDrainRule
from kapstan.cluster.core.machine.drain import look_again
from kapstan.cluster.core.machine.eviction import evict, plan
from kapstan.cluster.core.machine.podfilter import Judge, rules_for
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.codec import convert
from kapstan.machinery.gvk import ObjectKey

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
REPLICA_SET = {**DAEMON_SET, "kind": "ReplicaSet"}


def a_pod(name: str = "p", *, phase: str = "Running", volumes: list[Any] | None = None, **metadata: Any) -> Pod:
    meta = {"name": name, "namespace": "ns", "ownerReferences": [REPLICA_SET], **metadata}
    spec = {"containers": [], "volumes": volumes or []}
    return convert({"metadata": meta, "spec": spec, "status": {"phase": phase}}, Pod)


def a_rule(name: str, behavior: str = "Drain", order: int | None = None, **spec: Any) -> MachineDrainRule:
    drain = {"behavior": behavior} | ({"order": order} if order is not None else {})
    return convert({"metadata": {"name": name, "namespace": "n"}, "spec": {"drain": drain, **spec}}, MachineDrainRule)


def selecting(**labels: str) -> list[dict[str, Any]]:
    return [{"selector": {"matchLabels": labels}}]


def judged(
    pod: Pod, *rules: MachineDrainRule, unreachable: bool = False, daemon_set: bool = True
) -> tuple[str, int, str]:
    judge = Judge(
        rules,
        has_daemon_set=lambda key: daemon_set and key == ObjectKey("ns", "d"),
        namespaces={"ns": {"team": "a"}},
        unreachable=unreachable,
        now=NOW,
    )
    _, behavior, order, warning = judge.judge(pod)
    return behavior, order, warning


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(a_pod(), ("Drain", 0, ""), id="an ordinary pod"),
        pytest.param(
            a_pod(ownerReferences=[DAEMON_SET]), ("Skip", 0, "ignoring DaemonSet-managed Pod"), id="of a DaemonSet"
        ),
        pytest.param(a_pod(ownerReferences=[DAEMON_SET], phase="Failed"), ("Drain", 0, ""), id="failed"),
        pytest.param(a_pod(annotations={"kubernetes.io/config.mirror": "x"}), ("Skip", 0, ""), id="static"),
        pytest.param(
            a_pod(volumes=[{"name": "v", "emptyDir": {}}], ownerReferences=[]),
            ("Drain", 0, "evicting Pod with local storage, evicting Pod that has no controller"),
            id="with things to lose",
        ),
        pytest.param(a_pod(labels={"cluster.x-k8s.io/drain": "SKIP"}), ("Skip", 0, ""), id="asks to stay"),
        pytest.param(
            a_pod(labels={"cluster.x-k8s.io/drain": "wait-completed"}), ("WaitCompleted", 0, ""), id="asks to finish"
        ),
        pytest.param(
            a_pod(labels={"cluster.x-k8s.io/drain": "wait-completed"}, phase="Succeeded"),
            ("Skip", 0, ""),
            id="asked to finish, and has",
        ),
        pytest.param(a_pod(labels={"cluster.x-k8s.io/drain": "whatever"}), ("Drain", 0, ""), id="asks for nonsense"),
        pytest.param(a_pod(deletionTimestamp=ago(60)), ("Drain", 0, ""), id="is leaving"),
    ],
)
def test_pods_are_judged_by_what_they_are(pod: Pod, expected: tuple[str, int, str]) -> None:
    assert judged(pod) == expected


def test_a_pod_whose_daemon_set_is_gone_is_evicted() -> None:
    assert judged(a_pod(ownerReferences=[DAEMON_SET]), daemon_set=False) == (
        "Drain",
        0,
        "evicting orphaned DaemonSet-managed Pod",
    )


def test_pods_that_cannot_end_are_not_waited_for() -> None:
    """The kubelet of an unreachable node never confirms."""
    assert judged(a_pod(deletionTimestamp=ago(2)), unreachable=True)[0] == "Skip"
    assert judged(a_pod(deletionTimestamp=ago(1)), unreachable=True)[0] == "Drain"


def test_the_first_rule_by_name_decides() -> None:
    rules = [
        a_rule("b", order=7, pods=selecting(app="x")),
        a_rule("a", behavior="WaitCompleted", pods=selecting(app="y")),
        a_rule("c", behavior="Skip"),
    ]
    assert judged(a_pod(labels={"app": "x"}), *rules) == ("Drain", 7, "")
    assert judged(a_pod(labels={"app": "y"}), *rules) == ("WaitCompleted", 0, "")
    assert judged(a_pod(), *rules) == ("Skip", 0, "")


def test_a_rule_may_ask_for_the_namespace() -> None:
    rule = a_rule("a", behavior="Skip", pods=[{"namespaceSelector": {"matchLabels": {"team": "a"}}}])
    other = a_rule("a", behavior="Skip", pods=[{"namespaceSelector": {"matchLabels": {"team": "b"}}}])
    assert judged(a_pod(), rule)[0] == "Skip"
    assert judged(a_pod(), other)[0] == "Drain"


def test_rules_speak_of_machines_and_clusters() -> None:
    ref = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Generic", "name": "x"}
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": ref}
    machine = convert({"metadata": {"name": "m", "labels": {"pool": "a"}}, "spec": spec}, Machine)
    cluster = convert({"metadata": {"name": "c", "labels": {"env": "prod"}}, "spec": {}}, Cluster)
    rules = [
        a_rule("all"),
        a_rule("this", machines=selecting(pool="a")),
        a_rule("other", machines=selecting(pool="b")),
        a_rule(
            "both",
            machines=[
                {"selector": {"matchLabels": {"pool": "a"}}, "clusterSelector": {"matchLabels": {"env": "test"}}}
            ],
        ),
    ]
    assert [rule.name for rule in rules_for(machine, cluster, rules)] == ["all", "this"]


def test_pods_leave_in_order() -> None:
    """Only those of the lowest order, and none of the next while one of them is still there."""
    rules = [a_rule("a", order=-1, pods=selecting(app="first")), a_rule("b", order=1, pods=selecting(app="last"))]
    judge = Judge(rules, now=NOW)
    pods = [
        a_pod("z", labels={"app": "last"}),
        a_pod("y"),
        a_pod("x", labels={"app": "first"}, deletionTimestamp=ago(1)),
        a_pod("w", labels={"cluster.x-k8s.io/drain": "wait-completed"}),
    ]
    evictions = plan(judge.judge(pod) for pod in pods)
    assert [pod.name for pod in evictions.leaving] == ["x"]
    assert evictions.now == []
    assert [pod.name for pod in evictions.later] == ["y", "z"]
    assert [pod.name for pod in evictions.completing_later] == ["w"]
    evictions = plan(judge.judge(pod) for pod in pods if pod.name != "x")
    assert [pod.name for pod in evictions.now] == ["y"]
    assert [pod.name for pod in evictions.completing] == ["w"]
    assert [pod.name for pod in evictions.later] == ["z"]


def test_a_node_without_pods_to_leave_is_drained() -> None:
    assert plan([Judge([], now=NOW).judge(a_pod(ownerReferences=[DAEMON_SET]))]).done


def test_what_holds_up_a_drain_is_told() -> None:
    """Other programs look for these words."""
    evictions = plan([])
    evictions.leaving = [a_pod(name) for name in "abcd"]
    budget = "Cannot evict pod as it would violate the pod's disruption budget. The budget b needs 1"
    evictions.failed = {budget: [a_pod("e")], "some error": [a_pod("f")]} | {f"t{n}": [a_pod("g")] for n in range(5)}
    evictions.completing = [a_pod("h")]
    evictions.later, evictions.completing_later = [a_pod("i")], [a_pod("j")]
    assert evictions.message(NOW).split("\n") == [
        "Drain not completed yet (started at 2026-01-01T12:00:00Z):",
        "* Pods ns/a, ns/b, ns/c, ... (1 more): deletionTimestamp set, but still not removed from the Node",
        f"* Pod ns/e: c{budget[1:]}",
        "* Pod ns/f: failed to evict Pod, some error",
        "* Pod ns/g: failed to evict Pod, t0",
        "* Pod ns/g: failed to evict Pod, t1",
        "* Pod ns/g: failed to evict Pod, t2",
        "* 2 Pods with other issues",
        "* Pod ns/h: waiting for completion",
        "After above Pods have been removed from the Node, the following Pods will be evicted: ns/i",
        "After above Pods have been removed from the Node, "
        "waiting for the following Pods to complete without eviction: ns/j",
    ]


@pytest.mark.parametrize("said", ["", "wait-completed"])
def test_a_pod_is_given_up_in_time(said: str) -> None:
    """Nobody tells when a pod of an unreachable node should have ended, whether it was evicted or only waited for."""
    pod = a_pod(deletionTimestamp=ago(-30), labels={"cluster.x-k8s.io/drain": said})
    evictions = plan([Judge([], unreachable=True, now=NOW).judge(pod)])
    assert 32 < look_again(evictions, NOW, unreachable=True) < 33
    assert look_again(evictions, NOW, unreachable=False) == 0


async def test_a_server_without_evictions_keeps_no_node_from_being_drained() -> None:
    """The simulated clusters of Cluster API's in-memory provider have none. Its core takes any 404 as a pod's end."""
    server = TestServer(web.Application())
    await server.start_server()
    try:
        async with Client(Config(server=str(server.make_url("")))) as client:
            evictions = plan([Judge([], now=NOW).judge(a_pod())])
            assert [pod.name for pod in evictions.now] == ["p"]
            await evict(client, evictions)
            assert evictions.done
    finally:
        await server.close()
