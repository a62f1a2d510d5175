"""What a set makes: a Machine, and the clones of its providers' templates. Pure builders."""

from __future__ import annotations

import copy
from typing import Any

from kapstan.cluster.api.core import Machine, MachineSet
from kapstan.cluster.api.core.common import ContractReference, DeletionTimeouts
from kapstan.cluster.api.core.machine import MachineSpec
from kapstan.cluster.contract.objects import Template
from kapstan.cluster.core.ownedkeys import Metadata
from kapstan.cluster.core.templates import SUFFIX
from kapstan.cluster.skeleton import labels
from kapstan.machinery.codec import to_builtins
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.owners import owner_reference

__all__ = (
    "DEFAULT_NODE_DELETION_TIMEOUT",
    "MANAGER",
    "clone_ref",
    "desired_clone",
    "desired_machine",
    "metadata_of",
    "set_in_place",
)

# Whose fields they are that machines and their parts have from their set.
MANAGER = "capi-machineset"
DEFAULT_NODE_DELETION_TIMEOUT = 10  # seconds


def desired_machine(machine_set: MachineSet, name: str) -> Machine:
    """A new machine. Its parts have its name."""
    template = machine_set.spec.template.spec
    wanted_labels, wanted_annotations = metadata_of(machine_set)
    bootstrap = template.bootstrap
    if bootstrap.config_ref is not None:
        bootstrap = bootstrap.replace(config_ref=clone_ref(bootstrap.config_ref, name))
    spec = template.replace(
        cluster_name=machine_set.spec.cluster_name,
        bootstrap=bootstrap,
        infrastructure_ref=clone_ref(template.infrastructure_ref, name),
        provider_id=None,
    )
    set_in_place(spec, template)
    return Machine(
        metadata=ObjectMeta(
            name=name,
            namespace=machine_set.namespace,
            labels=wanted_labels,
            annotations=wanted_annotations,
            owner_references=[owner_reference(machine_set, controller=True)],
            finalizers=[labels.MACHINE_FINALIZER],
        ),
        spec=spec,
    )


def metadata_of(machine_set: MachineSet) -> Metadata:
    """Labels and annotations of a set's machines and of their parts."""
    template = machine_set.spec.template.metadata
    wanted = dict(template.labels) if template is not None else {}
    wanted[labels.CLUSTER_NAME] = machine_set.spec.cluster_name
    wanted[labels.SET_NAME] = labels.label_value(machine_set.name)
    deployment = machine_set.metadata.labels.get(labels.DEPLOYMENT_NAME)
    if deployment is not None:
        wanted[labels.DEPLOYMENT_NAME] = deployment
    return wanted, dict(template.annotations) if template is not None else {}


def set_in_place(spec: MachineSpec, template: MachineSpec) -> None:
    """Set what can be changed while a machine runs."""
    timeouts = template.deletion or DeletionTimeouts()
    if timeouts.node_deletion_timeout_seconds is None:
        timeouts = timeouts.replace(node_deletion_timeout_seconds=DEFAULT_NODE_DELETION_TIMEOUT)
    spec.deletion = timeouts
    spec.readiness_gates = template.readiness_gates
    spec.min_ready_seconds = template.min_ready_seconds
    spec.taints = template.taints


def clone_ref(template: ContractReference, name: str) -> ContractReference:
    return template.replace(kind=template.kind.removesuffix(SUFFIX), name=name)


def desired_clone(template: Template, machine: Machine, wanted: Metadata) -> dict[str, Any]:
    """What a template says, as the machine's own."""
    wanted_labels, wanted_annotations = wanted
    clone = copy.deepcopy(template.content)
    metadata = clone.get("metadata") or {}
    cloned_from = {
        labels.CLONED_FROM_NAME: template.name,
        labels.CLONED_FROM_GROUP_KIND: f"{template.kind}.{template.document['apiVersion'].partition('/')[0]}",
    }
    return {
        **clone,
        "apiVersion": clone.get("apiVersion") or template.document["apiVersion"],
        "kind": clone.get("kind") or template.kind.removesuffix(SUFFIX),
        "metadata": {
            "name": machine.name,
            "namespace": machine.namespace,
            "labels": {**(metadata.get("labels") or {}), **wanted_labels},
            "annotations": {**(metadata.get("annotations") or {}), **wanted_annotations, **cloned_from},
            "ownerReferences": [to_builtins(owner_reference(machine, controller=True))],
        },
    }
