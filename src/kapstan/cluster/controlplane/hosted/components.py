"""Components: the command line of each program of a control plane. Pure: every runtime that runs programs uses them.

The flags are kubeadm's for Kubernetes 1.34 to 1.36, which has them all; what differs is said in
`kapstan.components`, with the reason. What a user adds goes on top.
"""

from __future__ import annotations

import hashlib

from kapstan.cluster.api.controlplane.hosted import ComponentSettings
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, ComponentSpec, Datastore, Layout
from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.pki.authorities import ClusterAuthorities
from kapstan.components.apiserver import APIServer, apiserver_arguments
from kapstan.components.controllermanager import ControllerManager, controller_manager_arguments
from kapstan.components.etcd import Etcd, etcd_arguments
from kapstan.components.scheduler import Scheduler, scheduler_arguments

__all__ = ("desired_components",)

# Saves an API server 30 MiB of its own 210; the others have too little to save any (docs/decisions/0006).
_ENVIRONMENT = {ComponentName.API_SERVER: {"GOGC": "60"}}


def desired_components(
    settings: Settings, layout: Layout, datastore: Datastore, authorities: ClusterAuthorities
) -> tuple[ComponentSpec, ...]:
    """What to run, in the order in which components need one another."""
    common = {"KAPSTAN_AUTHORITIES": _fingerprint(authorities, datastore)}
    if settings.restart_after:
        common["KAPSTAN_RESTART_AFTER"] = settings.restart_after.isoformat()
    commands: dict[ComponentName, tuple[tuple[str, ...], ComponentSettings]] = {
        ComponentName.API_SERVER: (_api_server(settings, layout, datastore), settings.api_server),
        ComponentName.CONTROLLER_MANAGER: (_controller_manager(settings, layout), settings.controller_manager),
        ComponentName.SCHEDULER: (_scheduler(settings, layout), settings.scheduler),
    }
    if settings.datastore == "DedicatedEtcd":
        commands = {ComponentName.ETCD: (_etcd(settings, layout), settings.etcd), **commands}
    return tuple(
        ComponentSpec(
            name=name,
            version=settings.version,
            arguments=arguments,
            environment={
                **_ENVIRONMENT.get(name, {}),
                **common,
                **{variable.name: variable.value for variable in component.env},
            },
        )
        for name, (arguments, component) in commands.items()
    )


def _fingerprint(authorities: ClusterAuthorities, datastore: Datastore) -> str:
    """Components read certificates again when they are renewed, but whom they trust only when they start.

    As a part of their environment it makes another command of the same one: they are replaced, one after the other.
    """
    etcd = datastore.authority or authorities.etcd
    public = [authorities.cluster.cert_pem, authorities.front_proxy.cert_pem, authorities.service_account.public_pem]
    return hashlib.sha256(b"".join([*public, etcd.cert_pem if etcd else b""])).hexdigest()[:16]


def _etcd(settings: Settings, layout: Layout) -> tuple[str, ...]:
    return etcd_arguments(
        Etcd(
            client_port=layout.ports.etcd_client,
            peer_port=layout.ports.etcd_peer,
            certificates=layout.certificates,
            data=layout.data,
            extra_arguments=_extra(settings.etcd),
        )
    )


def _api_server(settings: Settings, layout: Layout, datastore: Datastore) -> tuple[str, ...]:
    server = APIServer(
        bind_address=layout.bind_address,
        port=layout.ports.apiserver,
        advertise_address=layout.advertise_address,
        certificates=layout.certificates,
        etcd_servers=datastore.servers,
        etcd_prefix=datastore.prefix,
        service_cidr=",".join(settings.network.services),
        cluster_domain=settings.network.domain,
        extra_arguments=_extra(settings.api_server),
    )
    return apiserver_arguments(server)


def _controller_manager(settings: Settings, layout: Layout) -> tuple[str, ...]:
    return controller_manager_arguments(
        ControllerManager(
            port=layout.ports.controller_manager,
            certificates=layout.certificates,
            kubeconfig=layout.kubeconfigs / "controller-manager.conf",
            cluster_name=settings.cluster,
            service_cidr=",".join(settings.network.services),
            pod_cidr=",".join(settings.network.pods) or None,
            leader_election=settings.replicas > 1,
            extra_arguments=_extra(settings.controller_manager),
        )
    )


def _scheduler(settings: Settings, layout: Layout) -> tuple[str, ...]:
    return scheduler_arguments(
        Scheduler(
            port=layout.ports.scheduler,
            certificates=layout.certificates,
            kubeconfig=layout.kubeconfigs / "scheduler.conf",
            leader_election=settings.replicas > 1,
            extra_arguments=_extra(settings.scheduler),
        )
    )


def _extra(component: ComponentSettings) -> list[tuple[str, str]]:
    return [(argument.name, argument.value) for argument in component.extra_args]
