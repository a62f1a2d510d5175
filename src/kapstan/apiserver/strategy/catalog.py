"""The catalogue of built-in kinds: which strategy serves which resource, and what answers below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from kapstan.apiserver.authn import tokenrequest
from kapstan.apiserver.authz import reviews
from kapstan.apiserver.builtin import facts
from kapstan.apiserver.crd.definition import CRDS
from kapstan.apiserver.crd.definitions import DefinitionStrategy
from kapstan.apiserver.kinds import Handler
from kapstan.apiserver.registry.scale import ScaleEndpoint
from kapstan.apiserver.strategy.base import StatusStrategy, Strategy
from kapstan.machinery.gvk import GroupResource, GroupVersionResource

__all__ = ("Endpoint", "Endpoints", "endpoints")

Endpoint = Strategy | ScaleEndpoint | Handler


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """What serves a resource: its strategy, or a handler where nothing is stored; and the same for what is below it."""

    strategy: Strategy
    handler: Handler | None = None
    subresources: Mapping[str, Endpoint] = {}


STRATEGIES: Mapping[GroupResource, Callable[[], Strategy]] = {CRDS: DefinitionStrategy}

_REPLICAS = ScaleEndpoint(".spec.replicas", ".status.replicas", ".spec.selector")
SUBRESOURCES: Mapping[tuple[GroupResource, str], Endpoint] = {
    (GroupResource("", "serviceaccounts"), "token"): tokenrequest.create,
    (GroupResource("apps", "deployments"), "scale"): _REPLICAS,
    (GroupResource("apps", "replicasets"), "scale"): _REPLICAS,
    (GroupResource("apps", "statefulsets"), "scale"): _REPLICAS,
}


def endpoints(gvr: GroupVersionResource, resource: facts.Resource) -> Endpoints:
    """What serves a built-in resource."""
    name = gvr.group_resource
    strategy = STRATEGIES.get(name, Strategy)()
    strategy.returns_deleted = resource.returns_deleted
    subresources: dict[str, Endpoint] = {}
    for subresource in resource.subresources:
        if subresource.name == "status":
            strategy.has_status = True
            subresources["status"] = StatusStrategy(strategy)
        elif (name, subresource.name) in SUBRESOURCES:
            subresources[subresource.name] = SUBRESOURCES[name, subresource.name]
    return Endpoints(strategy=strategy, handler=reviews.HANDLERS.get(name), subresources=subresources)
