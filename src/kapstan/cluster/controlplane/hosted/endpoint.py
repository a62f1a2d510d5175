"""Endpoint: where the API server is reached: chosen, and told to others once it is certain.

It is written into the spec, from where the Cluster copies it; nobody waits for the Cluster to have one. Until the API
server listens there, another program may take the port: so it is told when the API server answers, and stays for good.
The name of the data is written with it, so that it is kept when the objects are moved to another management plane.
"""

from __future__ import annotations

from kapstan.cluster.api.controlplane.hosted import Datastore
from kapstan.cluster.api.core.cluster import APIEndpoint
from kapstan.cluster.controlplane.hosted.scope import Scope

__all__ = ("ensure_endpoint", "publish_endpoint")


async def ensure_endpoint(scope: Scope) -> None:
    settings = scope.settings
    scope.endpoint = await scope.runtime.ensure_endpoint(scope.instance, settings.exposure, settings.published)
    scope.layout = scope.runtime.layout(scope.instance)


async def publish_endpoint(scope: Scope) -> None:
    """Only where nothing is written yet: what is, is not ours to change."""
    settings, endpoint = scope.settings, scope.endpoint
    assert endpoint is not None, "an endpoint is chosen before it is published"
    if settings.published == endpoint or not scope.observation.answering:
        return
    spec = scope.control_plane.spec
    spec.control_plane_endpoint = APIEndpoint(host=endpoint.host, port=endpoint.port)
    spec.datastore = (spec.datastore or Datastore(type=settings.datastore)).replace(prefix=settings.id)
    await scope.draft.save()
