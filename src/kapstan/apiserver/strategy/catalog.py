"""The catalogue of built-in kinds: which strategy serves which resource, and what answers below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from kapstan.apiserver.authn import tokenrequest
from kapstan.apiserver.authz import reviews
from kapstan.apiserver.authz.certificates import strategy as certificates
from kapstan.apiserver.builtin import facts
from kapstan.apiserver.crd.definition import CRDS
from kapstan.apiserver.crd.definitions import DefinitionStrategy
from kapstan.apiserver.kinds import Handler
from kapstan.apiserver.registry.scale import ScaleEndpoint
from kapstan.apiserver.strategy.base import Object, StatusStrategy, Strategy
from kapstan.apiserver.strategy.builtin import BuiltinStatusStrategy, BuiltinStrategy
from kapstan.apiserver.strategy.kinds import core, pods, workloads
from kapstan.apiserver.strategy.services.strategy import ServiceStrategy
from kapstan.apiserver.strategy.subresources import binding, containers, eviction
from kapstan.apiserver.strategy.tables import TABLES
from kapstan.machinery.gvk import GroupResource, GroupVersionResource

__all__ = ("Endpoint", "Endpoints", "endpoints")

Endpoint = Strategy | ScaleEndpoint | Handler


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """What serves a resource: its strategy, or a handler where nothing is stored; and the same for what is below it."""

    strategy: Strategy
    handler: Handler | None = None
    subresources: Mapping[str, Endpoint] = {}
    deprecation: str = ""  # what every client of it is told


class _SigningRequestStrategy(certificates.RequestStrategy):
    columns = TABLES["certificatesigningrequests"].columns

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        return TABLES["certificatesigningrequests"].cells(obj, now)


_PODS = GroupResource("", "pods")
_NAMESPACES = GroupResource("", "namespaces")
_VOLUMES = GroupResource("", "persistentvolumes")
_SIGNING_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_REPLICAS = ScaleEndpoint(".spec.replicas", ".status.replicas", ".spec.selector")

# Strategies from elsewhere, which know all about themselves.
_WHOLE: Mapping[GroupResource, Callable[[], Strategy]] = {
    CRDS: DefinitionStrategy,
    _SIGNING_REQUESTS: _SigningRequestStrategy,
}
_STRATEGIES: Mapping[GroupResource, type[BuiltinStrategy]] = {
    GroupResource("", "persistentvolumeclaims"): core.ClaimStrategy,
    GroupResource("", "limitranges"): core.LimitRangeStrategy,
    GroupResource("", "serviceaccounts"): core.ServiceAccountStrategy,
    GroupResource("", "services"): ServiceStrategy,
    GroupResource("apps", "daemonsets"): workloads.DaemonSetStrategy,
    GroupResource("batch", "jobs"): workloads.JobStrategy,
    _NAMESPACES: core.NamespaceStrategy,
    _PODS: pods.PodStrategy,
    _VOLUMES: core.VolumeStrategy,
}
# Below a built-in strategy: what writes a part of the same object.
_PARTS: Mapping[tuple[GroupResource, str], type[BuiltinStatusStrategy]] = {
    (_NAMESPACES, "finalize"): core.NamespaceFinalizeStrategy,
    (_PODS, "ephemeralcontainers"): pods.EphemeralContainersStrategy,
    (_PODS, "resize"): pods.ResizeStrategy,
    (_PODS, "status"): pods.PodStatusStrategy,
    (_VOLUMES, "status"): core.VolumeStatusStrategy,
}
# What answers by itself.
_OTHERS: Mapping[tuple[GroupResource, str], Endpoint] = {
    (GroupResource("", "nodes"), "proxy"): containers.no_backend,
    (GroupResource("", "replicationcontrollers"), "scale"): _REPLICAS,
    (GroupResource("", "serviceaccounts"), "token"): tokenrequest.create,
    (GroupResource("", "services"), "proxy"): containers.no_backend,
    (GroupResource("apps", "deployments"), "scale"): _REPLICAS,
    (GroupResource("apps", "replicasets"), "scale"): _REPLICAS,
    (GroupResource("apps", "statefulsets"), "scale"): _REPLICAS,
    (_PODS, "attach"): containers.not_run_here("attach to"),
    (_PODS, "binding"): binding.bind,
    (_PODS, "eviction"): eviction.evict,
    (_PODS, "exec"): containers.not_run_here("execute commands in"),
    (_PODS, "log"): containers.not_run_here("show the log of"),
    (_PODS, "portforward"): containers.not_run_here("forward ports of"),
    (_PODS, "proxy"): containers.not_run_here("pass requests on to"),
    (_SIGNING_REQUESTS, "approval"): certificates.ApprovalStrategy(),
    (_SIGNING_REQUESTS, "status"): certificates.StatusStrategy(),
}
# Kinds of which nothing is stored.
_HANDLERS: Mapping[GroupResource, Handler] = {
    GroupResource("", "bindings"): binding.bind_by_name,
    **reviews.HANDLERS,
}


_DEPRECATIONS: Mapping[GroupResource, str] = {
    GroupResource("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    GroupResource("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def endpoints(gvr: GroupVersionResource, resource: facts.Resource) -> Endpoints:
    """What serves a built-in resource."""
    strategy = _strategy(gvr, resource)
    strategy.returns_deleted = resource.returns_deleted
    subresources = {
        subresource.name: found
        for subresource in resource.subresources
        if (found := _subresource(gvr.group_resource, subresource.name, strategy)) is not None
    }
    return Endpoints(
        strategy=strategy,
        handler=_HANDLERS.get(gvr.group_resource),
        subresources=subresources,
        deprecation=_DEPRECATIONS.get(gvr.group_resource, ""),
    )


def _strategy(gvr: GroupVersionResource, resource: facts.Resource) -> Strategy:
    if gvr.group_resource in _WHOLE:
        return _WHOLE[gvr.group_resource]()
    make = _STRATEGIES.get(gvr.group_resource, BuiltinStrategy)
    has_status = resource.subresource("status") is not None
    return make(gvr, gvr.group_version.kind(resource.kind), has_status=has_status)


def _subresource(name: GroupResource, subresource: str, strategy: Strategy) -> Endpoint | None:
    if (name, subresource) in _OTHERS:
        return _OTHERS[name, subresource]
    if isinstance(strategy, BuiltinStrategy):
        if (name, subresource) in _PARTS:
            return _PARTS[name, subresource](strategy)
        return BuiltinStatusStrategy(strategy) if subresource == "status" else None
    return StatusStrategy(strategy) if subresource == "status" else None
