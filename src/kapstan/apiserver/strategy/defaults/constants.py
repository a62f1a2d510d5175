"""Constants: defaults that depend on nothing else, as data. A field that is absent gets the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ("ADMISSION", "API", "APIEXTENSIONS", "APIREGISTRATION", "CONSTANTS", "Default", "constant")

Default = Callable[[dict[str, Any]], None]

API = "k8s.io/api/"
ADMISSION = f"{API}admissionregistration/v1."
APIEXTENSIONS = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1."
APIREGISTRATION = "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1."

_CORE = f"{API}core/v1."
_FLOWCONTROL = f"{API}flowcontrol/v1."
_READABLE_BY_ALL = 0o644
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_AZURE_DISK = {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}

CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    # Pods
    f"{_CORE}PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
    f"{_CORE}Container": {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    f"{_CORE}EphemeralContainer": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    f"{_CORE}ContainerPort": {"protocol": "TCP"},
    f"{_CORE}Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    f"{_CORE}HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    f"{_CORE}ObjectFieldSelector": {"apiVersion": "v1"},
    f"{_CORE}FileKeySelector": {"optional": False},
    # Volumes
    f"{_CORE}SecretVolumeSource": {"defaultMode": _READABLE_BY_ALL},
    f"{_CORE}ConfigMapVolumeSource": {"defaultMode": _READABLE_BY_ALL},
    f"{_CORE}DownwardAPIVolumeSource": {"defaultMode": _READABLE_BY_ALL},
    f"{_CORE}ProjectedVolumeSource": {"defaultMode": _READABLE_BY_ALL},
    f"{_CORE}ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    f"{_CORE}HostPathVolumeSource": {"type": ""},
    f"{_CORE}ISCSIVolumeSource": {"iscsiInterface": "default"},
    f"{_CORE}ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    f"{_CORE}RBDVolumeSource": _RBD,
    f"{_CORE}RBDPersistentVolumeSource": _RBD,
    f"{_CORE}ScaleIOVolumeSource": _SCALE_IO,
    f"{_CORE}ScaleIOPersistentVolumeSource": _SCALE_IO,
    f"{_CORE}AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    f"{_CORE}PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    f"{_CORE}PersistentVolumeClaimStatus": {"phase": "Pending"},
    f"{_CORE}PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    f"{_CORE}PersistentVolumeStatus": {"phase": "Pending"},
    # Other core kinds
    f"{_CORE}EndpointPort": {"protocol": "TCP"},
    f"{_CORE}NamespaceStatus": {"phase": "Active"},
    f"{_CORE}ReplicationControllerSpec": {"replicas": 1},
    f"{_CORE}Secret": {"type": "Opaque"},
    f"{_CORE}ServicePort": {"protocol": "TCP"},
    # Other groups
    f"{API}apps/v1.ReplicaSetSpec": {"replicas": 1},
    f"{API}autoscaling/v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    f"{API}batch/v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    f"{API}discovery/v1.EndpointPort": {"name": "", "protocol": "TCP"},
    f"{API}networking/v1.NetworkPolicyPort": {"protocol": "TCP"},
    f"{API}scheduling/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    f"{API}storage/v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    f"{API}storage/v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    f"{API}resource/v1.DeviceToleration": {"operator": "Equal"},
    f"{ADMISSION}ValidatingWebhook": _WEBHOOK,
    f"{ADMISSION}MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    f"{ADMISSION}RuleWithOperations": {"scope": "*"},
    f"{ADMISSION}NamedRuleWithOperations": {"scope": "*"},
    f"{ADMISSION}ServiceReference": {"port": 443},
    f"{ADMISSION}ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    f"{ADMISSION}MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    f"{ADMISSION}MatchResources": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}},
    f"{APIEXTENSIONS}ServiceReference": {"port": 443},
    f"{APIEXTENSIONS}CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    f"{APIREGISTRATION}ServiceReference": {"port": 443},
    f"{_FLOWCONTROL}ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    f"{_FLOWCONTROL}LimitedPriorityLevelConfiguration": {"lendablePercent": 0},
}


def constant(values: Mapping[str, Any]) -> Default:
    """A function that fills in constants."""
    plain = tuple((key, value) for key, value in values.items() if not isinstance(value, dict | list))
    containers = tuple((key, value) for key, value in values.items() if isinstance(value, dict | list))

    def fill(obj: dict[str, Any]) -> None:
        for key, value in plain:
            if key not in obj:
                obj[key] = value
        for key, value in containers:
            if key not in obj:
                obj[key] = value.copy()

    return fill
