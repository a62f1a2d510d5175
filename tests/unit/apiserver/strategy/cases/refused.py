"""Objects that neither server takes, each with one or two faults."""

from __future__ import annotations

import copy
from typing import Any

from tests.unit.apiserver.strategy.cases.objects import (
    CASES,
    CONTAINER,
    SELECTOR,
    TEMPLATE,
    Object,
    autoscaler,
    claim,
    cron_job,
    daemon_set,
    deployment,
    job,
    made,
    persistent_volume,
    pod,
    pod_with,
    service,
    stateful_set,
    volume,
    webhooks,
)

LONG = "a" * 64


def but(case: str, **changes: Any) -> Object:
    """An object that is fine, with other values in some places."""
    return _merged(copy.deepcopy(CASES[case]), changes)


def _merged(base: Object, changes: Object) -> Object:
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(base.get(name), dict):
            _merged(base[name], value)
        elif value is None:
            base.pop(name, None)
        else:
            base[name] = value
    return base


def named(case: str, name: str) -> Object:
    return but(case, metadata={"name": name})


def port(**fields: Any) -> Object:
    return {"port": 80, **fields}


def probe(**fields: Any) -> Object:
    return pod_with(livenessProbe=fields)


def variable(**source: Any) -> Object:
    return pod_with(env=[{"name": "A", "valueFrom": source}])


def affinity(**kinds: Any) -> Object:
    return pod(affinity=kinds)


def resources(**amounts: Any) -> Object:
    return pod_with(resources=amounts)


def metric(**fields: Any) -> Object:
    return autoscaler("v2", metrics=[fields])


def rule(**fields: Any) -> Object:
    content = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **fields}
    return webhooks("ValidatingWebhookConfiguration", rules=[content])


def hook(**fields: Any) -> Object:
    return webhooks("ValidatingWebhookConfiguration", **fields)


def backend(**fields: Any) -> Object:
    return made("networking.k8s.io/v1", "Ingress", spec={"defaultBackend": fields})


def path(**fields: Any) -> Object:
    content = {"backend": {"service": {"name": "s", "port": {"number": 80}}}, **fields}
    return made("networking.k8s.io/v1", "Ingress", spec={"rules": [{"http": {"paths": [content]}}]})


def peer(**fields: Any) -> Object:
    spec = {"podSelector": {}, "ingress": [{"from": [fields]}]}
    return made("networking.k8s.io/v1", "NetworkPolicy", spec=spec)


def policy_port(**fields: Any) -> Object:
    spec = {"podSelector": {}, "ingress": [{"ports": [fields]}]}
    return made("networking.k8s.io/v1", "NetworkPolicy", spec=spec)


def subject(**fields: Any) -> Object:
    return but("cluster role binding", subjects=[fields])


def policy_rule(**fields: Any) -> Object:
    return made("rbac.authorization.k8s.io/v1", "Role", rules=[fields])


def endpoint(address_type: str = "IPv4", **fields: Any) -> Object:
    return made(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        addressType=address_type,
        endpoints=[{"addresses": ["10.0.0.1"]} | fields],
    )


PODS: dict[str, Object] = {
    "no containers": pod(containers=[]),
    "no image": pod(containers=[{"name": "web"}]),
    "image of spaces": pod_with(image=" nginx"),
    "no name": pod(containers=[{"image": "nginx"}]),
    "bad container name": pod_with(name="Web_1"),
    "long container name": pod_with(name=LONG),
    "two of a name": pod(containers=[CONTAINER, CONTAINER]),
    "init of the same name": pod(initContainers=[CONTAINER]),
    "bad name": named("pod", "Bad_Name"),
    "long name": named("pod", "a" * 254),
    "restart policy": pod(restartPolicy="Sometimes"),
    "dns policy": pod(dnsPolicy="Whatever"),
    "dns none without config": pod(dnsPolicy="None"),
    "dns config": pod(dnsConfig={"nameservers": ["1.2.3", "::1", "10.0.0.1", "10.0.0.2"], "options": [{}]}),
    "dns searches": pod(dnsConfig={"searches": ["a_b", "Bad Search", "."]}),
    "deadline": pod(activeDeadlineSeconds=0),
    "node name": pod(nodeName="Bad_Node"),
    "node selector": pod(nodeSelector={"bad key!": "x", "k": "bad value!"}),
    "hostname": pod(hostname="a.b", subdomain="-x"),
    "service account": pod(serviceAccountName="Bad_Account"),
    "priority class": pod(priorityClassName="Bad_Class"),
    "runtime class": pod(runtimeClassName="Bad_Class"),
    "preemption": pod(preemptionPolicy="Perhaps"),
    "host alias": pod(hostAliases=[{"ip": "1.2.3", "hostnames": ["Bad_Host"]}, {"ip": "010.1.1.1"}]),
    "os": pod(os={"name": "plan9"}),
    "readiness gate": pod(readinessGates=[{"conditionType": "bad type"}]),
    "scheduling gates": pod(schedulingGates=[{"name": "a"}, {"name": "a"}, {"name": "b c"}]),
    "scheduling gate with node": pod(schedulingGates=[{"name": "a"}], nodeName="n"),
    "ephemeral containers": pod(ephemeralContainers=[{"name": "e", "image": "i"}]),
    "pull policy": pod_with(imagePullPolicy="Never Ever"),
    "termination policy": pod_with(terminationMessagePolicy="Nope"),
    "working ports": pod_with(ports=[{"containerPort": 0}, {"containerPort": 70000}]),
    "port names": pod_with(
        ports=[{"containerPort": 1, "name": "UPPER_very_long_name"}, {"containerPort": 2, "name": "1"}]
    ),
    "ports of one name": pod_with(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
    "port protocol": pod_with(ports=[{"containerPort": 1, "protocol": "ICMP"}]),
    "host port": pod_with(ports=[{"containerPort": 1, "hostPort": 70000}]),
    "host port taken": pod(
        containers=[
            {**CONTAINER, "ports": [{"containerPort": 1, "hostPort": 80}]},
            {**CONTAINER, "name": "b", "ports": [{"containerPort": 1, "hostPort": 80}]},
        ]
    ),
    "host network port": pod(
        hostNetwork=True, containers=[{**CONTAINER, "ports": [{"containerPort": 1, "hostPort": 2}]}]
    ),
    "env name": pod_with(env=[{"name": "a=b"}, {"name": ""}]),
    "env value and source": pod_with(
        env=[{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    ),
    "env without source": variable(),
    "env field path": variable(fieldRef={"fieldPath": "spec.unknown"}),
    "env field of labels": variable(fieldRef={"fieldPath": "metadata.labels"}),
    "env resource": variable(resourceFieldRef={"resource": "limits.unknown"}),
    "env divisor": variable(resourceFieldRef={"resource": "limits.cpu", "divisor": "3"}),
    "env of config map": variable(configMapKeyRef={"name": "", "key": ""}),
    "env of secret": variable(secretKeyRef={"name": "s", "key": "bad key!"}),
    "env of two": variable(secretKeyRef={"name": "s", "key": "k"}, fieldRef={"fieldPath": "metadata.name"}),
    "env from": pod_with(envFrom=[{}, {"prefix": "a=b", "configMapRef": {"name": ""}}]),
    "unknown mount": pod_with(volumeMounts=[{"name": "missing", "mountPath": "/x"}]),
    "mount without path": pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[{**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": ""}]}],
    ),
    "mounts at one path": pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[
            {**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}]}
        ],
    ),
    "mount sub path": pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[{**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/x", "subPath": "../y"}]}],
    ),
    "mount sub path and expression": pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[
            {**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/x", "subPath": "y", "subPathExpr": "z"}]}
        ],
    ),
    "mount propagation": pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[
            {**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}]}
        ],
    ),
    "probe without handler": probe(),
    "probe with two handlers": probe(exec={"command": ["a"]}, tcpSocket={"port": 1}),
    "probe numbers": probe(exec={"command": ["a"]}, initialDelaySeconds=-1, periodSeconds=-1, successThreshold=2),
    "probe command": probe(exec={"command": []}),
    "probe port": probe(tcpSocket={"port": "BAD"}),
    "probe http": probe(httpGet={"port": 0, "scheme": "FTP", "httpHeaders": [{"name": "bad header", "value": "x"}]}),
    "probe grpc": probe(grpc={"port": 0}),
    "readiness grace": pod_with(readinessProbe={"exec": {"command": ["a"]}, "terminationGracePeriodSeconds": 3}),
    "hook without handler": pod_with(lifecycle={"postStart": {}}),
    "init with probe": pod(initContainers=[{**CONTAINER, "name": "i", "livenessProbe": {"exec": {"command": ["a"]}}}]),
    "init restart policy": pod(initContainers=[{**CONTAINER, "name": "i", "restartPolicy": "Sometimes"}]),
    "limit below request": resources(limits={"cpu": "1"}, requests={"cpu": "2"}),
    "negative request": resources(requests={"memory": "-1"}),
    "unknown resource": resources(requests={"unknown": "1"}),
    "bad resource name": resources(requests={"example.com/bad name": "1"}),
    "extended without limit": resources(requests={"example.com/gpu": "1"}),
    "extended fraction": resources(limits={"example.com/gpu": "500m"}),
    "huge pages alone": resources(limits={"hugepages-2Mi": "2Mi"}),
    "huge pages request": resources(requests={"cpu": "1", "hugepages-2Mi": "2Mi"}),
    "unclaimed": resources(claims=[{"name": "missing"}]),
    "privileged without escalation": pod_with(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
    "run as user": pod_with(securityContext={"runAsUser": -1, "runAsGroup": -1}),
    "pod security": pod(securityContext={"runAsUser": -1, "fsGroup": -1, "supplementalGroups": [-1]}),
    "pod sysctls": pod(
        securityContext={"sysctls": [{"name": ""}, {"name": "Bad Name"}, {"name": "a.b"}, {"name": "a.b"}]}
    ),
    "fs group policy": pod(securityContext={"fsGroupChangePolicy": "Never"}),
    "seccomp": pod(securityContext={"seccompProfile": {"type": "Localhost"}}),
    "seccomp type": pod(securityContext={"seccompProfile": {"type": "Best"}}),
    "seccomp path": pod(securityContext={"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}),
    "proc mount": pod_with(securityContext={"procMount": "Partly"}),
    "host users": pod(hostUsers=False, hostNetwork=True),
    "shared and host pid": pod(shareProcessNamespace=True, hostPID=True),
    "toleration operator": pod(tolerations=[{"key": "a", "operator": "Like"}]),
    "toleration key": pod(tolerations=[{"key": "bad key!", "operator": "Exists"}]),
    "toleration without key": pod(tolerations=[{"operator": "Equal", "value": "x"}]),
    "toleration with value": pod(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]),
    "toleration effect": pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "Maybe"}]),
    "toleration seconds": pod(
        tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1}]
    ),
    "spread": pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Maybe"}]),
    "spread twice": pod(
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2
    ),
    "spread domains": pod(
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0}
        ]
    ),
    "node affinity": affinity(
        nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    ),
    "node affinity operator": affinity(
        nodeAffinity={
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "a", "operator": "In"},
                            {"key": "a", "operator": "Exists", "values": ["x"]},
                            {"key": "a", "operator": "Gt", "values": ["x", "y"]},
                            {"key": "bad key!", "operator": "Like"},
                        ],
                        "matchFields": [{"key": "metadata.labels", "operator": "In", "values": ["x"]}],
                    }
                ]
            }
        }
    ),
    "node affinity weight": affinity(
        nodeAffinity={"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}
    ),
    "pod affinity": affinity(
        podAffinity={
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}
            ]
        }
    ),
    "pod affinity namespaces": affinity(
        podAntiAffinity={
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", "namespaces": ["Bad_"]}]
        }
    ),
    "pod affinity weight": affinity(
        podAffinity={
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 101, "podAffinityTerm": {"topologyKey": "z"}}
            ]
        }
    ),
    "overhead": pod(overhead={"unknown": "1"}),
    "mirror without node": pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}),
    "claim source": pod(
        resourceClaims=[{"name": "a"}, {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]
    ),
    "bad label": pod(metadata={"labels": {"bad key!": "x", "a": "bad value!"}}),
    "bad annotation": pod(metadata={"annotations": {"bad key!": "x"}}),
    "resize policy": pod_with(
        resizePolicy=[
            {"resourceName": "cpu", "restartPolicy": "Perhaps"},
            {"resourceName": "x", "restartPolicy": "NotRequired"},
        ]
    ),
}

VOLUMES: dict[str, Object] = {
    "volume of two kinds": volume(hostPath={"path": "/x"}, nfs={"server": "s", "path": "/x"}),
    "volume name": pod(volumes=[{"name": "Bad_Name", "emptyDir": {}}, {"name": "", "emptyDir": {}}]),
    "volumes of one name": pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
    "volume host path": volume(hostPath={"path": ""}),
    "volume host path up": volume(hostPath={"path": "/a/../b", "type": "Unknown"}),
    "volume secret": volume(secret={"secretName": "", "defaultMode": 4096, "items": [{"key": "", "path": "../x"}]}),
    "volume config map": volume(configMap={"name": "", "items": [{"key": "a", "path": "/x", "mode": -1}]}),
    "volume nfs": volume(nfs={"server": "", "path": "x"}),
    "volume iscsi": volume(iscsi={"targetPortal": "", "iqn": "x", "lun": 300}),
    "volume claim": volume(persistentVolumeClaim={"claimName": ""}),
    "volume downward": volume(downwardAPI={"items": [{"path": "", "fieldRef": {"fieldPath": "x"}}, {"path": "a"}]}),
    "volume projected": volume(
        projected={"sources": [{"secret": {"name": ""}}, {"serviceAccountToken": {"path": "", "expirationSeconds": 1}}]}
    ),
    "volume projected twice": volume(
        projected={
            "sources": [
                {"secret": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
                {"configMap": {"name": "b", "items": [{"key": "k", "path": "p"}]}},
            ]
        }
    ),
    "volume empty dir": volume(emptyDir={"sizeLimit": "-1"}),
    "volume csi": volume(csi={"driver": ""}),
    "volume git": volume(gitRepo={"repository": "", "directory": "/x"}),
    "volume ephemeral": volume(ephemeral={}),
    "volume ephemeral claim": volume(
        ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": [], "resources": {"requests": {"storage": "0"}}}}}
    ),
    "claim modes": claim(accessModes=[]),
    "claim unknown mode": claim(accessModes=["Sometimes"]),
    "claim exclusive mode": claim(accessModes=["ReadWriteOncePod", "ReadWriteOnce"]),
    "claim without size": claim(resources={}),
    "claim of nothing": claim(resources={"requests": {"storage": "0"}}),
    "claim class": claim(storageClassName="Bad_Class"),
    "claim mode": claim(volumeMode="Tape"),
    "claim selector": claim(selector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
    "claim other source": claim(dataSourceRef={"apiGroup": "x.io", "kind": "", "name": ""}),
    "pv modes": persistent_volume(accessModes=[]),
    "pv capacity": persistent_volume(capacity=None),
    "pv other capacity": persistent_volume(capacity={"cpu": "1"}),
    "pv no capacity": persistent_volume(capacity={"storage": "0"}),
    "pv reclaim": persistent_volume(persistentVolumeReclaimPolicy="Burn"),
    "pv recycle root": persistent_volume(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
    "pv without source": made(
        "v1", "PersistentVolume", spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}}
    ),
    "pv two sources": persistent_volume(nfs={"server": "s", "path": "/x"}),
    "pv local": made(
        "v1",
        "PersistentVolume",
        spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}, "local": {"path": "/x"}},
    ),
    "pv csi": made(
        "v1",
        "PersistentVolume",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1"},
            "csi": {"driver": "Bad_Driver", "volumeHandle": "", "nodePublishSecretRef": {}},
        },
    ),
    "pv class": persistent_volume(storageClassName="Bad_Class", volumeMode="Tape"),
    "pv attributes class": persistent_volume(volumeAttributesClassName=""),
    "pv affinity": persistent_volume(nodeAffinity={}),
}

CORE: dict[str, Object] = {
    "service name": named("service", "a.b"),
    "service without ports": service(selector={"a": "b"}),
    "service ports without names": service(ports=[port(), port(port=81)]),
    "service port names": service(ports=[port(name="a"), port(port=81, name="a"), port(port=82, name="Bad_")]),
    "service port number": service(ports=[port(port=0)]),
    "service target port": service(ports=[port(targetPort="BAD_PORT")]),
    "service target number": service(ports=[port(targetPort=70000)]),
    "service protocol": service(ports=[port(protocol="ICMP")]),
    "service same port": service(ports=[port(name="a"), port(name="b")]),
    "service type": service(type="Other", ports=[port()]),
    "service node port of cluster IP": service(ports=[port(nodePort=30080)]),
    "service node ports": service(
        type="NodePort", ports=[port(name="a", nodePort=30080), port(port=81, name="b", nodePort=30080)]
    ),
    "service affinity": service(sessionAffinity="Sticky", ports=[port()]),
    "service affinity time": service(
        sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}, ports=[port()]
    ),
    "service address": service(clusterIP="1.2.3", ports=[port()]),
    "service address outside": service(clusterIP="192.168.0.1", ports=[port()]),
    "service addresses differ": service(clusterIP="10.0.0.77", clusterIPs=["10.0.0.78"], ports=[port()]),
    "service address zero": service(clusterIP="010.0.0.77", ports=[port()]),
    "service families": service(ipFamilies=["IPv5"], ports=[port()]),
    "service other family": service(ipFamilies=["IPv6"], ports=[port()]),
    "service family policy": service(ipFamilyPolicy="Both", ports=[port()]),
    "service dual stack": service(ipFamilyPolicy="RequireDualStack", ports=[port()]),
    "service external name": service(type="ExternalName", externalName=""),
    "service external name bad": service(type="ExternalName", externalName="Bad_Name", clusterIP="10.0.0.77"),
    "service external address": service(externalIPs=["127.0.0.1", "x"], ports=[port()]),
    "service external policy": service(externalTrafficPolicy="Local", ports=[port()]),
    "service external policy unknown": service(type="NodePort", externalTrafficPolicy="Near", ports=[port()]),
    "service internal policy": service(internalTrafficPolicy="Near", ports=[port()]),
    "service distribution": service(trafficDistribution="Near", ports=[port()]),
    "service health check": service(healthCheckNodePort=30000, ports=[port()]),
    "service source ranges": service(type="LoadBalancer", loadBalancerSourceRanges=["x", "10.0.0.1/8"], ports=[port()]),
    "service ranges unbalanced": service(loadBalancerSourceRanges=["10.0.0.0/8"], ports=[port()]),
    "service balancer class": service(loadBalancerClass="x", ports=[port()]),
    "service allocation": service(allocateLoadBalancerNodePorts=True, ports=[port()]),
    "service headless node port": service(type="NodePort", clusterIP="None", ports=[port()]),
    "service selector": service(selector={"bad key!": "x"}, ports=[port()]),
    "service app protocol": service(ports=[port(appProtocol="bad protocol!")]),
    "config map key": made("v1", "ConfigMap", data={"bad key!": "x", "..": "y"}),
    "config map both": made("v1", "ConfigMap", data={"a": "x"}, binaryData={"a": "eA=="}),
    "config map size": made("v1", "ConfigMap", data={"a": "x" * (1024 * 1024 + 1)}),
    "config map name": named("config map", "Bad_Name"),
    "secret key": made("v1", "Secret", data={"bad key!": "eA=="}),
    "secret size": made("v1", "Secret", stringData={"a": "x" * (1024 * 1024 + 1)}),
    "secret tls": made("v1", "Secret", type="kubernetes.io/tls", data={}),
    "secret docker": made("v1", "Secret", type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "x"}),
    "secret old docker": made("v1", "Secret", type="kubernetes.io/dockercfg"),
    "secret docker list": made(
        "v1", "Secret", type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "[1]"}
    ),
    "secret basic auth": made("v1", "Secret", type="kubernetes.io/basic-auth"),
    "secret ssh": made("v1", "Secret", type="kubernetes.io/ssh-auth"),
    "secret token": made("v1", "Secret", type="kubernetes.io/service-account-token"),
    "namespace name": named("namespace", "a.b"),
    "namespace finalizer": made("v1", "Namespace", spec={"finalizers": ["bad finalizer!", "unqualified"]}),
    "node taints": made(
        "v1",
        "Node",
        spec={
            "taints": [
                {"key": "a", "effect": "NoSchedule"},
                {"key": "a", "effect": "NoSchedule"},
                {"key": "", "effect": "x"},
            ]
        },
    ),
    "node ranges": made("v1", "Node", spec={"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"], "podCIDR": "10.0.0.0/24"}),
    "node range": made("v1", "Node", spec={"podCIDR": "x"}),
    "service account name": named("service account", "Bad_"),
    "endpoints": made("v1", "Endpoints", subsets=[{"ports": [{"port": 80}]}, {"addresses": [{"ip": "127.0.0.1"}]}]),
    "endpoints ports": made(
        "v1",
        "Endpoints",
        subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}, {"port": 70000, "protocol": "x"}]}],
    ),
    "limit range twice": made("v1", "LimitRange", spec={"limits": [{"type": "Pod"}, {"type": "Pod"}]}),
    "limit range order": made(
        "v1", "LimitRange", spec={"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}
    ),
    "limit range default": made(
        "v1", "LimitRange", spec={"limits": [{"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}]}
    ),
    "limit range beyond": made(
        "v1", "LimitRange", spec={"limits": [{"type": "Container", "default": {"cpu": "3"}, "max": {"cpu": "1"}}]}
    ),
    "limit range ratio": made(
        "v1", "LimitRange", spec={"limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}]}
    ),
    "limit range claim": made("v1", "LimitRange", spec={"limits": [{"type": "PersistentVolumeClaim"}]}),
    "limit range resource": made("v1", "LimitRange", spec={"limits": [{"type": "Container", "max": {"unknown": "1"}}]}),
    "quota resource": made("v1", "ResourceQuota", spec={"hard": {"unknown": "1"}}),
    "quota amount": made("v1", "ResourceQuota", spec={"hard": {"pods": "-1"}}),
    "quota fraction": made("v1", "ResourceQuota", spec={"hard": {"pods": "500m"}}),
    "quota scope": made("v1", "ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": ["Unknown"]}),
    "quota scopes clash": made(
        "v1", "ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}
    ),
    "quota scope resource": made("v1", "ResourceQuota", spec={"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}),
    "quota selector": made(
        "v1",
        "ResourceQuota",
        spec={
            "hard": {"pods": "1"},
            "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]},
        },
    ),
    "event elsewhere": but("event", involvedObject={"namespace": "other"}),
    "new event": made("events.k8s.io/v1", "Event", regarding={"kind": "Pod", "name": "x", "namespace": "default"}),
    "replication controller": made(
        "v1", "ReplicationController", spec={"replicas": -1, "selector": {"a": "b"}, "template": TEMPLATE}
    ),
    "replication controller empty": made("v1", "ReplicationController", spec={"selector": {"a": "b"}}),
}

APPS: dict[str, Object] = {
    "deployment without selector": made("apps/v1", "Deployment", spec={"template": TEMPLATE}),
    "deployment empty selector": made("apps/v1", "Deployment", spec={"selector": {}, "template": TEMPLATE}),
    "deployment other labels": deployment(selector={"matchLabels": {"app": "other"}}),
    "deployment selector": deployment(selector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
    "deployment replicas": deployment(replicas=-1, minReadySeconds=-1, revisionHistoryLimit=-1),
    "deployment deadline": deployment(progressDeadlineSeconds=5, minReadySeconds=10),
    "deployment strategy": deployment(strategy={"type": "Blue"}),
    "deployment recreate": deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
    "deployment surge": deployment(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
    "deployment percent": deployment(strategy={"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "101%"}}),
    "deployment negative": deployment(strategy={"rollingUpdate": {"maxSurge": -1, "maxUnavailable": -1}}),
    "deployment template": deployment(template={**TEMPLATE, "spec": {"containers": [], "restartPolicy": "Never"}}),
    "deployment restart": deployment(
        template={**TEMPLATE, "spec": {"containers": [CONTAINER], "restartPolicy": "OnFailure"}}
    ),
    "deployment deadline of pods": deployment(
        template={**TEMPLATE, "spec": {"containers": [CONTAINER], "activeDeadlineSeconds": 5}}
    ),
    "replica set selector": made("apps/v1", "ReplicaSet", spec={"template": TEMPLATE}),
    "replica set other": made(
        "apps/v1", "ReplicaSet", spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    ),
    "replica set replicas": made(
        "apps/v1", "ReplicaSet", spec={"replicas": -1, "selector": SELECTOR, "template": TEMPLATE}
    ),
    "stateful set name": named("stateful set", "a.b"),
    "stateful set selector": made("apps/v1", "StatefulSet", spec={"template": TEMPLATE}),
    "stateful set replicas": stateful_set(replicas=-1, minReadySeconds=-1),
    "stateful set policy": stateful_set(podManagementPolicy="Random"),
    "stateful set strategy": stateful_set(updateStrategy={"type": "Never"}),
    "stateful set on delete": stateful_set(updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
    "stateful set partition": stateful_set(updateStrategy={"rollingUpdate": {"partition": -1}}),
    "stateful set ordinals": stateful_set(ordinals={"start": -1}),
    "stateful set retention": stateful_set(
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Keep", "whenScaled": "Keep"}
    ),
    "daemon set selector": made("apps/v1", "DaemonSet", spec={"template": TEMPLATE}),
    "daemon set other": daemon_set(selector={"matchLabels": {"a": "b"}}),
    "daemon set strategy": daemon_set(updateStrategy={"type": "Never"}),
    "daemon set none": daemon_set(updateStrategy={"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}),
    "daemon set both": daemon_set(updateStrategy={"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}),
    "daemon set history": daemon_set(revisionHistoryLimit=-1),
    "controller revision": made("apps/v1", "ControllerRevision", revision=-1),
    "job restart": job(template={"spec": {"containers": [CONTAINER]}}),
    "job numbers": job(
        parallelism=-1, completions=-1, backoffLimit=-1, activeDeadlineSeconds=-1, ttlSecondsAfterFinished=-1
    ),
    "job selector": job(selector={"matchLabels": {"a": "b"}}),
    "job manual selector": job(manualSelector=True),
    "job mode": job(completionMode="Random"),
    "job failures": job(podFailurePolicy={"rules": [{"action": "Perhaps"}]}),
    "job failure codes": job(
        podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": {"operator": "Like", "values": []}}]}
    ),
    "job per index": job(backoffLimitPerIndex=1),
    "job managed": job(managedBy="bad manager"),
    "job replacement": job(podReplacementPolicy="Sometimes"),
    "job success": job(successPolicy={"rules": [{"succeededCount": 1}]}),
    "job success rules": job(completionMode="Indexed", completions=3, parallelism=1, successPolicy={"rules": []}),
    "job success indexes": job(
        completionMode="Indexed",
        completions=3,
        parallelism=1,
        successPolicy={
            "rules": [
                {},
                {"succeededIndexes": "2,1"},
                {"succeededIndexes": "x"},
                {"succeededIndexes": "0-1-2"},
                {"succeededIndexes": "2-1"},
                {"succeededIndexes": "0-4"},
                {"succeededIndexes": "0", "succeededCount": 2},
                {"succeededCount": 7},
            ]
        },
    ),
    "cron schedule": cron_job(schedule="* * *"),
    "cron schedule missing": cron_job(schedule=""),
    "cron minute": cron_job(schedule="70 * * * *"),
    "cron zone in schedule": cron_job(schedule="TZ=UTC * * * * *"),
    "cron zone": cron_job(timeZone="Mars/Olympus"),
    "cron numbers": cron_job(startingDeadlineSeconds=-1, successfulJobsHistoryLimit=-1, failedJobsHistoryLimit=-1),
    "cron policy": cron_job(concurrencyPolicy="Sometimes"),
    "cron name": named("cron job", "a" * 53),
    "cron template": cron_job(jobTemplate={"spec": {"template": {"spec": {"containers": [CONTAINER]}}}}),
    "autoscaler replicas": autoscaler("v2", minReplicas=5),
    "autoscaler none": autoscaler("v2", maxReplicas=0),
    "autoscaler negative": autoscaler("v2", maxReplicas=-1, minReplicas=0),
    "autoscaler target": autoscaler("v2", scaleTargetRef={"kind": "", "name": "a/b"}),
    "autoscaler target group": autoscaler("v2", scaleTargetRef={"kind": "Deployment", "name": "a", "apiVersion": "v1"}),
    "autoscaler target version": autoscaler(
        "v2", scaleTargetRef={"kind": "Deployment", "name": "a", "apiVersion": "a/b/c"}
    ),
    "autoscaler v1": autoscaler("v1", targetCPUUtilizationPercentage=0),
    "metric type": metric(type="Moon"),
    "metric without": metric(type="Pods"),
    "metric other": metric(
        type="Pods", resource={"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 0}}
    ),
    "metric resource": metric(type="Resource", resource={"name": "", "target": {"type": "Nothing"}}),
    "metric container": metric(
        type="ContainerResource",
        containerResource={"name": "cpu", "container": "", "target": {"type": "AverageValue", "averageValue": "-1"}},
    ),
    "metric object": metric(
        type="Object",
        object={"describedObject": {"kind": "a", "name": "b"}, "metric": {"name": "a/b"}, "target": {"type": "Value"}},
    ),
    "metric external": metric(
        type="External",
        external={"metric": {"name": ""}, "target": {"type": "Value", "value": "1", "averageValue": "1"}},
    ),
    "autoscaler behavior": autoscaler(
        "v2",
        behavior={
            "scaleUp": {
                "stabilizationWindowSeconds": 4000,
                "selectPolicy": "Some",
                "policies": [{"type": "Moon", "value": 0, "periodSeconds": 2000}],
            },
            "scaleDown": {
                "stabilizationWindowSeconds": -1,
                "policies": [{"type": "Pods", "value": 1, "periodSeconds": 0}],
            },
        },
    ),
}

GROUPS: dict[str, Object] = {
    "ingress empty": made("networking.k8s.io/v1", "Ingress", spec={}),
    "ingress host": made(
        "networking.k8s.io/v1", "Ingress", spec={"rules": [{"host": "10.0.0.1"}, {"host": "*"}, {"host": "A_b"}]}
    ),
    "ingress backend": backend(),
    "ingress backend both": backend(service={"name": "s"}, resource={"kind": "a", "name": "b"}),
    "ingress backend service": backend(service={"name": "", "port": {}}),
    "ingress backend name": backend(service={"name": "Bad_", "port": {"name": "BAD"}}),
    "ingress backend port": backend(service={"name": "s", "port": {"number": 70000}}),
    "ingress backend ports": backend(service={"name": "s", "port": {"number": 1, "name": "x"}}),
    "ingress backend resource": backend(resource={"kind": "", "name": "a/b", "apiGroup": "Bad_"}),
    "ingress path type": path(path="/"),
    "ingress path type unknown": path(path="/", pathType="Regex"),
    "ingress path relative": path(path="a", pathType="Prefix"),
    "ingress path dots": path(path="/a/../b//c/.", pathType="Exact"),
    "ingress path own": path(path="a", pathType="ImplementationSpecific"),
    "ingress no paths": made("networking.k8s.io/v1", "Ingress", spec={"rules": [{"http": {"paths": []}}]}),
    "ingress tls": made(
        "networking.k8s.io/v1",
        "Ingress",
        spec={
            "defaultBackend": {"service": {"name": "s", "port": {"number": 1}}},
            "tls": [{"hosts": ["A_b", "*.*"], "secretName": "Bad_"}],
        },
    ),
    "ingress class name": made(
        "networking.k8s.io/v1",
        "Ingress",
        metadata={"annotations": {"kubernetes.io/ingress.class": "a"}},
        spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}, "ingressClassName": "b"},
    ),
    "ingress class": made("networking.k8s.io/v1", "IngressClass", spec={"controller": "x"}),
    "ingress class empty": made("networking.k8s.io/v1", "IngressClass", spec={"controller": ""}),
    "ingress class path": made("networking.k8s.io/v1", "IngressClass", spec={"controller": "Bad_/a b"}),
    "ingress class parameters": made(
        "networking.k8s.io/v1",
        "IngressClass",
        spec={"controller": "a.b/c", "parameters": {"kind": "", "name": "", "scope": "Namespace"}},
    ),
    "ingress class scope": made(
        "networking.k8s.io/v1",
        "IngressClass",
        spec={"controller": "a.b/c", "parameters": {"kind": "a", "name": "b", "scope": "World"}},
    ),
    "ingress class cluster": made(
        "networking.k8s.io/v1",
        "IngressClass",
        spec={"controller": "a.b/c", "parameters": {"kind": "a", "name": "b", "scope": "Cluster", "namespace": "x"}},
    ),
    "policy peer": peer(),
    "policy peers": peer(podSelector={}, ipBlock={"cidr": "10.0.0.0/8"}),
    "policy block": peer(ipBlock={"cidr": ""}),
    "policy block bad": peer(ipBlock={"cidr": "10.0.0.1/8"}),
    "policy except": peer(ipBlock={"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16", "x", "10.0.0.0/8"]}),
    "policy port": policy_port(port=70000, protocol="ICMP"),
    "policy port name": policy_port(port="BAD", endPort=5),
    "policy end port": policy_port(port=80, endPort=70),
    "policy lone end port": policy_port(endPort=70),
    "policy types": made("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, "policyTypes": ["Inside"]}),
    "policy three types": made(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]},
    ),
    "policy selector": made(
        "networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {"matchLabels": {"bad key!": "bad value!"}}}
    ),
    "budget both": made("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "maxUnavailable": 1}),
    "budget percent": made("policy/v1", "PodDisruptionBudget", spec={"minAvailable": "101%"}),
    "budget negative": made("policy/v1", "PodDisruptionBudget", spec={"maxUnavailable": -1}),
    "budget text": made("policy/v1", "PodDisruptionBudget", spec={"maxUnavailable": "x"}),
    "budget policy": made(
        "policy/v1", "PodDisruptionBudget", spec={"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "Never"}
    ),
    "role name": named("role", "a/b"),
    "rule empty": policy_rule(),
    "rule urls": policy_rule(verbs=["get"], nonResourceURLs=["/x"]),
    "rule both": policy_rule(verbs=["get"], nonResourceURLs=["/x"], resources=["pods"], apiGroups=[""]),
    "rule resources": policy_rule(verbs=["get"], apiGroups=[""]),
    "aggregation": made("rbac.authorization.k8s.io/v1", "ClusterRole", aggregationRule={"clusterRoleSelectors": []}),
    "aggregation selector": made(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        aggregationRule={"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]},
    ),
    "binding reference": made(
        "rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"apiGroup": "x", "kind": "Cat", "name": ""}
    ),
    "cluster binding": made(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
    ),
    "subject kind": subject(kind="Cat", name="x"),
    "subject name": subject(kind="User", name=""),
    "subject account": subject(kind="ServiceAccount", name="Bad_", apiGroup="x"),
    "subject group": subject(kind="Group", name="x", apiGroup="y"),
    "storage class": made("storage.k8s.io/v1", "StorageClass", provisioner=""),
    "storage class fields": made(
        "storage.k8s.io/v1", "StorageClass", provisioner="bad name!", reclaimPolicy="Burn", volumeBindingMode="Later"
    ),
    "storage class parameters": made("storage.k8s.io/v1", "StorageClass", provisioner="a/b", parameters={"": "x"}),
    "storage class topologies": made(
        "storage.k8s.io/v1",
        "StorageClass",
        provisioner="a/b",
        allowedTopologies=[
            {"matchLabelExpressions": [{"key": "a", "values": ["x", "x"]}, {"key": "a", "values": []}]},
        ],
    ),
    "csi driver": made(
        "storage.k8s.io/v1", "CSIDriver", spec={"fsGroupPolicy": "Maybe", "volumeLifecycleModes": ["Dead"]}
    ),
    "csi driver tokens": made(
        "storage.k8s.io/v1",
        "CSIDriver",
        spec={"tokenRequests": [{"audience": "a", "expirationSeconds": 1}, {"audience": "a"}]},
    ),
    "csi node": made(
        "storage.k8s.io/v1",
        "CSINode",
        spec={
            "drivers": [
                {"name": "a", "nodeID": "", "topologyKeys": ["x", "x"]},
                {"name": "a", "nodeID": "n", "allocatable": {"count": -1}},
            ]
        },
    ),
    "attachment": made("storage.k8s.io/v1", "VolumeAttachment", spec={"attacher": "", "nodeName": "n", "source": {}}),
    "attachment name": made(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "Bad_"}},
    ),
    "attachment inline": made(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        spec={"attacher": "a", "nodeName": "n", "source": {"inlineVolumeSpec": {"capacity": {"storage": "1"}}}},
    ),
    "attributes class": made("storage.k8s.io/v1", "VolumeAttributesClass", driverName=""),
    "csi capacity": made("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="Bad_", capacity="-1"),
    "priority class value": made("scheduling.k8s.io/v1", "PriorityClass", value=2000000000),
    "priority class system": made("scheduling.k8s.io/v1", "PriorityClass", "system-mine", value=1),
    "priority class policy": made("scheduling.k8s.io/v1", "PriorityClass", value=1, preemptionPolicy="Perhaps"),
    "runtime class": made("node.k8s.io/v1", "RuntimeClass", handler=""),
    "runtime class fields": made(
        "node.k8s.io/v1",
        "RuntimeClass",
        handler="Bad_",
        overhead={"podFixed": {"unknown": "1"}},
        scheduling={"nodeSelector": {"bad key!": "x"}, "tolerations": [{"key": "a", "operator": "Exists"}] * 2},
    ),
    "lease": made("coordination.k8s.io/v1", "Lease", spec={"leaseDurationSeconds": 0, "leaseTransitions": -1}),
    "webhook name": hook(name="a.b"),
    "webhook no name": hook(name=""),
    "webhook bad name": hook(name="A_b.c.d"),
    "webhook side effects": hook(sideEffects="Some"),
    "webhook no side effects": hook(sideEffects=None),
    "webhook policies": hook(failurePolicy="Perhaps", matchPolicy="Perhaps", timeoutSeconds=31),
    "webhook versions": hook(admissionReviewVersions=[]),
    "webhook unknown versions": hook(admissionReviewVersions=["v2", "v2", "V3"]),
    "webhook client": hook(clientConfig={}),
    "webhook clients": hook(clientConfig={"url": "https://x", "service": {"namespace": "a", "name": "b"}}),
    "webhook url": hook(clientConfig={"url": "http://user:pass@host/path?query#fragment"}),
    "webhook url without host": hook(clientConfig={"url": "https:///x"}),
    "webhook service": hook(clientConfig={"service": {"namespace": "", "name": "", "port": 70000, "path": "x//Y"}}),
    "webhook selector": hook(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
    "webhook conditions": hook(matchConditions=[{"name": "a", "expression": "true"}, {"name": "a", "expression": ""}]),
    "webhook condition": hook(matchConditions=[{"name": "", "expression": "1 +"}, {"name": "b c", "expression": "1"}]),
    "mutating webhook": webhooks("MutatingWebhookConfiguration", reinvocationPolicy="Perhaps"),
    "rule nothing": rule(operations=[], apiGroups=[], apiVersions=[], resources=[]),
    "rule stars": rule(
        operations=["*", "CREATE"], apiGroups=["*", "a"], apiVersions=["*", "v1", ""], resources=["*", "pods", "*/*"]
    ),
    "rule operation": rule(operations=["LOOK"], scope="World"),
    "rule subresources": rule(resources=["pods/*", "pods/status", "*/scale", "deployments/scale", ""]),
    "admission policy": made("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", spec={}),
    "admission policy fields": made(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        spec={
            "failurePolicy": "Perhaps",
            "paramKind": {"apiVersion": "a/b/c", "kind": ""},
            "matchConstraints": {"resourceRules": []},
            "validations": [{"expression": "", "message": " ", "reason": "Mood"}],
            "variables": [{"name": "1a", "expression": "true"}],
        },
    ),
    "admission binding": made(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        spec={"policyName": "", "validationActions": ["Deny", "Warn", "Deny", "Shout"], "paramRef": {}},
    ),
    "slice type": endpoint("IPv5"),
    "slice without type": endpoint(""),
    "slice addresses": endpoint(addresses=[]),
    "slice address": endpoint(addresses=["127.0.0.1", "x", "::1"]),
    "slice address six": endpoint("IPv6", addresses=["10.0.0.1", "2001:DB8::1"]),
    "slice name": endpoint("FQDN", addresses=["localhost", "Bad_.x", "a.b"]),
    "slice host": endpoint(hostname="a.b", nodeName="Bad_"),
    "slice hints": endpoint(hints={"forZones": [{"name": "a"}, {"name": "a"}, {"name": "bad zone!"}]}),
    "slice ports": made(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        addressType="IPv4",
        endpoints=[],
        ports=[
            {"name": "a", "port": 1},
            {"name": "a", "port": 2, "protocol": "x"},
            {"name": "BAD", "appProtocol": "b c"},
        ],
    ),
    "service range": made("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": []}),
    "service ranges": made("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": ["10.1.0.0/24", "10.2.0.0/24"]}),
    "service range form": made("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": ["10.1.0.1/24", "2001:DB8::/64"]}),
    "address": made("networking.k8s.io/v1", "IPAddress", "10.0.0.55", spec={}),
    "address parent": made("networking.k8s.io/v1", "IPAddress", "10.0.0.55", spec={"parentRef": {"group": "Bad_"}}),
    "address name": made("networking.k8s.io/v1", "IPAddress", "x", spec={"parentRef": {"resource": "a", "name": "b"}}),
    "api service": made("apiregistration.k8s.io/v1", "APIService", "x", spec={"group": "", "version": "V1"}),
    "api service local": made(
        "apiregistration.k8s.io/v1",
        "APIService",
        "v1.a.io",
        spec={
            "group": "a.io",
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
            "insecureSkipTLSVerify": True,
        },
    ),
    "api service port": made(
        "apiregistration.k8s.io/v1",
        "APIService",
        "v1.a.io",
        spec={
            "group": "a.io",
            "version": "v1",
            "groupPriorityMinimum": 30000,
            "versionPriority": 2000,
            "service": {"namespace": "", "name": "", "port": 70000},
        },
    ),
}

REFUSED: dict[str, Object] = {**PODS, **VOLUMES, **CORE, **APPS, **GROUPS}
