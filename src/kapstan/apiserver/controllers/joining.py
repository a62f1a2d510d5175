"""What lets machines join with a bootstrap token: signatures by which they know the cluster, and an end to old tokens.

A machine that joins knows a token, and nobody else's word. So `cluster-info` in `kube-public`, which anybody may read,
carries a signature by every token: who knows the token can tell that the address and the certificate authority in it
are the cluster's own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from kapstan.apiserver.authn.bootstrap import SECRETS, BootstrapToken, token_of
from kapstan.apiserver.controllers.controller import CollectionController, Controller
from kapstan.apiserver.request import DeleteOptions, Preconditions
from kapstan.apiserver.storage.interface import Event, Record
from kapstan.machinery.errors import Conflict, NotFound
from kapstan.machinery.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster
    from kapstan.apiserver.storage.memory import MemoryStorage

__all__ = ("BootstrapSigner", "TokenCleaner", "detached_signature")

_CONFIG_MAPS = GroupResource("", "configmaps")
_SECRET = GroupVersionKind("", "v1", "Secret")
_SYSTEM = "kube-system"
_TOKEN_SECRETS = f"{_SYSTEM}/bootstrap-token-"
_CLUSTER_INFO = "kube-public/cluster-info"
_KUBECONFIG = "kubeconfig"
_SIGNATURE = "jws-kubeconfig-"


class BootstrapSigner(Controller[str]):
    """Keeps the signatures in `cluster-info`: one of every token that may sign, and no other."""

    account = "bootstrap-signer"

    def __init__(self, cluster: LogicalCluster) -> None:
        super().__init__(cluster)
        self.follow(self._on_object, SECRETS, _CONFIG_MAPS)

    def start(self) -> None:
        self._queue.add(_CLUSTER_INFO)

    def _on_object(self, event: Event) -> None:
        if event.record.key == _CLUSTER_INFO or event.record.key.startswith(_TOKEN_SECRETS):
            self._queue.add(_CLUSTER_INFO)

    async def reconcile(self, key: str) -> None:
        record = self._storage.get(_CONFIG_MAPS, key)
        if record is None:
            return
        found = msgspec.json.decode(record.value)
        data = found.get("data") or {}
        wanted = {name: value for name, value in data.items() if not name.startswith(_SIGNATURE)}
        if _KUBECONFIG in data:
            wanted |= {_SIGNATURE + token.id: detached_signature(data[_KUBECONFIG], token) for token in self._signing()}
        if wanted != data:
            await self._api.update({**found, "data": wanted})

    def _signing(self) -> Iterator[BootstrapToken]:
        now = datetime.now(UTC)
        return (token for token in _tokens(self._storage) if token.signing and not token.expired(now))


class TokenCleaner(CollectionController):
    """Deletes tokens when they expire."""

    account = "token-cleaner"
    collection = SECRETS

    def notice(self, record: Record) -> None:
        if record.key.startswith(_TOKEN_SECRETS):
            self._queue.add(record.key)

    async def reconcile(self, key: str) -> None:
        record = self._storage.get(SECRETS, key)
        token = token_of(msgspec.json.decode(record.value)) if record is not None else None
        if record is None or token is None or token.expiration is None:
            return
        left = (token.expiration - datetime.now(UTC)).total_seconds()
        if left > 0:
            self._queue.add_after(key, left)
            return
        uid = msgspec.json.decode(record.value)["metadata"]["uid"]
        only = DeleteOptions(preconditions=Preconditions(uid=uid))
        try:
            await self._api.delete(_SECRET, record.name, _SYSTEM, options=only)
        except (Conflict, NotFound):  # gone, or another one by now
            return


def detached_signature(content: str, token: BootstrapToken) -> str:
    """A JSON web signature whose content is told elsewhere, as kubeadm checks it."""
    header = _encoded(msgspec.json.encode({"alg": "HS256", "kid": token.id}))
    signed = f"{header}.{_encoded(content.encode())}".encode()
    return f"{header}..{_encoded(hmac.digest(token.secret.encode(), signed, hashlib.sha256))}"


def _tokens(storage: MemoryStorage) -> Iterator[BootstrapToken]:
    for record in storage.list(SECRETS, _TOKEN_SECRETS):
        token = token_of(msgspec.json.decode(record.value))
        if token is not None:
            yield token


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
