"""What every namespace has: the service account `default`, and the certificate by which pods know the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kapstan.apiserver.controllers.controller import Controller
from kapstan.apiserver.storage.interface import Event
from kapstan.machinery.errors import AlreadyExists, Forbidden, NotFound
from kapstan.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("RootCertificatePublisher", "ServiceAccountController")

Object = dict[str, Any]

_NAMESPACES = GroupResource("", "namespaces")
_ACCOUNTS = GroupResource("", "serviceaccounts")
_CONFIG_MAPS = GroupResource("", "configmaps")
_DEFAULT = "default"
_ROOT_CA = "kube-root-ca.crt"
_DESCRIPTION = "The certificate authority of this cluster's API server, for clients inside of the cluster."


class _PerNamespace(Controller[str]):
    """Keeps one object of a name in every active namespace."""

    collection: GroupResource
    name: str

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self.follow(self._on_namespace, _NAMESPACES)
        self.follow(self._on_object, self.collection)

    def start(self) -> None:
        for record in self._storage.list(_NAMESPACES):
            self._queue.add(record.key)

    def _on_namespace(self, event: Event) -> None:
        if event.type == "ADDED":
            self._queue.add(event.record.key)

    def _on_object(self, event: Event) -> None:
        if event.record.name == self.name and event.type != "ADDED":
            self._queue.add(event.record.namespace)

    async def reconcile(self, namespace: str) -> None:
        record = self._storage.get(_NAMESPACES, namespace)
        if record is None or msgspec.json.decode(record.value)["status"].get("phase") != "Active":
            return
        found = self._storage.get(self.collection, f"{namespace}/{self.name}")
        try:
            if found is None:
                await self._api.create(self.wanted(namespace))
            else:
                await self.keep(msgspec.json.decode(found.value))
        except (AlreadyExists, NotFound, Forbidden):  # somebody made it, or the namespace is going away
            return

    def wanted(self, namespace: str) -> Object:
        """The object as it is made."""
        raise NotImplementedError

    async def keep(self, found: Object) -> None:
        """See to an object that is there already."""


class ServiceAccountController(_PerNamespace):
    """Every namespace has the service account as which pods run that name none."""

    account = "service-account-controller"
    collection = _ACCOUNTS
    name = _DEFAULT

    def wanted(self, namespace: str) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": self.name, "namespace": namespace},
        }


class RootCertificatePublisher(_PerNamespace):
    """Every namespace has the certificate authority of the API server."""

    account = "root-ca-cert-publisher"
    collection = _CONFIG_MAPS
    name = _ROOT_CA

    @property
    def _data(self) -> Object:
        return {"ca.crt": self._cluster.credentials.ca.cert_pem.decode()}

    def wanted(self, namespace: str) -> Object:
        annotations = {"kubernetes.io/description": _DESCRIPTION}
        metadata = {"name": self.name, "namespace": namespace, "annotations": annotations}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": self._data}

    async def keep(self, found: Object) -> None:
        if found.get("data") != self._data:
            await self._api.update({**found, "data": self._data})
