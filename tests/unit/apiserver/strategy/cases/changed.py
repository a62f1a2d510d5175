"""Changes of objects that are there, by way of which endpoint: most are refused, some do less than they ask for."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.unit.apiserver.strategy.cases.objects import CONTAINER, Object

OTHER = {"matchLabels": {"app": "other"}}
LATER = "2030-01-01T00:00:00Z"


class Change(NamedTuple):
    """A merge patch on an object of one of the cases."""

    case: str
    patch: Object
    subresource: str = ""
    first: tuple[Object, ...] = ()  # statuses that it has before


def spec(case: str, **fields: Any) -> Change:
    return Change(case, {"spec": fields})


def status(case: str, **fields: Any) -> Change:
    return Change(case, {"status": fields}, "status")


def metadata(case: str, **fields: Any) -> Change:
    return Change(case, {"metadata": fields})


CHANGES: dict[str, Change] = {
    "pod image": spec("pod", containers=[{"name": "web", "image": "other"}]),
    "pod container": spec("pod", containers=[{"name": "web", "image": "nginx", "command": ["x"]}]),
    "pod more containers": spec("pod", containers=[CONTAINER, {"name": "b", "image": "i"}]),
    "pod node": spec("pod", nodeName="n"),
    "pod deadline": spec("pod", activeDeadlineSeconds=5),
    "pod deadline negative": spec("pod", activeDeadlineSeconds=-1),
    "pod grace": spec("pod", terminationGracePeriodSeconds=1),
    "pod toleration": spec("pod", tolerations=[{"key": "a", "operator": "Exists"}]),
    "pod restart policy": spec("pod", restartPolicy="Never"),
    "pod gates": spec("pod", schedulingGates=[{"name": "a"}]),
    "pod gates removed": spec("pod: scheduling gates", schedulingGates=[]),
    "pod gated selector": spec("pod: scheduling gates", nodeSelector={"a": "b"}),
    "pod labels": metadata("pod", labels={"a": "b"}),
    "pod status by spec": Change("pod", {"status": {"phase": "Running"}}),
    "pod status": status("pod", phase="Running", podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}]),
    "pod status spec": Change("pod", {"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}, "status"),
    "pod qos": status("pod", qosClass="Guaranteed"),
    "pod nominated": status("pod", nominatedNodeName="Bad_"),
    "pod condition": status("pod", conditions=[{"type": "bad type!", "status": "True"}]),
    "pod ephemeral": Change(
        "pod", {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}, "ephemeralcontainers"
    ),
    "pod ephemeral bad": Change(
        "pod",
        {"spec": {"ephemeralContainers": [{"name": "web", "image": "", "ports": [{"containerPort": 1}]}]}},
        "ephemeralcontainers",
    ),
    "pod resize": Change(
        "pod: requests only",
        {"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "3"}}}]}},
        "resize",
    ),
    "service address": spec("service", clusterIP="10.0.0.99", clusterIPs=["10.0.0.99"]),
    "service no address": spec("service", clusterIP=None, clusterIPs=None),
    "service headless": spec("service", clusterIP="None", clusterIPs=["None"]),
    "service to node port": spec("service", type="NodePort"),
    "service to external": spec("service", type="ExternalName", externalName="a.b"),
    "service to balancer": spec("service", type="LoadBalancer", externalTrafficPolicy="Local"),
    "service to cluster": spec("service: node port", type="ClusterIP"),
    "service family": spec("service", ipFamilies=["IPv6"]),
    "service ports": spec("service", ports=[{"port": 81}]),
    "service balancer class": spec("service: load balancer", loadBalancerClass="other/class"),
    "service status": status("service", loadBalancer={"ingress": [{"ip": "1.2.3.4"}]}),
    "service balancer status": status(
        "service: load balancer",
        loadBalancer={"ingress": [{"ip": "x"}, {"hostname": "1.2.3.4"}, {"ip": "1.2.3.4", "ipMode": "X"}]},
    ),
    "secret type": Change("secret", {"type": "other"}),
    "secret data": Change("secret", {"stringData": {"x": "y"}}),
    "secret immutable": Change("secret", {"immutable": True}),
    "config map data": Change("config map", {"data": {"x": "y"}}),
    "namespace finalizers": spec("namespace", finalizers=["other/x"]),
    "namespace status": status("namespace", phase="Terminating"),
    "node range": spec("node: with status", podCIDR="10.0.0.0/24", podCIDRs=["10.0.0.0/24"], providerID="p"),
    "node taint": spec("node", taints=[{"key": "a", "effect": "Maybe"}]),
    "node status": status(
        "node", capacity={"cpu": "4", "pods": "-1"}, addresses=[{"type": "Hostname", "address": "a"}] * 2
    ),
    "claim size": spec("claim", resources={"requests": {"storage": "2Gi"}}),
    "claim less": spec("claim", resources={"requests": {"storage": "1Mi"}}),
    "claim class": spec("claim", storageClassName="other"),
    "claim volume": spec("claim", volumeName="v"),
    "claim modes": spec("claim", accessModes=["ReadOnlyMany"]),
    "claim mode": spec("claim", volumeMode="Block"),
    "claim status": status("claim", phase="Bound", capacity={"storage": "-1"}),
    "volume source": spec("volume", hostPath={"path": "/other"}),
    "volume mode": spec("volume", volumeMode="Block"),
    "volume capacity": spec("volume", capacity={"storage": "5Gi"}),
    "volume claim": spec("volume", claimRef={"name": "a", "namespace": "b"}),
    "volume status": status("volume", phase="Available"),
    "event object": Change("event", {"involvedObject": {"name": "other"}, "reason": "x"}),
    "new event": Change("event: of events.k8s.io", {"note": "other", "reason": "x"}),
    "quota": spec("resource quota", hard={"pods": "-1"}),
    "quota scopes": spec("resource quota", scopes=["BestEffort"]),
    "quota status": status("resource quota", hard={"pods": "1"}, used={"unknown": "1"}),
    "replication controller": spec("replication controller", replicas=-1, selector={"a": "b"}),
    "deployment selector": spec("deployment", selector=OTHER),
    "deployment labels": spec("deployment", template={"metadata": {"labels": {"app": "other"}}}),
    "deployment replicas": spec("deployment", replicas=5),
    "deployment status": status("deployment", replicas=1, readyReplicas=2, availableReplicas=3, updatedReplicas=4),
    "deployment status spec": Change("deployment", {"spec": {"replicas": 7}, "status": {"replicas": 1}}, "status"),
    "deployment scale": Change("deployment", {"spec": {"replicas": 4}}, "scale"),
    "deployment scale negative": Change("deployment", {"spec": {"replicas": -4}}, "scale"),
    "deployment annotations": metadata("deployment", annotations={"a": "b"}),
    "replica set selector": spec("replica set", selector=OTHER),
    "replica set status": status("replica set", replicas=-1, fullyLabeledReplicas=3),
    "stateful set selector": spec("stateful set", selector=OTHER),
    "stateful set service": spec("stateful set", serviceName="other"),
    "stateful set replicas": spec("stateful set", replicas=2),
    "stateful set status": status("stateful set", replicas=1, currentReplicas=2, readyReplicas=-1),
    "daemon set selector": spec("daemon set", selector=OTHER),
    "daemon set template": spec("daemon set", template={"spec": {"containers": [{"name": "web", "image": "other"}]}}),
    "daemon set status": status("daemon set", currentNumberScheduled=-1, numberReady=-1),
    "controller revision": Change("controller revision", {"data": {"other": 1}, "revision": 7}),
    "job parallelism": spec("job", parallelism=3),
    "job completions": spec("job", completions=3),
    "job suspend": spec("job", suspend=True),
    "job manager": spec("job", managedBy="example.com/x"),
    "job mode": spec("job", completionMode="Indexed"),
    "cron schedule": spec("cron job", schedule="x"),
    "cron suspend": spec("cron job", suspend=True),
    "autoscaler": spec("autoscaler", maxReplicas=0),
    "autoscaler status": status("autoscaler", currentReplicas=-1, desiredReplicas=-1),
    "ingress": spec("ingress", rules=None),
    "ingress status": status("ingress", loadBalancer={"ingress": [{"ip": "x"}, {"hostname": "1.2.3.4"}]}),
    "ingress class": spec("ingress class", controller="other.io/x"),
    "network policy": spec("network policy", podSelector={"matchLabels": {"bad key!": ""}}),
    "budget": spec("disruption budget", minAvailable=1, maxUnavailable=1),
    "budget status": status("disruption budget", disruptionsAllowed=-1, conditions=[{"type": "a b", "status": "x"}]),
    "role": Change("role", {"rules": [{"verbs": []}]}),
    "role binding": Change("role binding", {"roleRef": {"name": "other"}}),
    "cluster role binding": Change("cluster role binding", {"roleRef": {"kind": "ClusterRole", "name": "other"}}),
    "storage class": Change(
        "storage class", {"provisioner": "other/x", "parameters": {"a": "b"}, "reclaimPolicy": "Retain"}
    ),
    "csi driver": spec("csi driver", attachRequired=False),
    "csi node": spec("csi node", drivers=[{"name": "d.example.com", "nodeID": "other"}]),
    "attachment": spec("volume attachment", nodeName="other"),
    "attachment status": status("volume attachment", attached=True, attachError={"errorCode": -1}),
    "attributes class": Change("volume attributes class", {"driverName": "other/x", "parameters": {"z": "y"}}),
    "csi capacity": Change("csi storage capacity", {"storageClassName": "other"}),
    "priority class": Change("priority class", {"value": 5, "preemptionPolicy": "Never"}),
    "runtime class": Change("runtime class", {"handler": "other"}),
    "lease": spec("lease", leaseDurationSeconds=0),
    "webhooks": Change("validating webhooks", {"webhooks": []}),
    "endpoint slice type": Change("endpoint slice", {"addressType": "IPv6"}),
    "service cidr": spec("service cidr", cidrs=["10.9.0.0/24"]),
    "ip address": spec("ip address", parentRef={"name": "other"}),
    "api service": spec("api service", versionPriority=0),
    "api service status": status("api service", conditions=[{"type": "Available", "status": "Maybe"}]),
    "metadata finalizers": metadata("config map", finalizers=["bad finalizer!"]),
    "metadata owner": metadata(
        "config map", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": ""}]
    ),
    "metadata generation": metadata("deployment", generation=99),
    "metadata name": metadata("config map", name="other"),
    "metadata uid": metadata("config map", uid="other"),
}
