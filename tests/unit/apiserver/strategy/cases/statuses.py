"""Statuses that show in tables, by the case whose object gets them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

LONG_AGO = "2024-01-01T00:00:00Z"


def container(**fields: Any) -> Object:
    plain = {
        "name": "web",
        "image": "nginx",
        "imageID": "x",
        "ready": False,
        "restartCount": 0,
        "state": {},
        "lastState": {},
    }
    return {**plain, **fields}


def terminated(**fields: Any) -> Object:
    return {"terminated": {"exitCode": 0, **fields}}


STATUSES: dict[str, Object] = {
    "pod": {
        "phase": "Running",
        "podIPs": [{"ip": "10.0.0.1"}],
        "podIP": "10.0.0.1",
        "containerStatuses": [
            container(
                ready=True,
                restartCount=3,
                state={"running": {"startedAt": LONG_AGO}},
                lastState=terminated(exitCode=1, finishedAt=LONG_AGO),
            )
        ],
    },
    "pod: image with tag": {
        "phase": "Running",
        "containerStatuses": [container(state={"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=2)],
    },
    "pod: ports": {"phase": "Failed", "reason": "Evicted"},
    "pod: environment": {"phase": "Succeeded", "containerStatuses": [container(state=terminated(reason="Completed"))]},
    "pod: probes and hooks": {"phase": "Running", "containerStatuses": [container(state=terminated(exitCode=3))]},
    "pod: limits without requests": {
        "phase": "Running",
        "containerStatuses": [container(state=terminated(exitCode=3, signal=9))],
    },
    "pod: init containers and sidecar": {
        "phase": "Pending",
        "initContainerStatuses": [
            container(name="i", state=terminated(exitCode=1), restartCount=5),
            container(name="s"),
        ],
    },
    "pod: volumes of all kinds": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [container(state=terminated(reason="Completed"))],
    },
    "pod: requests only": {"phase": "Weird", "nominatedNodeName": "n1"},
    "node": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "containerd://2",
            "kernelVersion": "6",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "Debian",
            "systemUUID": "",
        },
        "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
    },
    "deployment": {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
    "replica set": {"replicas": 3, "readyReplicas": 2},
    "stateful set": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
    "daemon set": {
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 2,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
    },
    "job": {"startTime": LONG_AGO, "active": 1},
    "cron job": {"lastScheduleTime": LONG_AGO},
    "autoscaler: metrics": {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "currentMetrics": [
            {"type": "Pods", "pods": {"metric": {"name": "p"}, "current": {"averageValue": "500"}}},
            {
                "type": "Resource",
                "resource": {"name": "memory", "current": {"averageUtilization": 3, "averageValue": "10"}},
            },
        ],
    },
    "service: load balancer": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "x.example.com"}]}},
    "ingress": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "a-very-long-hostname.example.com"}]}},
    "disruption budget": {"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2},
    "volume": {"phase": "Bound"},
    "resource quota": {"hard": {"pods": "10", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3"}},
}
