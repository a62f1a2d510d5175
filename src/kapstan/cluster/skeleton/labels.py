"""Labels, annotations, finalizers and taints of Cluster API, which every provider knows by the same names."""

from __future__ import annotations

import base64

from kapstan.k8s.core_v1 import Taint
from kapstan.machinery.names import label_value_errors

__all__ = (
    "AUTOSCALER_MAX_SIZE",
    "AUTOSCALER_MIN_SIZE",
    "CERTIFICATES_EXPIRY",
    "CLONED_FROM_GROUP_KIND",
    "CLONED_FROM_NAME",
    "CLUSTER_FINALIZER",
    "CLUSTER_NAME",
    "CONTROL_PLANE",
    "CONTROL_PLANE_NAME",
    "DELETE_MACHINE",
    "DEPLOYMENT_NAME",
    "DISABLE_MACHINE_CREATE",
    "DRAIN",
    "EXCLUDE_NODE_DRAINING",
    "EXCLUDE_WAIT_FOR_VOLUME_DETACH",
    "INTERRUPTIBLE",
    "MACHINE_DEPLOYMENT_FINALIZER",
    "MACHINE_FINALIZER",
    "MACHINE_SET_FINALIZER",
    "MANAGED_BY",
    "NODE_ANNOTATIONS_FROM_MACHINE",
    "NODE_CLUSTER_NAME",
    "NODE_CLUSTER_NAMESPACE",
    "NODE_DOMAIN",
    "NODE_LABELS_FROM_MACHINE",
    "NODE_MACHINE",
    "NODE_OWNER_KIND",
    "NODE_OWNER_NAME",
    "NODE_RESTRICTION_DOMAIN",
    "NODE_ROLE_DOMAIN",
    "NODE_TAINTS_FROM_MACHINE",
    "OUTDATED_REVISION",
    "PAUSED",
    "POOL_NAME",
    "PRE_DRAIN_HOOK",
    "PRE_TERMINATE_HOOK",
    "REMEDIATE_MACHINE",
    "REPLICAS_MANAGED_BY",
    "REVISION",
    "SET_NAME",
    "SKIP_PREFLIGHT_CHECKS",
    "SKIP_REMEDIATION",
    "TEMPLATE_HASH",
    "TOPOLOGY_DRY_RUN",
    "TOPOLOGY_OWNED",
    "UNINITIALIZED",
    "UNSAFE_VERSION_UPDATE",
    "UPDATE_IN_PROGRESS",
    "label_value",
)

# --- Finalizers -------------------------------------------------------------------------------------------------------

CLUSTER_FINALIZER = "cluster.cluster.x-k8s.io"
MACHINE_FINALIZER = "machine.cluster.x-k8s.io"
MACHINE_SET_FINALIZER = "cluster.x-k8s.io/machineset"
MACHINE_DEPLOYMENT_FINALIZER = "cluster.x-k8s.io/machinedeployment"

# --- Labels -----------------------------------------------------------------------------------------------------------

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"  # on machines of the control plane, without a value
CONTROL_PLANE_NAME = "cluster.x-k8s.io/control-plane-name"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
SET_NAME = "cluster.x-k8s.io/set-name"
POOL_NAME = "cluster.x-k8s.io/pool-name"
TEMPLATE_HASH = "machine-template-hash"
TOPOLOGY_DRY_RUN = "topology.cluster.x-k8s.io/dry-run"
TOPOLOGY_OWNED = "topology.cluster.x-k8s.io/owned"
DRAIN = "cluster.x-k8s.io/drain"  # on pods of a workload cluster: skip, or wait-completed
INTERRUPTIBLE = "cluster.x-k8s.io/interruptible"  # on nodes

# Labels of a machine that its node gets as well: those of these domains, and of domains below the last two.
NODE_ROLE_DOMAIN = "node-role.kubernetes.io"
NODE_RESTRICTION_DOMAIN = "node-restriction.kubernetes.io"
NODE_DOMAIN = "node.cluster.x-k8s.io"  # of annotations, too

# --- Annotations ------------------------------------------------------------------------------------------------------

PAUSED = "cluster.x-k8s.io/paused"
MANAGED_BY = "cluster.x-k8s.io/managed-by"
CLONED_FROM_NAME = "cluster.x-k8s.io/cloned-from-name"
CLONED_FROM_GROUP_KIND = "cluster.x-k8s.io/cloned-from-groupkind"
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
DISABLE_MACHINE_CREATE = "cluster.x-k8s.io/disable-machine-create"
REMEDIATE_MACHINE = "cluster.x-k8s.io/remediate-machine"
SKIP_REMEDIATION = "cluster.x-k8s.io/skip-remediation"
SKIP_PREFLIGHT_CHECKS = "machineset.cluster.x-k8s.io/skip-preflight-checks"
REPLICAS_MANAGED_BY = "cluster.x-k8s.io/replicas-managed-by"
AUTOSCALER_MIN_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
AUTOSCALER_MAX_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
REVISION = "machinedeployment.clusters.x-k8s.io/revision"  # "clusters": so it is
UNSAFE_VERSION_UPDATE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check"
UPDATE_IN_PROGRESS = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
CERTIFICATES_EXPIRY = "machine.cluster.x-k8s.io/certificates-expiry"
EXCLUDE_NODE_DRAINING = "machine.cluster.x-k8s.io/exclude-node-draining"
EXCLUDE_WAIT_FOR_VOLUME_DETACH = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"

# Whoever wants a machine's deletion to wait sets an annotation that begins so, and takes it away when it may go on.
PRE_DRAIN_HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
PRE_TERMINATE_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"

# On nodes: which machine they are, and what of theirs came from it.
NODE_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
NODE_CLUSTER_NAMESPACE = "cluster.x-k8s.io/cluster-namespace"
NODE_MACHINE = "cluster.x-k8s.io/machine"
NODE_OWNER_KIND = "cluster.x-k8s.io/owner-kind"
NODE_OWNER_NAME = "cluster.x-k8s.io/owner-name"
NODE_LABELS_FROM_MACHINE = "cluster.x-k8s.io/labels-from-machine"
NODE_ANNOTATIONS_FROM_MACHINE = "cluster.x-k8s.io/annotations-from-machine"
NODE_TAINTS_FROM_MACHINE = "cluster.x-k8s.io/taints-from-machine"

# --- Taints -----------------------------------------------------------------------------------------------------------

UNINITIALIZED = Taint(key="node.cluster.x-k8s.io/uninitialized", effect="NoSchedule")
OUTDATED_REVISION = Taint(key="node.cluster.x-k8s.io/outdated-revision", effect="PreferNoSchedule")


# --- Names as labels --------------------------------------------------------------------------------------------------


def label_value(name: str) -> str:
    """A name as the value of a label; one that is too long or has other characters is hashed, as Cluster API does."""
    if not label_value_errors(name):
        return name
    digest = 0x811C9DC5  # FNV-1a, 32 bits
    for byte in name.encode():
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"hash_{base64.urlsafe_b64encode(digest.to_bytes(4)).decode().rstrip('=')}_z"
