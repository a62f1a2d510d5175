"""Storage that is used stays until it is not."""

from __future__ import annotations

from .conftest import Object, World

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}


async def pod_with(world: World, volume: Object, **spec: str) -> Object:
    content = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", **volume}], **spec}
    return await world.create("Pod", "user", spec=content)


async def deleted(world: World, obj: Object) -> Object | None:
    """What is left of an object after its deletion and what follows from it."""
    await world.delete(obj)
    await world.settle()
    return await world.find(obj)


async def test_a_claim_goes_with_the_last_pod_on_a_node_that_uses_it(world: World) -> None:
    claim = await world.create("PersistentVolumeClaim", "c", spec=CLAIM)
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    pod = await pod_with(world, {"persistentVolumeClaim": {"claimName": "c"}}, nodeName="n")
    assert await deleted(world, claim) is not None
    await world.patch(pod, {"status": {"phase": "Succeeded"}}, subresource="status")
    await deleted(world, pod)
    assert await world.find(claim) is None


async def test_a_pod_that_is_nowhere_uses_nothing(world: World) -> None:
    claim = await world.create("PersistentVolumeClaim", "c", spec=CLAIM)
    await pod_with(world, {"persistentVolumeClaim": {"claimName": "c"}})
    assert await deleted(world, claim) is None


async def test_a_bound_volume_stays(world: World) -> None:
    volume = await world.create("PersistentVolume", "v", namespace="", spec=VOLUME)
    await world.patch(volume, {"status": {"phase": "Bound"}}, subresource="status")
    assert await deleted(world, volume) is not None
    await world.patch(volume, {"status": {"phase": "Released"}}, subresource="status")
    await world.settle()
    assert await world.find(volume) is None


async def test_a_class_of_attributes_goes_with_the_last_claim_that_names_it(world: World) -> None:
    attributes = await world.create(
        "VolumeAttributesClass", "fast", "storage.k8s.io/v1", "", driverName="d.example.com", parameters={"a": "b"}
    )
    claim = await world.create("PersistentVolumeClaim", "c", spec={**CLAIM, "volumeAttributesClassName": "fast"})
    assert await deleted(world, attributes) is not None
    await deleted(world, claim)
    assert await world.find(attributes) is None


async def test_a_finalizer_that_was_taken_off_comes_back(world: World) -> None:
    claim = await world.create("PersistentVolumeClaim", "c", spec=CLAIM)
    await world.patch(claim, {"metadata": {"finalizers": None}})
    await world.settle()
    found = await world.find(claim)
    assert found is not None
    assert found["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
