"""The catalogue of built-in kinds: which strategy serves which resource, and what answers below it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kapstan.apiserver.builtin import facts
from kapstan.apiserver.kinds import Handler
from kapstan.apiserver.strategy.base import StatusStrategy, Strategy
from kapstan.machinery.gvk import GroupVersionResource

__all__ = ("Endpoints", "endpoints")


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """What serves a resource: its strategy, or a handler where nothing is stored; and the same for what is below it."""

    strategy: Strategy
    handler: Handler | None = None
    subresources: Mapping[str, Strategy | Handler] = {}


def endpoints(gvr: GroupVersionResource, resource: facts.Resource) -> Endpoints:
    """What serves a built-in resource."""
    strategy = Strategy()
    strategy.returns_deleted = resource.returns_deleted
    subresources: dict[str, Strategy | Handler] = {}
    if resource.subresource("status") is not None:
        strategy.has_status = True
        subresources["status"] = StatusStrategy(strategy)
    return Endpoints(strategy=strategy, subresources=subresources)
