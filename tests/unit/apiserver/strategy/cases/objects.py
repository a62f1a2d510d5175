"""Objects that both servers are asked to create: small ones, which show defaults, and full ones, which show shapes."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

CONTAINER: Object = {"name": "web", "image": "nginx"}
TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR: Object = {"matchLabels": {"app": "web"}}


def made(api_version: str, kind: str, name: str = "sample", **content: Any) -> Object:
    metadata = {"name": name, **content.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def pod(name: str = "sample", metadata: Object | None = None, **spec: Any) -> Object:
    return made("v1", "Pod", name, metadata=metadata or {}, spec={"containers": [CONTAINER], **spec})


def pod_with(**container: Any) -> Object:
    return pod(containers=[{**CONTAINER, **container}])


def service(**spec: Any) -> Object:
    return made("v1", "Service", spec=spec)


def deployment(**spec: Any) -> Object:
    return made("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


def stateful_set(**spec: Any) -> Object:
    return made("apps/v1", "StatefulSet", spec={"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s", **spec})


def daemon_set(**spec: Any) -> Object:
    return made("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


JOB_TEMPLATE: Object = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}


def job(**spec: Any) -> Object:
    return made("batch/v1", "Job", spec={"template": JOB_TEMPLATE, **spec})


def cron_job(**spec: Any) -> Object:
    content = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}, **spec}
    return made("batch/v1", "CronJob", spec=content)


def autoscaler(version: str, **spec: Any) -> Object:
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    content = {"maxReplicas": 3, "scaleTargetRef": target, **spec}
    return made(f"autoscaling/{version}", "HorizontalPodAutoscaler", spec=content)


def volume(**source: Any) -> Object:
    return pod(volumes=[{"name": "v", **source}])


def claim(**spec: Any) -> Object:
    content = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return made("v1", "PersistentVolumeClaim", spec=content)


def persistent_volume(**spec: Any) -> Object:
    content = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp"}, **spec}
    return made("v1", "PersistentVolume", spec=content)


def webhooks(kind: str, **webhook: Any) -> Object:
    content = {
        "name": "a.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "s"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}],
        **webhook,
    }
    return made("admissionregistration.k8s.io/v1", kind, webhooks=[content])


def ingress(**spec: Any) -> Object:
    return made("networking.k8s.io/v1", "Ingress", spec=spec)


def network_policy(**spec: Any) -> Object:
    return made("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, **spec})


def binding(kind: str = "RoleBinding", subjects: Any = None, **ref: Any) -> Object:
    return made(
        "rbac.authorization.k8s.io/v1", kind, subjects=subjects, roleRef={"kind": "ClusterRole", "name": "view", **ref}
    )


def event(**content: Any) -> Object:
    about = {"kind": "Pod", "namespace": "default", "name": "web", "apiVersion": "v1"}
    return made("v1", "Event", involvedObject=about, reason="Started", message="ok", **content)


def slice_(**content: Any) -> Object:
    return made("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[], **content)


PROBES: Object = {
    "livenessProbe": {"httpGet": {"port": 80}},
    "readinessProbe": {"tcpSocket": {"port": "http"}, "periodSeconds": 3},
    "startupProbe": {"grpc": {"port": 9}},
    "lifecycle": {"preStop": {"httpGet": {"port": 8080, "path": "/x"}}, "postStart": {"exec": {"command": ["a"]}}},
}
ENVIRONMENT: Object = {
    "env": [
        {"name": "A", "value": "b"},
        {"name": "B", "value": ""},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}},
    ],
    "envFrom": [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}, "prefix": "X_"}],
}
VOLUMES: list[Object] = [
    {"name": "a"},
    {"name": "b", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
    {"name": "c", "secret": {"secretName": "s"}},
    {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {"name": "e", "hostPath": {"path": "/x"}},
    {"name": "f", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}, {"secret": {"name": "s"}}]}},
    {"name": "g", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}},
    {"name": "h", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "i", "csi": {"driver": "d.example.com"}},
    {"name": "j", "nfs": {"server": "s", "path": "/p"}},
    {"name": "k", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0}},
    {"name": "l", "image": {"reference": "busybox"}},
    {
        "name": "m",
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            }
        },
    },
]

CASES: dict[str, Object] = {
    # core
    "pod": pod(),
    "pod: image with tag": pod_with(image="nginx:1.2"),
    "pod: image with registry, port and latest": pod_with(image="localhost:5000/a/b:latest"),
    "pod: image by digest": pod_with(image="nginx@sha256:" + "a" * 64),
    "pod: image that is no reference": pod_with(image="NGINX"),
    "pod: probes and hooks": pod_with(**PROBES),
    "pod: environment": pod_with(**ENVIRONMENT),
    "pod: ports": pod_with(ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}]),
    "pod: host network": pod(
        containers=[{**CONTAINER, "ports": [{"containerPort": 80}]}],
        hostNetwork=True,
        dnsPolicy="ClusterFirstWithHostNet",
    ),
    "pod: limits without requests": pod_with(resources={"limits": {"cpu": "0.5", "memory": "1024Mi"}}),
    "pod: limits and other requests": pod_with(
        resources={"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "100m"}}
    ),
    "pod: requests only": pod_with(resources={"requests": {"cpu": "0.1234567"}}),
    "pod: pod-level resources": pod(
        resources={"limits": {"cpu": "2", "memory": "1Gi"}},
        containers=[
            {**CONTAINER, "resources": {"requests": {"cpu": "500m"}}},
            {**CONTAINER, "name": "b", "resources": {"requests": {"cpu": "1"}}},
        ],
    ),
    "pod: volumes of all kinds": pod(volumes=VOLUMES, serviceAccountName="builder"),
    "pod: service account by its old name": pod(serviceAccount="builder"),
    "pod: service account": pod(serviceAccountName="builder"),
    "pod: init containers and sidecar": pod(
        initContainers=[{"name": "i", "image": "a"}, {"name": "s", "image": "b:1", "restartPolicy": "Always"}]
    ),
    "pod: scheduling gates": pod(schedulingGates=[{"name": "example.com/wait"}]),
    "pod: spread over label keys": pod(
        metadata={"labels": {"app": "web", "hash": "1"}},
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": SELECTOR,
                "matchLabelKeys": ["hash"],
            }
        ],
        affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": SELECTOR, "matchLabelKeys": ["hash"]}
                ]
            }
        },
    ),
    "pod: much of everything": pod(
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                }
            }
        },
        tolerations=[{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 3}],
        nodeSelector={"a": "b"},
        hostAliases=[{"ip": "1.2.3.4", "hostnames": ["x"]}],
        dnsConfig={"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]},
        securityContext={"runAsUser": 1000, "fsGroup": 0, "sysctls": [{"name": "kernel.x", "value": "1"}]},
        imagePullSecrets=[{"name": "r"}],
        readinessGates=[{"conditionType": "example.com/ready"}],
        activeDeadlineSeconds=5,
        terminationGracePeriodSeconds=0,
        hostname="h",
        subdomain="s",
        shareProcessNamespace=False,
        automountServiceAccountToken=False,
        os={"name": "linux"},
        hostUsers=True,
    ),
    "service": service(ports=[{"port": 80}], selector={"app": "web"}),
    "service: node port": service(type="NodePort", ports=[{"port": 80, "nodePort": 30123}]),
    "service: headless": service(clusterIP="None", selector={"app": "web"}, ports=[{"port": 80}]),
    "service: headless without selector": service(clusterIP="None"),
    "service: load balancer": service(
        type="LoadBalancer", ports=[{"port": 80, "nodePort": 30124, "targetPort": "http"}]
    ),
    "service: external name": service(type="ExternalName", externalName="example.com"),
    "service: client affinity": service(ports=[{"port": 80}], sessionAffinity="ClientIP", clusterIP="10.96.0.77"),
    "service: external IPs": service(ports=[{"port": 80}], externalIPs=["1.2.3.4"], clusterIP="10.96.0.78"),
    "service: two protocols": service(
        type="NodePort",
        clusterIP="10.96.0.79",
        ports=[
            {"name": "a", "port": 53, "protocol": "UDP", "nodePort": 30125},
            {"name": "b", "port": 53, "protocol": "TCP", "nodePort": 30125},
        ],
    ),
    "secret": made("v1", "Secret", data={"a": "aGk="}),
    "secret: string data": made("v1", "Secret", stringData={"a": "hü", "b": ""}, data={"a": "eA==", "c": "eQ=="}),
    "secret: tls": made("v1", "Secret", type="kubernetes.io/tls", data={"tls.crt": "", "tls.key": ""}),
    "config map": made("v1", "ConfigMap", data={"a": "b"}, binaryData={"c": "aGk="}),
    "config map: empty": made("v1", "ConfigMap", immutable=False),
    "namespace": made("v1", "Namespace"),
    "namespace: own finalizer": made("v1", "Namespace", spec={"finalizers": ["example.com/x"]}),
    "node": made("v1", "Node"),
    "node: with status": made(
        "v1",
        "Node",
        spec={"podCIDR": "10.0.0.0/24", "taints": [{"key": "a", "effect": "NoSchedule"}]},
        status={"capacity": {"cpu": "4", "pods": "110"}, "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]},
    ),
    "claim": claim(),
    "claim: from another": claim(dataSource={"kind": "PersistentVolumeClaim", "name": "x"}),
    "claim: from something unknown": claim(dataSource={"kind": "Thing", "apiGroup": "x.com", "name": "x"}),
    "claim: by reference": claim(dataSourceRef={"kind": "Thing", "apiGroup": "x.com", "name": "x"}),
    "volume": persistent_volume(),
    "volume: block": persistent_volume(
        volumeMode="Block", storageClassName="fast", persistentVolumeReclaimPolicy="Delete"
    ),
    "service account": made("v1", "ServiceAccount", secrets=[{"name": "a", "namespace": "b", "kind": "c"}]),
    "endpoints": made(
        "v1",
        "Endpoints",
        subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 1}]}],
    ),
    "event": event(),
    "event: with source": event(
        source={"component": "kubelet", "host": "n"}, firstTimestamp="2020-01-01T00:00:00Z", count=2, type="Normal"
    ),
    "event: of events.k8s.io": made(
        "events.k8s.io/v1",
        "Event",
        eventTime="2020-01-01T00:00:00.123456Z",
        reportingController="example.com/c",
        reportingInstance="i",
        action="Do",
        reason="R",
        type="Normal",
        note="hello",
        regarding={"kind": "Pod", "namespace": "default", "name": "web"},
    ),
    "limit range": made(
        "v1",
        "LimitRange",
        spec={
            "limits": [
                {"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "0.1", "memory": "1Mi"}},
                {"type": "Pod", "max": {"cpu": "4"}},
            ]
        },
    ),
    "limit range: defaults": made(
        "v1",
        "LimitRange",
        spec={"limits": [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"memory": "1Mi"}}]},
    ),
    "resource quota": made("v1", "ResourceQuota", spec={"hard": {"pods": "10", "requests.cpu": "1.5"}}),
    "replication controller": made("v1", "ReplicationController", spec={"template": TEMPLATE}),
    "pod template": made("v1", "PodTemplate", template=TEMPLATE),
    # apps
    "deployment": deployment(),
    "deployment: recreate": deployment(strategy={"type": "Recreate"}, replicas=0),
    "deployment: numbers": deployment(strategy={"rollingUpdate": {"maxSurge": 1}}, minReadySeconds=5, paused=True),
    "deployment: full template": deployment(
        template={
            "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}},
            "spec": {
                "containers": [{**CONTAINER, **PROBES, **ENVIRONMENT, "resources": {"limits": {"cpu": "1"}}}],
                "volumes": VOLUMES,
                "serviceAccountName": "builder",
            },
        }
    ),
    "replica set": made("apps/v1", "ReplicaSet", spec={"selector": SELECTOR, "template": TEMPLATE}),
    "stateful set": stateful_set(),
    "stateful set: claims": stateful_set(
        volumeClaimTemplates=[
            {
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
        updateStrategy={"type": "OnDelete"},
        podManagementPolicy="Parallel",
    ),
    "daemon set": daemon_set(),
    "daemon set: on delete": daemon_set(updateStrategy={"type": "OnDelete"}),
    "controller revision": made("apps/v1", "ControllerRevision", revision=3, data={"spec": {"a": 1}}),
    # batch
    "job": job(),
    "job: parallel": job(parallelism=3, ttlSecondsAfterFinished=0),
    "job: indexed": job(completionMode="Indexed", completions=3, backoffLimitPerIndex=1),
    "job: failure policy": job(
        podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    ),
    "job: labelled template": job(template={**JOB_TEMPLATE, "metadata": {"labels": {"app": "web"}}}),
    "job: own selector": job(
        manualSelector=True, selector=SELECTOR, template={**JOB_TEMPLATE, "metadata": {"labels": {"app": "web"}}}
    ),
    "cron job": cron_job(),
    "cron job: full": cron_job(suspend=True, concurrencyPolicy="Forbid", timeZone="Etc/UTC", startingDeadlineSeconds=9),
    # autoscaling
    "autoscaler": autoscaler("v2"),
    "autoscaler: behavior": autoscaler("v2", behavior={"scaleDown": {"stabilizationWindowSeconds": 3}}, minReplicas=2),
    "autoscaler: metrics": autoscaler(
        "v2",
        metrics=[
            {
                "type": "Pods",
                "pods": {"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "1k"}},
            },
            {
                "type": "Resource",
                "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 5}},
            },
        ],
    ),
    "autoscaler: v1": autoscaler("v1"),
    "autoscaler: v1 with target": autoscaler("v1", targetCPUUtilizationPercentage=50),
    # networking
    "ingress": ingress(
        rules=[
            {
                "host": "a.com",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "s", "port": {"number": 80}}},
                        }
                    ]
                },
            }
        ],
        tls=[{"hosts": ["a.com"], "secretName": "s"}],
    ),
    "ingress: default backend": ingress(defaultBackend={"service": {"name": "s", "port": {"name": "http"}}}),
    "ingress class": made("networking.k8s.io/v1", "IngressClass", spec={"controller": "a.com/b"}),
    "ingress class: parameters": made(
        "networking.k8s.io/v1", "IngressClass", spec={"controller": "a.com/b", "parameters": {"kind": "K", "name": "n"}}
    ),
    "network policy": network_policy(),
    "network policy: egress": network_policy(
        egress=[{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], "ports": [{"port": 80}, {}]}],
        ingress=[{}],
    ),
    # policy
    "disruption budget": made("policy/v1", "PodDisruptionBudget", spec={"selector": SELECTOR, "minAvailable": 1}),
    "disruption budget: percentage": made(
        "policy/v1", "PodDisruptionBudget", spec={"selector": SELECTOR, "maxUnavailable": "30%"}
    ),
    # rbac
    "role": made(
        "rbac.authorization.k8s.io/v1", "Role", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    ),
    "cluster role": made("rbac.authorization.k8s.io/v1", "ClusterRole"),
    "cluster role: aggregated": made(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    ),
    "role binding": binding(subjects=[{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}]),
    "role binding: account": binding(subjects=[{"kind": "ServiceAccount", "name": "s", "namespace": "default"}]),
    "cluster role binding": binding("ClusterRoleBinding"),
    # storage
    "storage class": made("storage.k8s.io/v1", "StorageClass", provisioner="a.com/b"),
    "csi driver": made("storage.k8s.io/v1", "CSIDriver", "a.example.com", spec={}),
    "csi node": made("storage.k8s.io/v1", "CSINode", spec={"drivers": []}),
    "volume attachment": made(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        spec={"attacher": "a.com", "nodeName": "n", "source": {"persistentVolumeName": "p"}},
    ),
    "volume attributes class": made(
        "storage.k8s.io/v1", "VolumeAttributesClass", driverName="a.com", parameters={"a": "b"}
    ),
    "csi storage capacity": made("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="fast", capacity="1024Mi"),
    # others
    "priority class": made("scheduling.k8s.io/v1", "PriorityClass", value=1000),
    "runtime class": made("node.k8s.io/v1", "RuntimeClass", handler="runc"),
    "lease": made("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me", "leaseDurationSeconds": 15}),
    "lease: empty": made("coordination.k8s.io/v1", "Lease"),
    "validating webhooks": webhooks("ValidatingWebhookConfiguration"),
    "mutating webhooks": webhooks("MutatingWebhookConfiguration"),
    "webhooks by address": webhooks(
        "MutatingWebhookConfiguration", clientConfig={"url": "https://example.com/x"}, reinvocationPolicy="IfNeeded"
    ),
    "admission policy": made(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        spec={
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["*"]}
                ]
            },
            "validations": [{"expression": "true"}],
        },
    ),
    "admission policy binding": made(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        spec={"policyName": "p", "validationActions": ["Deny"]},
    ),
    "endpoint slice": slice_(ports=[{"port": 80}]),
    "endpoint slice: endpoints": made(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        addressType="IPv4",
        endpoints=[{"addresses": ["1.2.3.4"], "conditions": {"ready": True}, "nodeName": "n"}],
        ports=[{"name": "a", "port": 80, "protocol": "UDP"}],
    ),
    "flow schema": made(
        "flowcontrol.apiserver.k8s.io/v1",
        "FlowSchema",
        spec={
            "priorityLevelConfiguration": {"name": "exempt"},
            "rules": [
                {
                    "subjects": [{"kind": "Group", "group": {"name": "g"}}],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                }
            ],
        },
    ),
    "priority level": made(
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        spec={"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
    ),
    "service cidr": made("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": ["10.200.0.0/24"]}),
    "ip address": made(
        "networking.k8s.io/v1",
        "IPAddress",
        "10.200.0.1",
        spec={"parentRef": {"resource": "services", "namespace": "default", "name": "a"}},
    ),
    "device class": made("resource.k8s.io/v1", "DeviceClass", spec={}),
    "resource claim": made(
        "resource.k8s.io/v1",
        "ResourceClaim",
        spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    ),
    "api service": made(
        "apiregistration.k8s.io/v1",
        "APIService",
        "v1.x.example.com",
        spec={
            "group": "x.example.com",
            "version": "v1",
            "service": {"name": "a", "namespace": "b"},
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
        },
    ),
}
