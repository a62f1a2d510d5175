"""Disruption budgets and evictions: nobody takes away more than can be spared."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.registry import verbs
from kapstan.apiserver.request import LOOPBACK, DeleteOptions, Request
from kapstan.machinery.errors import APIError, BadRequest, Conflict, NotFound, TooManyRequests
from kapstan.machinery.gvk import GroupVersionKind

from .conftest import Object, World, owned_by

BUDGET = GroupVersionKind("policy", "v1", "PodDisruptionBudget")
POD = GroupVersionKind("", "v1", "Pod")
SPEC = {"containers": [{"name": "c", "image": "i"}]}
SELECTOR = {"matchLabels": {"app": "web"}}


async def pods(world: World, count: int, *owners: Object, ready: bool = True) -> list[Object]:
    made = []
    for number in range(count):
        references = [{**owned_by(owner), "controller": True} for owner in owners]
        metadata = {"labels": {"app": "web"}, "ownerReferences": references}
        pod = await world.create("Pod", f"web-{number}", metadata=metadata, spec=SPEC)
        await bind(world, pod)
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        made.append(
            await world.patch(pod, {"status": {"phase": "Running", "conditions": conditions}}, subresource="status")
        )
    return made


async def bind(world: World, pod: Object, node: str = "n") -> Object:
    metadata = {"name": pod["metadata"]["name"], "namespace": "default"}
    return await below(world, pod, "binding", {"metadata": metadata, "target": {"kind": "Node", "name": node}})


async def evict(world: World, pod: Object, **options: Any) -> Object:
    metadata = {"name": pod["metadata"]["name"], "namespace": "default"}
    return await below(world, pod, "eviction", {"metadata": metadata, "deleteOptions": options})


async def below(world: World, pod: Object, subresource: str, body: Object) -> Object:
    """POST to a subresource of a pod, whose body is of another kind."""
    kinds = {"eviction": ("policy/v1", "Eviction"), "binding": ("v1", "Binding")}
    api_version, kind = kinds[subresource]
    served = world.cluster.kinds.kind(POD)
    assert served is not None
    name = pod["metadata"]["name"]
    request = Request(
        world.cluster, LOOPBACK, "create", served, namespace="default", name=name, subresource=subresource
    )
    outcome = await verbs.create(request, {**body, "apiVersion": api_version, "kind": kind})
    answer: Object = outcome.object()
    return answer


async def budget(world: World, **spec: Any) -> Object:
    made = await world.create("PodDisruptionBudget", "b", "policy/v1", spec={"selector": SELECTOR, **spec})
    await world.settle()
    return made


async def status(world: World) -> tuple[int, int, int, int]:
    found = (await world.api.get(BUDGET, "b", "default"))["status"]
    fields = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    expected, healthy, desired, allowed = (found[field] for field in fields)
    return expected, healthy, desired, allowed


async def test_a_budget_knows_how_many_pods_can_go(world: World) -> None:
    await pods(world, 3)
    await budget(world, minAvailable=2)
    assert await status(world) == (3, 3, 2, 1)
    found = await world.api.get(BUDGET, "b", "default")
    assert [(one["type"], one["status"], one["reason"]) for one in found["status"]["conditions"]] == [
        ("DisruptionAllowed", "True", "SufficientPods")
    ]
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]


async def test_percentages_are_of_what_the_controllers_want(world: World) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": SPEC}
    spec = {"selector": SELECTOR, "template": template, "replicas": 10}
    replica_set = await world.create("ReplicaSet", "web", "apps/v1", spec=spec)
    await pods(world, 4, replica_set)
    await budget(world, maxUnavailable="25%")
    assert await status(world) == (10, 4, 7, 0)


async def test_a_budget_without_pods_allows_nothing(world: World) -> None:
    await budget(world, maxUnavailable=1)
    assert await status(world) == (0, 0, 0, 0)


async def test_a_pod_whose_controller_nobody_knows_stops_everything(world: World) -> None:
    owner = await world.config_map("owner")
    await pods(world, 1, owner)
    await budget(world, maxUnavailable=1)
    found = (await world.api.get(BUDGET, "b", "default"))["status"]
    assert found["disruptionsAllowed"] == 0
    assert found["conditions"][0]["reason"] == "SyncFailed"
    assert found["conditions"][0]["message"] == 'found no controllers for pod "web-0"'


async def test_the_status_follows_the_pods(world: World) -> None:
    made = await pods(world, 2, ready=False)
    await budget(world, minAvailable=1)
    assert await status(world) == (2, 0, 1, 0)
    for pod in made:
        conditions = [{"type": "Ready", "status": "True"}]
        await world.patch(pod, {"status": {"conditions": conditions}}, subresource="status")
    await world.settle()
    assert await status(world) == (2, 2, 1, 1)


async def test_an_eviction_uses_up_what_the_budget_allows(world: World) -> None:
    made = await pods(world, 2)
    await budget(world, minAvailable=1)
    answer = await evict(world, made[0], gracePeriodSeconds=0)
    assert (answer["status"], answer["kind"]) == ("Success", "Status")
    assert await world.find(made[0]) is None
    await world.settle()
    with pytest.raises(TooManyRequests) as caught:
        await evict(world, made[1])
    assert str(caught.value) == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = caught.value.causes[0]
    assert cause.reason == "DisruptionBudget"
    assert cause.message == "The disruption budget b needs 1 healthy pods and has 1 currently"


async def test_a_pod_that_goes_slowly_is_not_counted_any_more(world: World) -> None:
    made = await pods(world, 3)
    await budget(world, minAvailable=1)
    await evict(world, made[0])
    found = await world.find(made[0])
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    assert [one["reason"] for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"] == [
        "EvictionByEvictionAPI"
    ]
    await world.settle()
    assert await status(world) == (3, 2, 1, 1)


async def test_a_budget_that_nobody_has_looked_at_yet_allows_nothing(world: World) -> None:
    world.controllers["disruption-controller"].close()
    made = await pods(world, 2)
    await world.create("PodDisruptionBudget", "b", "policy/v1", spec={"selector": SELECTOR, "minAvailable": 1})
    with pytest.raises(TooManyRequests) as caught:
        await evict(world, made[0])
    assert caught.value.retry_after == 10
    assert caught.value.causes[0].message == "The disruption budget b is still being processed by the server."


async def test_two_budgets_over_one_pod_are_too_many(world: World) -> None:
    made = await pods(world, 1)
    await budget(world, minAvailable=0)
    await world.create("PodDisruptionBudget", "c", "policy/v1", spec={"selector": SELECTOR, "minAvailable": 0})
    with pytest.raises(APIError, match="more than one PodDisruptionBudget"):
        await evict(world, made[0])


async def test_what_does_not_run_yet_needs_no_budget(world: World) -> None:
    await budget(world, maxUnavailable=0)
    pod = await world.create("Pod", "p", metadata={"labels": {"app": "web"}}, spec=SPEC)
    await evict(world, pod)
    assert await world.find(pod) is None


async def test_an_unhealthy_pod_may_go_where_enough_others_are_healthy(world: World) -> None:
    made = await pods(world, 2)
    sick = await world.patch(
        made[0], {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, subresource="status"
    )
    await budget(world, minAvailable=1)
    assert await status(world) == (2, 1, 1, 0)
    await evict(world, sick, gracePeriodSeconds=0)
    assert await world.find(sick) is None


async def test_an_eviction_can_be_rehearsed(world: World) -> None:
    made = await pods(world, 2)
    await budget(world, minAvailable=1)
    await evict(world, made[0], dryRun=["All"])
    assert await world.find(made[0]) is not None
    assert await status(world) == (2, 2, 1, 1)


async def test_an_eviction_names_the_pod_that_it_is_sent_to(world: World) -> None:
    made = await pods(world, 1)
    with pytest.raises(BadRequest, match="name in URL does not match name in Eviction object"):
        await below(world, made[0], "eviction", {"metadata": {"name": "other"}})
    with pytest.raises(NotFound):
        await evict(world, {"metadata": {"name": "missing"}})


async def test_a_pod_is_bound_once(world: World) -> None:
    pod = await world.create("Pod", "p", spec=SPEC)
    await bind(world, pod, "node-1")
    found = await world.find(pod)
    assert found is not None
    assert found["spec"]["nodeName"] == "node-1"
    assert [(one["type"], one["status"]) for one in found["status"]["conditions"]] == [("PodScheduled", "True")]
    with pytest.raises(Conflict, match='pod p is already assigned to node "node-1"'):
        await bind(world, pod, "node-2")


async def test_what_is_bound_to_a_node_dies_slowly(world: World) -> None:
    """Only its kubelet can say that it is gone; a second deletion may shorten the time."""
    pod = await world.create("Pod", "p", spec=SPEC)
    await bind(world, pod)
    await world.delete(pod)
    found = await world.find(pod)
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    await world.api.delete(POD, "p", "default", options=DeleteOptions(grace_period_seconds=0))
    assert await world.find(pod) is None
