"""Stories about quotas: what is refused in which words, and what a quota says is used."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.apiserver.strategy.asking import Server, normal

Object = dict[str, Any]

MERGE = "application/merge-patch+json"


class Namespace:
    """A namespace of one server, and what it answered to writes in it."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.base = f"/api/v1/namespaces/{name}"
        self.answers: list[Any] = []

    async def made(self) -> Namespace:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        await self.server.ask("POST", "/api/v1/namespaces", body)
        await self.until(f"{self.base}/serviceaccounts/default", lambda body: body["kind"] == "ServiceAccount")
        await self.until(f"{self.base}/configmaps/kube-root-ca.crt", lambda body: body["kind"] == "ConfigMap")
        return self

    async def post(self, resource: str, body: Object, group: str = "", query: str = "") -> None:
        base = f"/apis/{group}/namespaces/{self.name}" if group else self.base
        versions = {"apiVersion": group or "v1"}
        answer = await self.server.ask("POST", f"{base}/{resource}{query}", {**versions, **body})
        self.answers.append((answer.status, _telling(answer.body)))

    async def patch(self, path: str, body: Object) -> None:
        answer = await self.server.ask("PATCH", f"{self.base}/{path}", body, content_type=MERGE)
        self.answers.append((answer.status, _telling(answer.body)))

    async def delete(self, path: str) -> None:
        await self.server.ask("DELETE", f"{self.base}/{path}?gracePeriodSeconds=0")

    async def quota(self, name: str, used: dict[str, str]) -> None:
        """Wait until a quota says that this is used."""

        def counted(body: Object) -> bool:
            found = body["status"].get("used", {})
            return {name: found.get(name) for name in used} == used

        body = await self.until(f"{self.base}/resourcequotas/{name}", counted)
        self.answers.append(body["status"])

    async def gone(self, path: str) -> None:
        """Wait until there is nothing any more."""
        async with asyncio.timeout(60):
            while True:
                if (await self.server.ask("GET", path)).status == 404:
                    return
                await asyncio.sleep(0.05)

    async def until(self, path: str, fine: Any) -> Object:
        body: Object = {}
        try:
            async with asyncio.timeout(60):
                while True:
                    body = (await self.server.ask("GET", path)).body
                    if body.get("kind") != "Status" and fine(body):
                        return body
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{path} stays {body}") from None


def _telling(body: Object) -> Any:
    """Of a refusal everything; of an object nothing, which other tests compare."""
    return normal(body) if body["kind"] == "Status" else body["kind"]


def named(kind: str, name: str, **more: Any) -> Object:
    return {"kind": kind, "metadata": {"name": name}, **more}


def pod(name: str, requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    container: Object = {"name": "c", "image": "i", "resources": {}}
    container["resources"] |= {"requests": requests} if requests else {}
    container["resources"] |= {"limits": limits} if limits else {}
    return named("Pod", name, spec={"containers": [container], **spec})


def quota(name: str, hard: Object, **spec: Any) -> Object:
    return named("ResourceQuota", name, spec={"hard": hard, **spec})


def service(name: str, type: str = "ClusterIP", ports: int = 1) -> Object:
    listed = [{"name": f"p{number}", "port": 80 + number} for number in range(ports)]
    return named("Service", name, spec={"type": type, "ports": listed})


def claim(name: str, storage: str, **spec: Any) -> Object:
    resources = {"requests": {"storage": storage}}
    return named("PersistentVolumeClaim", name, spec={"accessModes": ["ReadWriteOnce"], "resources": resources, **spec})


async def counted_objects(server: Server) -> list[Any]:
    """Config maps, secrets, services, claims and replica sets take places."""
    space = await Namespace(server, "counted").made()
    hard = {
        "configmaps": "2",
        "count/configmaps": "5",
        "secrets": "1",
        "services": "3",
        "services.nodeports": "2",
        "services.loadbalancers": "1",
        "persistentvolumeclaims": "3",
        "requests.storage": "10Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "3Gi",
        "count/replicasets.apps": "1",
        "resourcequotas": "1",
        "replicationcontrollers": "0",
    }
    await space.post("resourcequotas", quota("q", hard))
    await space.quota("q", {"configmaps": "1", "resourcequotas": "1"})
    await space.post("resourcequotas", quota("second", {"pods": "1"}))
    await space.post("configmaps", named("ConfigMap", "a"), query="?dryRun=All")
    for name in "ab":
        await space.post("configmaps", named("ConfigMap", name))
        await space.post("secrets", named("Secret", name))
    await space.post("services", service("plain"))
    await space.post("services", service("port", "NodePort"))
    await space.post("services", service("ports", "NodePort", 3))
    await space.post("services", service("balanced", "LoadBalancer"))
    await space.post("services", service("more", "LoadBalancer"))
    await space.post("persistentvolumeclaims", claim("one", "1500Mi", storageClassName="gold"))
    await space.post("persistentvolumeclaims", claim("two", "2Gi", storageClassName="gold"))
    await space.post("persistentvolumeclaims", claim("big", "9Gi"))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    replicas = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    for name in "ab":
        await space.post("replicasets", named("ReplicaSet", name, spec=replicas), "apps/v1")
    controller = {"replicas": 0, "selector": {"a": "b"}, "template": template}
    await space.post("replicationcontrollers", named("ReplicationController", "r", spec=controller))
    await space.quota("q", {"services": "3", "count/replicasets.apps": "1"})
    for path in ("configmaps/a", "services/balanced", "persistentvolumeclaims/one"):
        await space.delete(path)
    await space.patch("services/port", {"spec": {"type": "ClusterIP"}})
    await space.quota("q", {"configmaps": "1", "services.nodeports": "0", "requests.storage": "0"})
    await space.patch("resourcequotas/q", {"spec": {"hard": {"configmaps": "1", "secrets": None, "pods": "1"}}})
    await space.quota("q", {"pods": "0"})
    await space.post("configmaps", named("ConfigMap", "a"))
    return space.answers


async def pods(server: Server) -> list[Any]:
    """Pods take compute resources, say how much, and give them back when they end."""
    space = await Namespace(server, "computing").made()
    hard = {
        "pods": "3",
        "count/pods": "4",
        "cpu": "1",
        "requests.memory": "1Gi",
        "limits.cpu": "2",
        "requests.ephemeral-storage": "50Gi",
        "requests.example.com/dongle": "3",
    }
    await space.post("resourcequotas", quota("q", hard))
    await space.quota("q", {"pods": "0", "requests.example.com/dongle": "0"})
    await space.post("pods", pod("says-nothing"))
    await space.post("pods", pod("says-half", {"cpu": "1"}))
    fits = {"cpu": "500m", "memory": "252Mi", "ephemeral-storage": "30Gi", "example.com/dongle": "2"}
    limits = {"cpu": "800m", "example.com/dongle": "2"}
    await space.post("pods", pod("fits", fits, limits))
    await space.post("pods", pod("too-much", {"cpu": "600m", "memory": "100Mi"}, {"cpu": "1300m"}))
    await space.post("pods", pod("dongles", {**fits, "cpu": "1m"}, {**limits, "cpu": "1m"}))
    await space.post("pods", pod("small", {"cpu": "1m", "memory": "1Mi"}, {"cpu": "1m"}))
    await space.quota("q", {"pods": "2", "cpu": "501m"})
    await space.patch("pods/small", {"metadata": {"labels": {"a": "b"}}})
    await space.patch("pods/small/status", {"status": {"phase": "Succeeded"}})
    await space.quota("q", {"pods": "1", "count/pods": "2"})
    await space.delete("pods/fits")
    await space.quota("q", {"pods": "0", "count/pods": "1"})
    levels = {"resources": {"requests": {"cpu": "100m", "memory": "1Mi"}, "limits": {"cpu": "200m"}}}
    await space.post("pods", pod("as-a-whole", **levels))
    init = {
        "name": "i",
        "image": "i",
        "resources": {"requests": {"cpu": "300m", "memory": "5Mi"}, "limits": {"cpu": "1"}},
    }
    sidecar = {**init, "name": "s", "restartPolicy": "Always"}
    await space.post(
        "pods", pod("inits", {"cpu": "1m", "memory": "1Mi"}, {"cpu": "1m"}, initContainers=[init, sidecar])
    )
    await space.quota("q", {"pods": "2"})
    return space.answers


async def scoped(server: Server) -> list[Any]:
    """Quotas about some pods only."""
    space = await Namespace(server, "scoped").made()
    for name, hard, spec in (
        ("ending", {"pods": "1"}, {"scopes": ["Terminating"]}),
        ("lasting", {"pods": "1", "requests.cpu": "1"}, {"scopes": ["NotTerminating", "NotBestEffort"]}),
        ("effortless", {"pods": "1"}, {"scopes": ["BestEffort"]}),
        ("urgent", {"pods": "1"}, _by_priority("In", "system-node-critical", "rush")),
        ("leisurely", {"pods": "3"}, _by_priority("NotIn", "rush")),
        ("prioritized", {"pods": "9"}, _by_priority("Exists")),
        ("unprioritized", {"pods": "9"}, _by_priority("DoesNotExist")),
        ("apart", {"pods": "0"}, {"scopes": ["CrossNamespacePodAffinity"]}),
    ):
        await space.post("resourcequotas", quota(name, hard, **spec))
        await space.quota(name, {"pods": "0"})
    rush = {**named("PriorityClass", "rush", value=5), "apiVersion": "scheduling.k8s.io/v1"}
    await server.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", rush)
    cpu = {"cpu": "100m"}
    await space.post("pods", pod("ending", activeDeadlineSeconds=3600, requests=cpu))
    await space.post("pods", pod("ending-too", activeDeadlineSeconds=3600, requests=cpu))
    await space.post("pods", pod("lasting", cpu))
    await space.post("pods", pod("effortless", activeDeadlineSeconds=3600))
    await space.patch("pods/lasting", {"spec": {"activeDeadlineSeconds": 10}})
    await space.delete("pods/ending")
    await space.quota("ending", {"pods": "0"})
    await space.patch("pods/lasting", {"spec": {"activeDeadlineSeconds": 10}})
    await space.quota("ending", {"pods": "1"})
    await space.quota("lasting", {"pods": "0"})
    await space.post("pods", pod("rushed", cpu, priorityClassName="rush"))
    await space.delete("pods/lasting")
    await space.quota("leisurely", {"pods": "0"})
    await space.post("pods", pod("rushed-too", cpu, priorityClassName="rush", activeDeadlineSeconds=3600))
    term = {"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}, "namespaces": ["elsewhere"]}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await space.post("pods", pod("apart", cpu, affinity=affinity, activeDeadlineSeconds=3600))
    await space.quota("prioritized", {"pods": "1"})
    await space.quota("unprioritized", {"pods": "0"})
    return space.answers


def _by_priority(operator: str, *values: str) -> Object:
    expression: Object = {"scopeName": "PriorityClass", "operator": operator}
    expression |= {"values": list(values)} if values else {}
    return {"scopeSelector": {"matchExpressions": [expression]}}


STORIES = (counted_objects, pods, scoped)
