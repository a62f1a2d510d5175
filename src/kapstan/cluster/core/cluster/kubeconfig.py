"""The kubeconfig of a cluster whose control plane is made of machines: no provider makes one, so core does."""

from __future__ import annotations

from kapstan.cluster.core.cluster.scope import Scope
from kapstan.cluster.pki.kubeconfig import Administrator, ensure_kubeconfig
from kapstan.cluster.pki.secrets import BadSecret, Purpose, find_secret, secret_name, value_of
from kapstan.cluster.remote.clustercache import SECRETS
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery.pki import CertificateAuthority, InvalidPEM, load_ca
from kapstan.runtime.reconcile import Outcome

__all__ = ("reconcile_kubeconfig",)


async def reconcile_kubeconfig(scope: Scope) -> Outcome:
    cluster, endpoint = scope.cluster, scope.endpoint
    if endpoint is None or cluster.spec.control_plane_ref is not None:
        return None
    known = await scope.client.find(SECRETS, secret_name(cluster.name, Purpose.KUBECONFIG), cluster.namespace)
    if known is not None:
        return None
    authority = await find_secret(scope.client.live, cluster.key, Purpose.CA)
    if authority is None:
        return None  # its Secret wakes us
    host = f"[{endpoint.host}]" if ":" in (endpoint.host or "") else endpoint.host
    administrator = Administrator(
        cluster=cluster.name, server=f"https://{host}:{endpoint.port}", ca=_authority(authority)
    )
    await ensure_kubeconfig(scope.client.live, cluster.key, administrator, cluster)
    return None


def _authority(secret: Secret) -> CertificateAuthority:
    try:
        return load_ca(value_of(secret, "tls.crt"), value_of(secret, "tls.key"))
    except InvalidPEM as error:
        raise BadSecret(f"Secret {secret.key}: {error}") from error
