"""Garbage collection: in the background, in the foreground, or not at all."""

from __future__ import annotations

import pytest

from kapstan.apiserver.controllers.manager import start

from .conftest import CONFIG_MAP, World, owned_by


async def test_dependents_go_after_their_owner(world: World) -> None:
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner)
    grandchild = await world.config_map("grandchild", child)
    await world.delete(owner, "Background")
    await world.settle()
    assert await world.find(child) is None
    assert await world.find(grandchild) is None


async def test_a_dependent_stays_while_one_of_its_owners_does(world: World) -> None:
    first, second = await world.config_map("first"), await world.config_map("second")
    child = await world.config_map("child", first, second)
    await world.delete(first)
    await world.settle()
    left = await world.find(child)
    assert left is not None
    assert left["metadata"]["ownerReferences"] == [owned_by(second)]
    await world.delete(second)
    await world.settle()
    assert await world.find(child) is None


async def test_a_dependent_whose_owner_never_was_goes(world: World) -> None:
    """Owners are known by uid: one of the same name is not the same."""
    owner = await world.config_map("owner")
    stranger = {**owner, "metadata": {**owner["metadata"], "uid": "no-such-uid"}}
    child = await world.config_map("child", stranger)
    await world.settle()
    assert await world.find(child) is None


async def test_a_dependent_that_is_given_to_an_owner_who_never_was_goes(world: World) -> None:
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner)
    await world.settle()
    stranger = {**owner, "metadata": {**owner["metadata"], "uid": "no-such-uid"}}
    await world.patch(child, {"metadata": {"ownerReferences": [owned_by(stranger)]}})
    await world.settle()
    assert await world.find(child) is None


async def test_orphans_stay_and_forget_their_owner(world: World) -> None:
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner)
    await world.delete(owner, "Orphan")
    await world.settle()
    assert await world.find(owner) is None
    left = await world.find(child)
    assert left is not None
    assert "ownerReferences" not in left["metadata"]


async def test_in_the_foreground_the_owner_waits_for_those_who_block_it(world: World) -> None:
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner, block=True, finalizers=["example.com/wait"])
    await world.delete(owner, "Foreground")
    await world.settle()
    waiting, going = await world.find(owner), await world.find(child)
    assert waiting is not None
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert going is not None
    assert going["metadata"]["deletionTimestamp"]
    await world.patch(child, {"metadata": {"finalizers": None}})
    await world.settle()
    assert await world.find(owner) is None


async def test_in_the_foreground_the_owner_does_not_wait_for_others(world: World) -> None:
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner, finalizers=["example.com/wait"])
    await world.delete(owner, "Foreground")
    await world.settle()
    assert await world.find(owner) is None
    left = await world.find(child)
    assert left is not None
    assert left["metadata"]["deletionTimestamp"]


async def test_foreground_deletion_goes_down_the_whole_tree(world: World) -> None:
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner, block=True)
    grandchild = await world.config_map("grandchild", child, block=True)
    await world.delete(owner, "Foreground")
    await world.settle()
    assert [await world.find(one) for one in (owner, child, grandchild)] == [None, None, None]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_a_circle_of_owners_is_no_obstacle(world: World, policy: str) -> None:
    first = await world.config_map("first")
    second = await world.config_map("second", first, block=True)
    third = await world.config_map("third", second, block=True)
    await world.patch(first, {"metadata": {"ownerReferences": [owned_by(third, block=True)]}})
    await world.delete(first, policy)
    await world.settle()
    assert [await world.find(one) for one in (first, second, third)] == [None, None, None]


async def test_an_object_outside_of_namespaces_is_not_deleted_for_an_owner_in_one(world: World) -> None:
    """Nobody could say in which namespace the owner should be."""
    owner = await world.config_map("owner")
    role = await world.create(
        "ClusterRole",
        "child",
        "rbac.authorization.k8s.io/v1",
        namespace="",
        metadata={"ownerReferences": [owned_by(owner)]},
    )
    await world.delete(owner)
    await world.settle()
    assert await world.find(role) is not None


async def test_an_owner_outside_of_namespaces_is_found(world: World) -> None:
    owner = await world.create("Namespace", "owner", namespace="")
    child = await world.config_map("child", owner)
    await world.settle()
    assert await world.find(child) is not None
    await world.delete(owner)
    await world.settle()
    assert await world.find(child) is None


async def test_an_owner_of_a_kind_that_is_not_served_keeps_its_dependents(world: World) -> None:
    """Whether it is gone cannot be known; when its kind is served again, it can."""
    owner = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x", "uid": "u"}}
    child = await world.config_map("child", owner)
    await world.settle()
    assert await world.find(child) is not None
    await world.api.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
                ],
            },
        }
    )
    await world.settle()
    assert await world.find(child) is None


async def test_replica_sets_go_with_their_deployment_and_pods_with_their_replica_set(world: World) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    deployment = await world.create("Deployment", "a", "apps/v1", spec=spec)
    replica_set = await world.create(
        "ReplicaSet", "a-1", "apps/v1", spec=spec, metadata={"ownerReferences": [owned_by(deployment)]}
    )
    pod = await world.create(
        "Pod", "a-1-x", metadata={"ownerReferences": [owned_by(replica_set)]}, spec=template["spec"]
    )
    await world.delete(deployment)
    await world.settle()
    assert [await world.find(one) for one in (deployment, replica_set, pod)] == [None, None, None]


async def test_deleting_a_replication_controller_leaves_its_pods_by_default(world: World) -> None:
    """As it did before there was a choice."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    controller = await world.create("ReplicationController", "a", spec={"template": template})
    pod = await world.create("Pod", "a-x", metadata={"ownerReferences": [owned_by(controller)]}, spec=template["spec"])
    await world.delete(controller)
    await world.settle()
    assert await world.find(controller) is None
    left = await world.find(pod)
    assert left is not None
    assert "ownerReferences" not in left["metadata"]


async def test_what_was_left_undone_is_done_at_the_next_start(world: World) -> None:
    world.controllers.close()
    owner = await world.config_map("owner")
    child = await world.config_map("child", owner)
    await world.delete(owner)
    assert await world.find(child) is not None
    controllers = await start(world.cluster)
    await controllers.idle()
    assert await world.find(child) is None
    controllers.close()


async def test_many_dependents_go(world: World) -> None:
    owner = await world.config_map("owner")
    for number in range(100):
        await world.config_map(f"child-{number}", owner)
    await world.delete(owner)
    await world.settle()
    names = {one["metadata"]["name"] for one in await world.api.list(CONFIG_MAP, "default")}
    assert not {name for name in names if name.startswith("child-")}
