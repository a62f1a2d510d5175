"""Stories about limit ranges: what containers get that do not ask, and what is refused in which words."""

from __future__ import annotations

from typing import Any

from tests.integration.apiserver.controllers.quotas import Namespace, Object, claim, named, pod
from tests.unit.apiserver.strategy.asking import Server


async def ranged(server: Server, name: str, *limits: Object) -> Namespace:
    """A namespace with a limit range that the server knows of."""
    space = await Namespace(server, name).made()
    await space.post("limitranges", named("LimitRange", "r", spec={"limits": list(limits)}))
    await space.until(f"{space.base}/limitranges", lambda body: body["items"])
    return space


async def given(space: Namespace, name: str) -> None:
    """Note what a pod was given."""
    body = (await space.server.ask("GET", f"{space.base}/pods/{name}")).body
    fields = ("containers", "initContainers")
    resources = [[one["resources"] for one in body["spec"].get(field, ())] for field in fields]
    space.answers.append([body["metadata"].get("annotations"), resources, body["status"]["qosClass"]])


async def defaults(server: Server) -> list[Any]:
    limit = {
        "type": "Container",
        "min": {"cpu": "50m", "memory": "100Mi", "ephemeral-storage": "100Gi"},
        "max": {"cpu": "500m", "memory": "500Mi", "ephemeral-storage": "500Gi"},
        "default": {"cpu": "500m", "memory": "500Mi", "ephemeral-storage": "500Gi"},
        "defaultRequest": {"cpu": "100m", "memory": "200Mi", "ephemeral-storage": "200Gi"},
    }
    space = await ranged(server, "defaulted", limit)
    init = {"name": "i", "image": "i", "resources": {"limits": {"memory": "300Mi"}}}
    await space.post("pods", pod("silent", initContainers=[init]))
    await given(space, "silent")
    await space.post("pods", pod("partial", {"cpu": "300m"}, {"memory": "400Mi"}))
    await given(space, "partial")
    await space.post("pods", pod("too-little", {"cpu": "10m"}))
    await space.post("pods", pod("too-much", {"cpu": "600m"}, {"cpu": "600m"}))
    await space.post("pods", pod("limited-below", limits={"cpu": "49m"}))
    return space.answers


async def unspecified(server: Server) -> list[Any]:
    space = await ranged(
        server,
        "strict",
        {"type": "Container", "min": {"example.com/thing": "2"}},
        {"type": "Pod", "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}},
    )
    things = {"example.com/thing": "2"}
    await space.post("pods", pod("without-things", limits={"cpu": "1"}))
    await space.post("pods", pod("without-limit", things, things))
    await space.post("pods", pod("one-thing", {"example.com/thing": "1"}, {"example.com/thing": "1", "cpu": "1"}))
    await space.post("pods", pod("stretched", {**things, "cpu": "300m"}, {**things, "cpu": "1"}))
    await space.post("pods", pod("fits", {**things, "cpu": "500m"}, {**things, "cpu": "1"}))
    await space.post("pods", pod("zero", {**things, "cpu": "0"}, {**things, "cpu": "1"}))
    init = {"name": "i", "image": "i", "resources": {"limits": {"cpu": "1100m", **things}}}
    await space.post("pods", pod("large", {**things, "cpu": "1"}, {**things, "cpu": "1"}, initContainers=[init]))
    whole = {"resources": {"limits": {"cpu": "900m"}, "requests": {"cpu": "800m"}}}
    await space.post("pods", pod("whole", things, things, **whole))
    for name, storage in (("small", "1000Mi"), ("fitting", "2Gi"), ("big", "6Gi")):
        await space.post("persistentvolumeclaims", claim(name, storage))
    await space.patch("pods/fits", {"metadata": {"labels": {"a": "b"}}})
    return space.answers


STORIES = (defaults, unspecified)
