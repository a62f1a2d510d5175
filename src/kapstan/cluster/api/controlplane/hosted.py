"""HostedControlPlane: a control plane that runs beside the management plane, not on machines of the cluster."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.controlplane.group import GROUP
from kapstan.cluster.api.core.cluster import APIEndpoint
from kapstan.cluster.api.core.common import Conditions, ObservedGeneration
from kapstan.cluster.api.core.group import CATEGORIES, LABELS, VERSION, condition_column
from kapstan.cluster.api.core.replicas import VersionCounts
from kapstan.machinery.markers import Default, Immutable, ListAtomic, ListMap, MinProperties
from kapstan.machinery.meta import Int32, Time
from kapstan.machinery.model import Column, Model, Resource, Scale
from kapstan.machinery.rules import cel
from kapstan.machinery.scheme import resource

__all__ = (
    "APIServerSettings",
    "Addons",
    "Argument",
    "CertificateExpiry",
    "Certificates",
    "ComponentSettings",
    "ComponentStatus",
    "Datastore",
    "DatastoreStatus",
    "DatastoreType",
    "EnvironmentVariable",
    "Exposure",
    "HostedControlPlane",
    "HostedControlPlaneSettings",
    "HostedControlPlaneSpec",
    "HostedControlPlaneStatus",
    "KeyAlgorithmName",
    "Rollout",
    "RolloutStrategy",
    "RolloutStrategyType",
    "Runtime",
    "RuntimeType",
)

RuntimeType: TypeAlias = Literal["Process", "Simulated"]
DatastoreType: TypeAlias = Literal["DedicatedEtcd", "SharedEtcd"]
RolloutStrategyType: TypeAlias = Literal["BlueGreen", "Recreate"]
KeyAlgorithmName: TypeAlias = Literal["ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"]

_SEMANTIC_VERSION = r"^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]+)?$"
ReleaseVersion: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256, pattern=_SEMANTIC_VERSION)]
HostName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=253)]
Address: TypeAlias = Annotated[str, Meta(min_length=1, max_length=39, pattern=r"^[0-9a-fA-F:.]+$")]
Image: TypeAlias = Annotated[str, Meta(min_length=1, max_length=512)]
Port: TypeAlias = Annotated[Int32, Meta(ge=1, le=65535)]


class Runtime(Model):
    """How the components are run."""

    type: Annotated[RuntimeType, Immutable()]
    """As processes of the management plane (Process), or as a logical cluster of the embedded API server, without any
    Kubernetes program (Simulated)."""


class DatastoreSettings(Model):
    """Where the cluster's objects are kept."""

    type: Annotated[DatastoreType, Immutable()]
    """An etcd of its own (DedicatedEtcd), or a part of one that several control planes share (SharedEtcd)."""


@cel(
    "!has(oldSelf.prefix) || (has(self.prefix) && self.prefix == oldSelf.prefix)",
    message="prefix cannot be changed: it names the data",
    field_path=".prefix",
)
class Datastore(DatastoreSettings):
    """Where the cluster's objects are kept."""

    prefix: Annotated[str, Meta(min_length=1, max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] | None = None
    """The name of the data, unlike that of any other control plane. Filled in with the object's uid if absent, and
    kept when the object is moved to another management plane."""


@cel(
    "has(self.host) == has(oldSelf.host) && (!has(self.host) || self.host == oldSelf.host)",
    message="host cannot be changed: nodes know the control plane by it",
    field_path=".host",
)
@cel(
    "has(self.port) == has(oldSelf.port) && (!has(self.port) || self.port == oldSelf.port)",
    message="port cannot be changed: nodes know the control plane by it",
    field_path=".port",
)
class Exposure(Model):
    """How the API server is reached."""

    type: Annotated[Literal["HostPort"], Immutable()]
    """A port of the machine that it runs on (HostPort)."""
    host: HostName | None = None
    """The name or address under which clients and nodes reach it. The bind address if absent."""
    port: Port | None = None
    """The port. A free one is chosen if absent."""
    bind_address: Address | None = None
    """The address that it listens on. The one that the runtime is configured with if absent."""
    advertise_address: Address | None = None
    """The address that is given to pods as that of the Service `kubernetes`. The bind address if absent."""


class Argument(Model):
    """A flag of a component."""

    name: Annotated[str, Meta(min_length=1, max_length=256, pattern="^[a-zA-Z0-9][a-zA-Z0-9.-]*$")]
    """The flag's name, without leading dashes."""
    value: Annotated[str, Meta(max_length=1024)]
    """The flag's value. Everybody on the machine can read it: no secrets."""


class EnvironmentVariable(Model):
    """A variable in the environment of a component."""

    name: Annotated[str, Meta(min_length=1, max_length=256, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
    """The variable's name."""
    value: Annotated[str, Meta(max_length=1024)]
    """The variable's value."""


class ComponentSettings(Model):
    """How a component differs from what is usual."""

    extra_args: Annotated[list[Argument], Meta(max_length=100), ListMap("name", "value")] = field(default_factory=list)
    """Flags to add. One that is already set is replaced; one that may be given several times may be listed so."""
    env: Annotated[list[EnvironmentVariable], Meta(max_length=100), ListMap("name")] = field(default_factory=list)
    """Environment variables, such as GOMEMLIMIT."""


class APIServerSettings(ComponentSettings):
    """How the API server differs from what is usual."""

    cert_sans: Annotated[list[HostName], Meta(max_length=100), ListAtomic()] = field(
        default_factory=list, name="certSANs"
    )
    """Further names and addresses that its certificate is good for."""


class Addon(Model):
    """Something that is deployed into the cluster."""

    image: Image | None = None
    """The image, with its tag. The usual one if absent."""


class Addons(Model):
    """What is deployed into the cluster; what is absent is not."""

    core_dns: Addon | None = field(default=None, name="coreDNS")
    """Names of services."""
    kube_proxy: Addon | None = None
    """Addresses of services, on every node."""


@cel(
    "!has(self.validityDays) || !has(self.renewBeforeDays) || self.renewBeforeDays < self.validityDays",
    message="renewBeforeDays must be less than validityDays",
    field_path=".renewBeforeDays",
)
class Certificates(Model):
    """The control plane's certificates. Authorities are valid for ten years."""

    key_algorithm: Annotated[KeyAlgorithmName, Default("ECDSA-P256")] | None = None
    """How new keys are made. Keys that are there stay until they are renewed."""
    validity_days: Annotated[Int32, Meta(ge=1, le=1095), Default(365)] | None = None
    """How long a new certificate is valid."""
    renew_before_days: Annotated[Int32, Meta(ge=0, le=1094), Default(60)] | None = None
    """How long before its end a certificate is renewed."""


class RolloutStrategy(Model):
    """How a changed component takes the place of the running one."""

    type: RolloutStrategyType
    """The new API server is started beside the old one, which ends when the new one is ready (BlueGreen), or it is
    started when the old one has ended (Recreate), which needs less memory and interrupts."""


class Rollout(Model):
    """When and how components are replaced."""

    after: Time | None = None
    """Components that were started before this time are started anew once it has come."""
    strategy: RolloutStrategy | None = None
    """How a changed component takes the place of the running one. BlueGreen if absent."""


class HostedControlPlaneSettings(Model):
    """What is wanted of a control plane, apart from its version, its size and its place."""

    runtime: Annotated[Runtime, Default({"type": "Process"})] | None = None
    """How the components are run."""
    exposure: Annotated[Exposure, Default({"type": "HostPort"})] | None = None
    """How the API server is reached."""
    api_server: APIServerSettings | None = None
    """kube-apiserver."""
    controller_manager: ComponentSettings | None = None
    """kube-controller-manager."""
    scheduler: ComponentSettings | None = None
    """kube-scheduler."""
    etcd: ComponentSettings | None = None
    """etcd, where the control plane has one of its own."""
    addons: Annotated[Addons, Default({"coreDNS": {}, "kubeProxy": {}})] | None = None
    """What is deployed into the cluster."""
    certificates: Annotated[Certificates, Default({})] | None = None
    """The control plane's certificates."""
    rollout: Annotated[Rollout, MinProperties(1)] | None = None
    """When and how components are replaced."""


@cel(
    "!has(oldSelf.controlPlaneEndpoint) || "
    "(has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint)",
    message="controlPlaneEndpoint cannot be changed: nodes know the control plane by it",
    field_path=".controlPlaneEndpoint",
)
@cel(
    "!has(self.runtime) || self.runtime.type != 'Process' || !has(self.replicas) || self.replicas <= 1",
    message="with runtime.type Process there is one replica, or none",
    field_path=".replicas",
)
@cel(
    "!has(self.etcd) || !has(self.datastore) || self.datastore.type == 'DedicatedEtcd'",
    message="settings of etcd need datastore.type DedicatedEtcd",
    field_path=".etcd",
)
class HostedControlPlaneSpec(HostedControlPlaneSettings):
    """What is wanted of a control plane."""

    version: ReleaseVersion
    """The version of Kubernetes, such as v1.36.3. It can be raised by one minor version at a time."""
    replicas: Annotated[Int32, Meta(ge=0), Default(1)] | None = None
    """How many of each component run. With 0 the control plane hibernates: nothing runs, all data are kept."""
    control_plane_endpoint: Annotated[APIEndpoint, MinProperties(1)] | None = None
    """Where the API server is reached. Filled in by the controller."""
    datastore: Annotated[Datastore, Default({"type": "DedicatedEtcd"})] | None = None
    """Where the cluster's objects are kept."""


class HostedControlPlaneInitialization(Model):
    """Steps that are taken once, when the control plane is made."""

    control_plane_initialized: bool | None = None
    """The API server is ready, and nodes can join."""


class DatastoreStatus(Model):
    """Where the cluster's objects are."""

    type: DatastoreType
    """Whether the etcd is its own or shared."""
    prefix: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """What the keys in etcd begin with."""


class CertificateExpiry(Model):
    """When a certificate ends."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    """Its name, as kubeadm calls its file."""
    not_after: Time
    """When it ends."""


class ComponentStatus(Model):
    """What was last seen of a component."""

    name: Annotated[str, Meta(min_length=1, max_length=63)]
    """The component's name."""
    version: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """The version of Kubernetes that it runs."""
    ready: bool
    """Whether it is ready."""
    restarts: Int32 | None = None
    """How often it had to be started again since the manager started."""


class HostedControlPlaneStatus(Model):
    """What was last seen of a control plane."""

    conditions: Conditions = field(default_factory=list)
    """Available, CertificatesAvailable, DatastoreReady, EndpointReady, APIServerHealthy, ControllerManagerHealthy,
    SchedulerHealthy, KubeconfigAvailable, BootstrapConfigured, AddonsReady, RollingOut, ScalingUp, ScalingDown,
    Hibernated, Deleting, Paused."""
    initialization: Annotated[HostedControlPlaneInitialization, MinProperties(1)] | None = None
    """Steps that are taken once. Use conditions to follow the control plane after that."""
    external_managed_control_plane: bool | None = None
    """Always true: no machine of the cluster is part of the control plane."""
    selector: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    """The selector as text, for the scale subresource."""
    replicas: Int32 | None = None
    """How many there are."""
    ready_replicas: Int32 | None = None
    """How many are ready."""
    available_replicas: Int32 | None = None
    """How many are available."""
    up_to_date_replicas: Int32 | None = None
    """How many are as wanted."""
    version: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """The lowest version of Kubernetes that runs. Deprecated: read `versions`."""
    versions: VersionCounts = field(default_factory=list)
    """The versions of Kubernetes that run, the lowest first."""
    datastore: DatastoreStatus | None = None
    """Where the cluster's objects are."""
    components: Annotated[list[ComponentStatus], Meta(max_length=32), ListMap("name")] = field(default_factory=list)
    """The components."""
    certificates: Annotated[list[CertificateExpiry], Meta(max_length=32), ListMap("name")] = field(default_factory=list)
    """When certificates end."""
    observed_generation: ObservedGeneration | None = None
    """The generation that was last reconciled."""


@resource(
    group=GROUP,
    version=VERSION,
    short_names=["hcp"],
    categories=CATEGORIES,
    labels=LABELS,
    scale=Scale(selector=".status.selector"),
    columns=[
        Column("Cluster", r".metadata.labels['cluster\.x-k8s\.io/cluster-name']"),
        condition_column("Available", "Available"),
        Column("Runtime", ".spec.runtime.type"),
        Column("Desired", ".spec.replicas", "integer"),
        Column("Ready", ".status.readyReplicas", "integer"),
        Column("Up-to-date", ".status.upToDateReplicas", "integer"),
        condition_column("Paused", "Paused", priority=10),
        Column("Initialized", ".status.initialization.controlPlaneInitialized", "boolean"),
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", priority=10),
        Column.age(),
        Column("Version", ".spec.version"),
    ],
)
class HostedControlPlane(Resource):
    """A Kubernetes control plane that runs beside the management plane, not on machines of the cluster."""

    spec: HostedControlPlaneSpec
    """What is wanted."""
    status: Annotated[HostedControlPlaneStatus, MinProperties(1)] = field(default_factory=HostedControlPlaneStatus)
    """What was last seen."""
