"""Objects for tests of the simulation's pure parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kapstan.k8s.apps_v1 import Deployment, ReplicaSet
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.codec import convert

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(name: str = "p", *, ready_for: float | None = None, status: Any = None, **fields: Any) -> Pod:
    """A pod; `ready_for` so many seconds, or not ready."""
    said = dict(status or {})
    if ready_for is not None:
        said["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": ago(ready_for)}]
        said.setdefault("phase", "Running")
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", **fields.pop("metadata", {})}
    spec = {"containers": [{"name": "c", "image": "c:1"}], **fields.pop("spec", {})}
    return convert({"metadata": metadata, "spec": spec, "status": said}, Pod)


def template(image: str = "c:1", **labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web", **labels}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def deployment(replicas: int = 3, *, status: Any = None, metadata: Any = None, **spec: Any) -> Deployment:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    full = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(),
        "strategy": strategy,
        "progressDeadlineSeconds": 600,
        **spec,
    }
    meta = {"name": "web", "namespace": "default", "uid": "d", "generation": 1, **(metadata or {})}
    return convert({"metadata": meta, "spec": full, "status": status or {}}, Deployment)


def rolling(surge: int, unavailable: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def replica_set(
    name: str, replicas: int, available: int = 0, *, age: float = 0, image: str = "c:1", **annotations: str
) -> ReplicaSet:
    known = {f"deployment.kubernetes.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-of-{name}",
        "annotations": known,
        "creationTimestamp": ago(age),
    }
    spec = {"replicas": replicas, "selector": {}, "template": template(image, **{"pod-template-hash": name})}
    status = {"replicas": replicas, "availableReplicas": available, "readyReplicas": available}
    return convert({"metadata": metadata, "spec": spec, "status": status}, ReplicaSet)
