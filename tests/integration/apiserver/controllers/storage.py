"""Stories about storage that is deleted while it is used."""

from __future__ import annotations

from typing import Any

from tests.integration.apiserver.controllers.quotas import Namespace, Object, claim, named, pod
from tests.unit.apiserver.strategy.asking import Server


async def protected_claims(server: Server) -> list[Any]:
    space = await Namespace(server, "storing").made()
    path = f"{space.base}/persistentvolumeclaims"
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "used"}}
    await space.post("persistentvolumeclaims", claim("used", "1Gi", storageClassName=""))
    await space.post("persistentvolumeclaims", claim("free", "1Gi", storageClassName=""))
    await space.post("pods", pod("user", volumes=[volume], nodeName="n"))
    kept = await space.until(f"{path}/used", lambda body: body["metadata"].get("finalizers"))
    space.answers.append(kept["metadata"]["finalizers"])
    for name in ("used", "free"):
        await server.ask("DELETE", f"{path}/{name}")
    await space.gone(f"{path}/free")
    space.answers.append((await server.ask("GET", f"{path}/used")).status)
    await space.delete("pods/user")
    await space.gone(f"{path}/used")
    return space.answers


async def protected_volumes(server: Server) -> list[Any]:
    space = await Namespace(server, "volumes").made()
    volumes, classes = "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/volumeattributesclasses"
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    driver: Object = {"driverName": "d.example.com", "parameters": {"a": "b"}}
    attributes = {**named("VolumeAttributesClass", "fast", **driver), "apiVersion": "storage.k8s.io/v1"}
    await server.ask("POST", classes, attributes)
    volume = {**named("PersistentVolume", "pv", spec={**spec, "storageClassName": "manual"}), "apiVersion": "v1"}
    await server.ask("POST", volumes, volume)
    await space.post("persistentvolumeclaims", claim("c", "1Gi", storageClassName="", volumeAttributesClassName="fast"))
    for path in (f"{volumes}/pv", f"{classes}/fast"):
        body = await space.until(path, lambda body: body["metadata"].get("finalizers"))
        space.answers.append(body["metadata"]["finalizers"])
        await server.ask("DELETE", path)
    await space.gone(f"{volumes}/pv")
    space.answers.append((await server.ask("GET", f"{classes}/fast")).status)
    await space.delete("persistentvolumeclaims/c")
    await space.gone(f"{classes}/fast")
    return space.answers


STORIES = (protected_claims, protected_volumes)
