"""Objects that both servers take with a warning."""

from __future__ import annotations

from tests.unit.apiserver.strategy.cases.objects import (
    CONTAINER,
    TEMPLATE,
    Object,
    claim,
    deployment,
    job,
    made,
    persistent_volume,
    pod,
    pod_with,
    service,
    stateful_set,
    volume,
)
from tests.unit.apiserver.strategy.cases.refused import endpoint, named, peer, port

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OLD_LABEL = {"key": "beta.kubernetes.io/os", "operator": "In", "values": ["linux"]}

WARNED: dict[str, Object] = {
    "pod name": named("pod", "a.b"),
    "deployment name": named("deployment", "a.b"),
    "job name": named("job", "a.b"),
    "pod node selector": pod(nodeSelector={"beta.kubernetes.io/arch": "amd64"}),
    "pod node affinity": pod(
        affinity={
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [OLD_LABEL]}]},
                PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [{**OLD_LABEL, "values": ["-bad-"]}]}}],
            }
        }
    ),
    "pod affinity": pod(
        affinity={
            "podAffinity": {REQUIRED: [{"topologyKey": "z"}]},
            "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "z"}}]},
        }
    ),
    "pod spread": pod(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
            }
        ]
    ),
    "pod annotations": pod(
        metadata={
            "annotations": {
                "scheduler.alpha.kubernetes.io/critical-pod": "",
                "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
                "container.seccomp.security.alpha.kubernetes.io/web": "runtime/default",
            }
        }
    ),
    "template annotation": deployment(
        template={
            **TEMPLATE,
            "metadata": {
                "labels": {"app": "web"},
                "annotations": {"container.apparmor.security.beta.kubernetes.io/web": "runtime/default"},
            },
        }
    ),
    "volume git": volume(gitRepo={"repository": "x"}),
    "volume cephfs": volume(cephfs={"monitors": ["a"]}),
    "volume rbd": volume(rbd={"monitors": ["a"], "image": "b"}),
    "volume storageos": volume(storageos={"volumeName": "a"}),
    "volume paths": volume(
        configMap={
            "name": "c",
            "items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}, {"key": "c", "path": "x"}],
        }
    ),
    "volume secret paths": volume(
        secret={"secretName": "s", "items": [{"key": "a", "path": "x/"}, {"key": "b", "path": "x"}]}
    ),
    "volume projected paths": pod(
        serviceAccountName="default",
        volumes=[
            {
                "name": "v",
                "projected": {
                    "sources": [
                        {"secret": {"name": "s", "items": [{"key": "a", "path": "x"}]}},
                        {"downwardAPI": {"items": [{"path": "x/y", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                        {"serviceAccountToken": {"path": "x/z"}},
                        {},
                    ]
                },
            }
        ],
    ),
    "pull secrets": pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}]),
    "host aliases": pod(hostAliases=[{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}, {"ip": "2001:DB8::1"}]),
    "fractions": pod_with(resources={"limits": {"memory": "1500m"}, "requests": {"ephemeral-storage": "100m"}}),
    "variables": pod_with(
        env=[
            {"name": "A", "value": "1"},
            {"name": "A", "value": "$(A)b"},
            {"name": "A", "value": "2"},
            {"name": "A", "value": "$(A)"},
        ]
    ),
    "ports": pod(
        containers=[
            {
                **CONTAINER,
                "ports": [
                    {"containerPort": 80, "name": "a"},
                    {"containerPort": 80},
                    {"containerPort": 80, "hostPort": 81},
                    {"containerPort": 81, "hostIP": "1.2.3.4"},
                    {"containerPort": 82, "hostPort": 82, "hostIP": "1.2.3.4"},
                    {"containerPort": 82, "hostPort": 82},
                ],
            },
            {**CONTAINER, "name": "b", "ports": [{"containerPort": 90, "name": "a"}]},
        ]
    ),
    "name servers": pod(dnsConfig={"nameservers": ["2001:DB8::1"]}),
    "claim fraction": claim(resources={"requests": {"storage": "1500m"}}),
    "claim annotation": made(
        "v1",
        "PersistentVolumeClaim",
        metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}},
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
    ),
    "volume recycle": persistent_volume(persistentVolumeReclaimPolicy="Recycle"),
    "volume affinity": persistent_volume(
        nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [OLD_LABEL]}]}}
    ),
    "stateful set history": stateful_set(revisionHistoryLimit=-1),
    "stateful set claims": stateful_set(
        volumeClaimTemplates=[
            {
                "metadata": {"name": "v"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}},
            }
        ]
    ),
    "big job": job(completionMode="Indexed", completions=200_000, parallelism=20_000),
    "service external address": service(ports=[port()], externalIPs=["10.1.1.1"]),
    "service headless": service(
        clusterIP="None",
        ports=[port()],
        externalIPs=["10.1.1.1"],
        sessionAffinity="ClientIP",
        loadBalancerIP="2001:DB8::1",
    ),
    "service external name": service(type="ExternalName", externalName="a.b", externalIPs=["10.1.1.1"]),
    "service name unused": service(ports=[port()], externalName="a.b"),
    "service close": service(ports=[port()], trafficDistribution="PreferClose"),
    "service ranges": service(type="LoadBalancer", ports=[port()], loadBalancerSourceRanges=["2001:DB8::/64"]),
    "service hints": made(
        "v1",
        "Service",
        metadata={"annotations": {"service.kubernetes.io/topology-aware-hints": "auto"}},
        spec={"ports": [port()]},
    ),
    "secret tls": made("v1", "Secret", type="kubernetes.io/tls", data={"tls.crt": "eA==", "tls.key": "eA=="}),
    "account": made(
        "v1", "ServiceAccount", metadata={"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
    ),
    "quota": made(
        "v1",
        "ResourceQuota",
        spec={"hard": {"requests.cpu": "2", "limits.cpu": "1", "memory": "2", "limits.memory": "1"}},
    ),
    "node": made("v1", "Node", spec={"externalID": "x", "podCIDR": "2001:DB8::/64", "podCIDRs": ["2001:DB8::/64"]}),
    "slice": endpoint("FQDN", addresses=["a.example.com"]),
    "ingress": made(
        "networking.k8s.io/v1",
        "Ingress",
        metadata={"annotations": {"kubernetes.io/ingress.class": "x"}},
        spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}},
    ),
    "network policy": peer(ipBlock={"cidr": "2001:DB8::/64"}),
    "runtime class": made(
        "node.k8s.io/v1", "RuntimeClass", handler="x", scheduling={"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    ),
    "csi driver": made("storage.k8s.io/v1", "CSIDriver", spec={"tokenRequests": [{"audience": "a"}]}),
    "csi capacity": made(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        storageClassName="x",
        nodeTopology={"matchLabels": {"beta.kubernetes.io/os": "linux"}, "matchExpressions": [OLD_LABEL]},
    ),
    "storage class": made(
        "storage.k8s.io/v1",
        "StorageClass",
        provisioner="a/b",
        allowedTopologies=[
            {"matchLabelExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "values": ["z"]}]}
        ],
    ),
    "static name": made("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "x.static.k8s.io"),
    "endpoints": named("endpoints", "sample"),
}
