"""Sets, deployments and machines, as small as tests need them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kapstan.cluster.api.core import Machine, MachineDeployment, MachineSet
from kapstan.machinery.codec import convert

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def a_template(version: str = "v1.36.0", name: str = "t", **metadata: Any) -> dict[str, Any]:
    return {
        **({"metadata": metadata} if metadata else {}),
        "spec": {
            "clusterName": "c",
            "version": version,
            "bootstrap": {"configRef": {"apiGroup": "b.io", "kind": "ConfigTemplate", "name": name}},
            "infrastructureRef": {"apiGroup": "i.io", "kind": "ComputerTemplate", "name": name},
        },
    }


def a_set(name: str = "s", replicas: int | None = 3, *, age: int = 0, **changes: Any) -> MachineSet:
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-{name}",
        "generation": 1,
        "creationTimestamp": (EPOCH - timedelta(hours=age)).isoformat(),
        **changes.pop("metadata", {}),
    }
    status = changes.pop("status", {"conditions": [a_condition("ScalingUp", "False", observedGeneration=1)]})
    spec = {"clusterName": "c", "replicas": replicas, "template": a_template(), "selector": {}, **changes}
    return convert({"metadata": metadata, "spec": spec, "status": status}, MachineSet)


def a_deployment(replicas: int = 3, **changes: Any) -> MachineDeployment:
    metadata = {"name": "d", "namespace": "n", "uid": "uid-d", "generation": 1, **changes.pop("metadata", {})}
    spec = {"clusterName": "c", "replicas": replicas, "template": a_template(), "selector": {}, **changes}
    return convert({"metadata": metadata, "spec": spec}, MachineDeployment)


def a_machine(name: str = "m", *conditions: dict[str, Any], **changes: Any) -> Machine:
    """A machine that is a node; `age` in hours, `owner` a set."""
    owner, age = changes.pop("owner", "s"), changes.pop("age", 0)
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-{name}",
        "creationTimestamp": (EPOCH - timedelta(hours=age)).isoformat(),
        "ownerReferences": [
            {"apiVersion": "x/v1", "kind": "MachineSet", "name": owner, "uid": f"uid-{owner}", "controller": True}
        ],
        **changes.pop("metadata", {}),
    }
    status = {"conditions": list(conditions), "nodeRef": {"name": name}, **changes.pop("status", {})}
    return convert({"metadata": metadata, "spec": {**a_template()["spec"], **changes}, "status": status}, Machine)


def a_condition(type: str, status: str = "True", reason: str = "R", message: str = "", **more: Any) -> dict[str, Any]:
    return {"type": type, "status": status, "reason": reason, "message": message, **more}
