"""ClusterClass: what many clusters have in common, with variables for what differs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.clustervariable import ClassVariable, ObservedVariable, VariableName
from kapstan.cluster.api.core.common import (
    ApiVersion,
    Conditions,
    DeletionTimeouts,
    FailureDomainName,
    Gates,
    HealthChecks,
    KindName,
    KubernetesVersion,
    NonEmptyMetadata,
    ObservedGeneration,
    Seconds,
    Taints,
    VersionedReference,
)
from kapstan.cluster.api.core.deprecated import DeprecatedConditions
from kapstan.cluster.api.core.group import CATEGORIES, GROUP, LABELS, VERSION, condition_column
from kapstan.cluster.api.core.machinedeployment import RolloutStrategy
from kapstan.cluster.api.core.topology import (
    ClassName,
    DeploymentTopologyDeletion,
    DeploymentTopologyRemediation,
    TopologyRemediation,
)
from kapstan.machinery.markers import ListAtomic, ListMap, MinProperties
from kapstan.machinery.model import Column, Model, Resource
from kapstan.machinery.scheme import resource

__all__ = ("ClusterClass", "ClusterClassSpec", "ClusterClassStatus")

Extension: TypeAlias = Annotated[str, Meta(min_length=1, max_length=512)]


class TemplateReference(Model):
    """Where a template is."""

    template_ref: VersionedReference
    """The template."""


class Naming(Model):
    """How objects are named."""

    template: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    """A Go template over .cluster.name, .random and, for workers, .machineDeployment.topologyName or
    .machinePool.topologyName."""


class ClassHealthCheck(Model):
    """A MachineHealthCheck for a part of every cluster."""

    checks: Annotated[HealthChecks, MinProperties(1)] | None = None
    """What makes a machine unhealthy."""
    remediation: Annotated[TopologyRemediation, MinProperties(1)] | None = None
    """What happens to unhealthy machines."""


class ClassDeploymentHealthCheck(Model):
    """A MachineHealthCheck for a part of every cluster."""

    checks: Annotated[HealthChecks, MinProperties(1)] | None = None
    """What makes a machine unhealthy."""
    remediation: Annotated[DeploymentTopologyRemediation, MinProperties(1)] | None = None
    """What happens to unhealthy machines."""


class InfrastructureClass(TemplateReference):
    """The infrastructure of every cluster."""

    naming: Annotated[Naming, MinProperties(1)] | None = None
    """How it is named."""


class ControlPlaneClass(TemplateReference):
    """The control plane of every cluster."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the control plane and its machines."""
    machine_infrastructure: TemplateReference | None = None
    """The template of its machines' infrastructure, where it has machines."""
    health_check: Annotated[ClassHealthCheck, MinProperties(1)] | None = None
    """A MachineHealthCheck for the control plane."""
    naming: Annotated[Naming, MinProperties(1)] | None = None
    """How it is named."""
    deletion: Annotated[DeletionTimeouts, MinProperties(1)] | None = None
    """How long the steps of a machine's deletion may take."""
    taints: Taints = field(default_factory=list)
    """Taints for the nodes."""
    readiness_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Ready of the machines."""


class ClassRollout(Model):
    """How machines are replaced."""

    strategy: Annotated[RolloutStrategy, MinProperties(1)] | None = None
    """How old machines are replaced by new ones."""


class MachineDeploymentClass(Model):
    """A kind of workers that clusters may have groups of."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the deployments and their machines."""
    class_: ClassName
    """What clusters call it by."""
    bootstrap: TemplateReference
    """How machines become nodes."""
    infrastructure: TemplateReference
    """The computers."""
    health_check: Annotated[ClassDeploymentHealthCheck, MinProperties(1)] | None = None
    """A MachineHealthCheck for each group."""
    failure_domain: FailureDomainName | None = None
    """The failure domain that the machines shall be in."""
    naming: Annotated[Naming, MinProperties(1)] | None = None
    """How the deployments are named."""
    deletion: Annotated[DeploymentTopologyDeletion, MinProperties(1)] | None = None
    """How machines are deleted."""
    taints: Taints = field(default_factory=list)
    """Taints for the nodes."""
    min_ready_seconds: Seconds | None = None
    """How long a machine must have been ready before it counts as available."""
    readiness_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Ready of the machines."""
    rollout: Annotated[ClassRollout, MinProperties(1)] | None = None
    """How machines are replaced."""


class MachinePoolClass(Model):
    """A kind of workers that clusters may have pools of."""

    metadata: NonEmptyMetadata | None = None
    """Labels and annotations of the pools."""
    class_: ClassName
    """What clusters call it by."""
    bootstrap: TemplateReference
    """How machines become nodes."""
    infrastructure: TemplateReference
    """The computers."""
    failure_domains: Annotated[list[FailureDomainName], Meta(max_length=100), ListAtomic()] = field(
        default_factory=list
    )
    """Failure domains that the machines shall be in."""
    naming: Annotated[Naming, MinProperties(1)] | None = None
    """How the pools are named."""
    deletion: Annotated[DeletionTimeouts, MinProperties(1)] | None = None
    """How long the steps of a machine's deletion may take."""
    taints: Taints = field(default_factory=list)
    """Taints for the nodes."""
    min_ready_seconds: Seconds | None = None
    """How long a machine must have been ready before it counts as available."""


class WorkersClass(Model):
    """The kinds of workers that clusters may have."""

    machine_deployments: Annotated[
        list[MachineDeploymentClass], Meta(min_length=1, max_length=100), ListMap("class")
    ] = field(default_factory=list)
    """Kinds of groups."""
    machine_pools: Annotated[list[MachinePoolClass], Meta(min_length=1, max_length=100), ListMap("class")] = field(
        default_factory=list
    )
    """Kinds of pools."""


class PatchValueSource(Model):
    """Where the value of a patch comes from."""

    variable: VariableName | None = None
    """A variable, or a part of one."""
    template: Annotated[str, Meta(min_length=1, max_length=10240)] | None = None
    """A Go template over the variables."""


class JSONPatch(Model):
    """One operation of a JSON patch."""

    op: Literal["add", "replace", "remove"]
    """What is done."""
    path: Annotated[str, Meta(min_length=1, max_length=512)]
    """Where; only below /spec."""
    value: Any | None = None
    """A fixed value."""
    value_from: PatchValueSource | None = None
    """A value that depends on the cluster."""


class ClassNames(Model):
    """Kinds of workers."""

    names: Annotated[list[ClassName], Meta(max_length=100), ListAtomic()] = field(default_factory=list)
    """Their names."""


class PatchedResources(Model):
    """Which uses of a template are patched."""

    control_plane: bool | None = None
    """The control plane, and its machines' infrastructure."""
    infrastructure_cluster: bool | None = None
    """The infrastructure of the cluster."""
    machine_deployment_class: ClassNames | None = None
    """Groups of workers of these kinds."""
    machine_pool_class: ClassNames | None = None
    """Pools of workers of these kinds."""


class PatchSelector(Model):
    """Which templates are patched."""

    api_version: ApiVersion
    """Their API group and version."""
    kind: KindName
    """Their kind."""
    match_resources: Annotated[PatchedResources, MinProperties(1)]
    """Which uses of them."""


class PatchDefinition(Model):
    """A change to some templates."""

    selector: PatchSelector
    """Which templates are patched."""
    json_patches: Annotated[list[JSONPatch], Meta(min_length=1, max_length=100), ListAtomic()]
    """What is changed, in order."""


class ExternalPatch(Model):
    """A patch that somebody else makes."""

    generate_patches_extension: Extension | None = None
    """Who makes the patches."""
    validate_topology_extension: Extension | None = None
    """Who checks the outcome."""
    discover_variables_extension: Extension | None = None
    """Who declares the variables."""
    settings: dict[str, str] = field(default_factory=dict)
    """What they are told."""


class ClassPatch(Model):
    """How templates differ from cluster to cluster."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    """Its name."""
    description: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    """What it is for."""
    enabled_if: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """A Go template over the variables; the patch is used where it gives true."""
    definitions: Annotated[list[PatchDefinition], Meta(max_length=100), ListAtomic()] = field(default_factory=list)
    """The changes."""
    external: ExternalPatch | None = None
    """Somebody else who makes them."""


class ExternalUpgrade(Model):
    """An upgrade plan that somebody else makes."""

    generate_upgrade_plan_extension: Extension | None = None
    """Who makes it."""


class ClassUpgrade(Model):
    """How clusters are upgraded."""

    external: Annotated[ExternalUpgrade, MinProperties(1)] | None = None
    """Somebody else who plans it."""


class ClusterClassSpec(Model):
    """What clusters of the class are made from."""

    availability_gates: Gates = field(default_factory=list)
    """Conditions of one's own that count towards Available of the clusters."""
    infrastructure: InfrastructureClass
    """The infrastructure."""
    control_plane: ControlPlaneClass
    """The control plane."""
    workers: Annotated[WorkersClass, MinProperties(1)] | None = None
    """The kinds of workers."""
    variables: Annotated[list[ClassVariable], Meta(min_length=1, max_length=1000), ListAtomic()] = field(
        default_factory=list
    )
    """What clusters may, or must, set."""
    patches: Annotated[list[ClassPatch], Meta(min_length=1, max_length=1000), ListAtomic()] = field(
        default_factory=list
    )
    """How templates differ from cluster to cluster, in order."""
    upgrade: Annotated[ClassUpgrade, MinProperties(1)] | None = None
    """How clusters are upgraded."""
    kubernetes_versions: Annotated[list[KubernetesVersion], Meta(min_length=1, max_length=100), ListAtomic()] = field(
        default_factory=list
    )
    """Versions that clusters can have, oldest first; an upgrade goes through those between."""


class ClusterClassStatus(Model):
    """What was last seen of a class."""

    conditions: Conditions = field(default_factory=list)
    """VariablesReady, RefVersionsUpToDate, Paused."""
    variables: Annotated[list[ObservedVariable], Meta(max_length=1000), ListAtomic()] = field(default_factory=list)
    """The variables with all of their declarations."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""
    deprecated: DeprecatedConditions | None = None
    """What remains of older versions of the API."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["cc"],
    categories=CATEGORIES,
    labels=LABELS,
    columns=[
        condition_column("Paused", "Paused", priority=10),
        condition_column("Variables Ready", "VariablesReady"),
        Column.age(),
    ],
)
class ClusterClass(Resource):
    """What many clusters have in common."""

    spec: ClusterClassSpec
    """What clusters of the class are made from."""
    status: Annotated[ClusterClassStatus, MinProperties(1)] = field(default_factory=ClusterClassStatus)
    """What was last seen."""
