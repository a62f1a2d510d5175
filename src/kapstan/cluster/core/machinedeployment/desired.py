"""What a deployment makes of its sets: a new one, and what can be changed in place on those that are there. Pure."""

from __future__ import annotations

import zlib

from kapstan.cluster.api.core import MachineDeployment, MachineSet
from kapstan.cluster.api.core.common import TemplateMetadata
from kapstan.cluster.api.core.machine import MachineSpec, MachineTemplate
from kapstan.cluster.api.core.machinedeployment import RollingUpdate
from kapstan.cluster.api.core.machineset import MachineSetSpec
from kapstan.cluster.core.machinedeployment.choice import REVISION_HISTORY
from kapstan.cluster.core.machinedeployment.rollout import Bounds, bounds
from kapstan.cluster.core.machineset.naming import NEXT, suffix
from kapstan.cluster.core.uptodate import ROLLED_OUT
from kapstan.cluster.skeleton import labels
from kapstan.machinery.codec import encode
from kapstan.machinery.meta import LabelSelector, ObjectMeta
from kapstan.machinery.owners import owner_reference

__all__ = (
    "DESIRED_REPLICAS",
    "KEPT",
    "MANAGER",
    "MAX_REPLICAS",
    "annotations_for",
    "desired_set",
    "limits_of",
    "set_in_place",
    "set_name",
)

# Whose fields they are that sets have from their deployment.
MANAGER = "capi-machinedeployment"
DESIRED_REPLICAS = "machinedeployment.clusters.x-k8s.io/desired-replicas"
MAX_REPLICAS = "machinedeployment.clusters.x-k8s.io/max-replicas"
# Annotations of a deployment that are not for its sets.
_NOT_FOR_SETS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "cluster.x-k8s.io/conversion-data",
    labels.REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
)
# Annotations of a set that are no copies of its deployment's.
KEPT = (labels.REVISION, REVISION_HISTORY, labels.DISABLE_MACHINE_CREATE, NEXT, ROLLED_OUT)
_LONGEST, _SUFFIX = 63, 5


def limits_of(deployment: MachineDeployment) -> Bounds:
    rollout = deployment.spec.rollout
    strategy = rollout.strategy if rollout is not None else None
    rolling = (strategy.rolling_update if strategy is not None else None) or RollingUpdate()
    return bounds(deployment.spec.replicas or 0, rolling.max_surge, rolling.max_unavailable)


def set_name(deployment: MachineDeployment, revision: int, collision: int = 0) -> tuple[str, str]:
    """Name of a new set, and what it is told by. Who tries again to make it tries the same name."""
    spec = deployment.spec.template.spec
    told = encode([spec.version, spec.bootstrap, spec.infrastructure_ref, spec.failure_domain])
    rollout = deployment.spec.rollout
    after = rollout.after.isoformat() if rollout is not None and rollout.after is not None else ""
    seed = f"{deployment.uid}/{revision}/{told.decode()}/{after}/{collision}"
    name = f"{deployment.name}-"[: _LONGEST - _SUFFIX] + suffix(seed)
    return name, f"{zlib.crc32(told)}-{suffix(seed)}"


def desired_set(deployment: MachineDeployment, revision: int, replicas: int, collision: int = 0) -> MachineSet:
    """A new set."""
    name, identity = set_name(deployment, revision, collision)
    selector = deployment.spec.selector
    machine_set = MachineSet(
        metadata=ObjectMeta(
            name=name,
            namespace=deployment.namespace,
            labels={labels.TEMPLATE_HASH: identity},
            annotations={labels.REVISION: str(revision), labels.DISABLE_MACHINE_CREATE: "false"},
            owner_references=[owner_reference(deployment, controller=True)],
            finalizers=[labels.MACHINE_SET_FINALIZER],
        ),
        spec=MachineSetSpec(
            cluster_name=deployment.spec.cluster_name,
            replicas=replicas,
            selector=LabelSelector(
                match_labels={**(selector.match_labels or {}), labels.TEMPLATE_HASH: identity},
                match_expressions=selector.match_expressions,
            ),
            template=MachineTemplate(spec=deployment.spec.template.spec.replace()),
        ),
    )
    set_in_place(machine_set, deployment)
    return machine_set


def set_in_place(machine_set: MachineSet, deployment: MachineDeployment) -> None:
    """Set what can be changed without new machines. What the deployment's template has lost, its sets lose."""
    wanted = deployment.spec.template.metadata or TemplateMetadata()
    spec, template = machine_set.spec, machine_set.spec.template
    before = (template.metadata or TemplateMetadata()).labels
    identity = machine_set.metadata.labels.get(labels.TEMPLATE_HASH)
    told = {labels.TEMPLATE_HASH: identity} if identity is not None else {}
    ours = {**wanted.labels, **told}
    template.metadata = TemplateMetadata(labels=ours, annotations=dict(wanted.annotations))
    kept = {key: value for key, value in machine_set.metadata.labels.items() if key not in before or key in ours}
    machine_set.metadata.labels = {
        **kept,
        **ours,
        labels.CLUSTER_NAME: spec.cluster_name,
        labels.DEPLOYMENT_NAME: deployment.name,
    }
    machine_set.metadata.annotations |= annotations_for(deployment)
    spec.deletion, spec.machine_naming = deployment.spec.deletion, deployment.spec.machine_naming
    _set_spec_in_place(template.spec, deployment.spec.template.spec)


def annotations_for(deployment: MachineDeployment) -> dict[str, str]:
    """What the sets of a deployment are annotated with."""
    limits = limits_of(deployment)
    copied = {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_FOR_SETS}
    return {**copied, DESIRED_REPLICAS: str(limits.replicas), MAX_REPLICAS: str(limits.most)}


def _set_spec_in_place(spec: MachineSpec, wanted: MachineSpec) -> None:
    spec.min_ready_seconds = wanted.min_ready_seconds
    spec.readiness_gates = wanted.readiness_gates
    spec.deletion = wanted.deletion
    spec.taints = wanted.taints
