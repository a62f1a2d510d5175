"""Kubeconfig: the Secret with which everybody else reaches the cluster."""

from __future__ import annotations

from kapstan.cluster.controlplane.hosted.scope import Scope
from kapstan.cluster.pki.kubeconfig import Administrator
from kapstan.cluster.pki.kubeconfig import ensure_kubeconfig as ensure_secret

__all__ = ("ensure_kubeconfig",)


async def ensure_kubeconfig(scope: Scope) -> None:
    """Made when there is something to reach, renewed ever after, also while it hibernates."""
    settings, endpoint, authorities = scope.settings, scope.endpoint, scope.authorities
    assert endpoint is not None and authorities is not None, "it names the endpoint and its authority"  # noqa: PT018
    if settings.published is None and not scope.observation.answering:
        return
    administrator = Administrator(
        cluster=settings.cluster,
        server=endpoint.url,
        ca=authorities.cluster,
        validity=settings.issuance.validity,
        algorithm=settings.issuance.algorithm,
    )
    await ensure_secret(scope.client, scope.cluster_key, administrator, scope.control_plane, now=scope.now)
    scope.kubeconfig = True
