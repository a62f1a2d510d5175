"""Deletion: leave nothing of a control plane: no process, no file, no key, no Secret."""

from __future__ import annotations

from kapstan.client import Client
from kapstan.cluster.api.controlplane.hosted import HostedControlPlane
from kapstan.cluster.controlplane.hosted.runtime.interface import Instance, Runtime
from kapstan.cluster.controlplane.hosted.tenants import Tenants
from kapstan.cluster.pki.secrets import Purpose, find_secret
from kapstan.machinery.gvk import ObjectKey

__all__ = ("delete_control_plane",)


async def delete_control_plane(
    client: Client,
    control_plane: HostedControlPlane,
    cluster: ObjectKey | None,
    runtime: Runtime | None,
    tenants: Tenants,
    instance: Instance,
) -> None:
    """Each step can be repeated; whoever dies in between is followed by somebody who begins anew."""
    await tenants.forget(instance)
    if runtime is not None:
        await runtime.delete(instance)
    if cluster is not None:
        await _delete_secrets(client, control_plane, cluster)


async def _delete_secrets(client: Client, control_plane: HostedControlPlane, cluster: ObjectKey) -> None:
    """Those that we made. The garbage collector would do it, where there is one."""
    for purpose in Purpose:
        secret = await find_secret(client, cluster, purpose)
        if secret is not None and secret.is_controlled_by(control_plane):
            await client.delete(secret, uid=secret.uid)
