"""ServiceAccount: every pod runs as a service account, and finds its token where clients look for it."""

from __future__ import annotations

import asyncio
from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.authz.podrefs import MIRROR, pod_references
from kapstan.apiserver.storage.interface import Event, Storage
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.names import generate_name

__all__ = ("ServiceAccountAdmission",)

_ACCOUNTS = GroupResource("", "serviceaccounts")
_PODS = GroupResource("", "pods")
_VOLUME = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_PATIENCE = 1.5  # seconds that a new namespace's `default` account may take to appear

Object = dict[str, Any]


class ServiceAccountAdmission(Plugin):
    """Gives pods their account and its token."""

    targets = Targets(("CREATE",), (_PODS,))

    def __init__(self, storage: Storage, *, patience: float = _PATIENCE) -> None:
        self._storage = storage
        self._patience = patience

    async def admit(self, attributes: AdmissionAttributes) -> None:
        pod = attributes.object
        assert pod is not None
        if _is_mirror(pod):
            self._check_mirror(attributes, pod)
            return
        spec = pod["spec"]
        name = spec["serviceAccountName"] = spec.get("serviceAccountName") or "default"
        spec["serviceAccount"] = name  # the field's old name; both are always served
        account = await self._account(attributes, name)
        if _wants_token(account, spec):
            _mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": one["name"]} for one in account["imagePullSecrets"]]

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Webhooks may have changed what `admit` had set."""
        pod = attributes.object
        assert pod is not None
        if _is_mirror(pod):
            self._check_mirror(attributes, pod)
            return
        name = pod["spec"].get("serviceAccountName")
        if not name:
            pod_name = pod["metadata"].get("name", "")
            raise refused(attributes, f"no service account specified for pod {attributes.namespace}/{pod_name}")
        await self._account(attributes, name)

    async def _account(self, attributes: AdmissionAttributes, name: str) -> Object:
        key = f"{attributes.namespace}/{name}"
        record = self._storage.get(_ACCOUNTS, key)
        if record is None and name == "default":
            await self._appearance(key)
            record = self._storage.get(_ACCOUNTS, key)
        if record is None:
            missing = f"serviceaccount {quote(name)} not found"
            raise refused(attributes, f"error looking up service account {key}: {missing}")
        account: Object = codec.decode_any(record.value)
        return account

    async def _appearance(self, key: str) -> None:
        """Return when the account is there, or patience is over."""
        appeared = asyncio.Event()

        def note(event: Event) -> None:
            if event.record.key == key:
                appeared.set()

        stop = self._storage.observe(note, _ACCOUNTS)
        try:
            async with asyncio.timeout(self._patience):
                await appeared.wait()
        except TimeoutError:
            pass
        finally:
            stop()

    def _check_mirror(self, attributes: AdmissionAttributes, pod: Object) -> None:
        """A kubelet writes mirror pods; they must give it nothing that its own pods do not."""
        if pod["spec"].get("serviceAccountName"):
            raise refused(attributes, "a mirror pod may not reference service accounts")
        plain = {**pod, "metadata": {"name": attributes.name, "namespace": attributes.namespace}}
        if any(reference.resource == "secrets" for reference in pod_references(plain)):
            raise refused(attributes, "a mirror pod may not reference secrets")
        for volume in pod["spec"].get("volumes") or ():
            if any("serviceAccountToken" in source for source in (volume.get("projected") or {}).get("sources") or ()):
                raise refused(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _is_mirror(pod: Object) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or {})


def _wants_token(account: Object, spec: Object) -> bool:
    for wish in (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if wish is not None:
            return bool(wish)
    return True


def _mount_token(spec: Object) -> None:
    """Mount the token wherever nothing else is mounted in its place."""
    volumes = spec.get("volumes") or []
    existing = next((one["name"] for one in volumes if one["name"].startswith(_VOLUME)), None)
    name = existing or generate_name(_VOLUME)
    mounted = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        mounts = container.get("volumeMounts") or []
        if all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}]
            mounted = True
    if mounted and existing is None:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_sources()}]


def _token_sources() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 420,
    }
