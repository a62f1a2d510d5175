"""Bootstrap: put into the new cluster what nodes need to join, and what is deployed there.

Done as soon as the API server accepts writes, which is well before it is ready. What was put there is not sent again
until it changes, or some time has passed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from kapstan.client import Client
from kapstan.cluster.controlplane.hosted.certificates import ADMINISTRATOR
from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.cluster.controlplane.hosted.status import ConditionType
from kapstan.cluster.controlplane.hosted.tenant.objects import (
    addon_objects,
    apply_objects,
    bootstrap_objects,
    delete_objects,
    unwanted_addon_objects,
)
from kapstan.machinery.conditions import is_true

__all__ = ("addons_are_early", "ensure_addons", "ensure_bootstrap")

Documents = list[dict[str, Any]]


async def ensure_bootstrap(scope: Scope) -> None:
    """What nodes need to join."""
    endpoint, authorities = scope.endpoint, scope.authorities
    assert endpoint is not None and authorities is not None, "nodes are told both"  # noqa: PT018
    if scope.settings.hibernated or not scope.observation.answering:
        return
    ca = authorities.cluster.cert_pem
    await _ensure(scope, "bootstrap", ca, lambda: (bootstrap_objects(scope.settings, endpoint, ca), []))
    scope.bootstrapped = True


async def ensure_addons(scope: Scope) -> None:
    """What is deployed: nobody needs it to use the cluster, so it waits until others were told that they can."""
    settings, endpoint = scope.settings, scope.endpoint
    assert endpoint is not None, "the proxy of a node is told where the API server is"
    if not scope.observation.ready or addons_are_early(scope):
        return
    await _ensure(
        scope,
        "addons",
        b"",
        lambda: (addon_objects(settings, endpoint), unwanted_addon_objects(settings, endpoint)),
    )
    scope.addons = True


def addons_are_early(scope: Scope) -> bool:
    """Whether their time is yet to come. Asked before and after the status is written, it is a matter of a moment."""
    return scope.settings.hibernated or not is_true(scope.control_plane.status.conditions, ConditionType.AVAILABLE)


async def _ensure(scope: Scope, what: str, ca: bytes, objects: Callable[[], tuple[Documents, Documents]]) -> None:
    """Have the first and not the second; they are made only if something has changed that they are made from."""
    digest = _digest(scope, ca)
    if scope.tenants.is_applied(scope.instance, what, digest):
        return
    wanted, unwanted = objects()
    client = await _connect(scope)
    await apply_objects(client, wanted)
    await delete_objects(client, unwanted)
    scope.tenants.was_applied(scope.instance, what, digest)


async def _connect(scope: Scope) -> Client:
    authorities, leaves = scope.authorities, scope.leaves
    assert authorities and leaves, "components have their certificates before they answer"  # noqa: PT018
    certificates = authorities.cluster.cert_pem + leaves.pairs[ADMINISTRATOR].cert_pem
    return await scope.tenants.client(scope.instance, scope.runtime.connection(scope.instance), certificates)


def _digest(scope: Scope, ca: bytes) -> str:
    settings = scope.settings
    made_from = (settings.cluster, settings.version, settings.network, settings.addons, settings.issuance)
    return hashlib.sha256(repr((made_from, scope.endpoint, ca)).encode()).hexdigest()
