"""List and watch through the client: one kind, in one namespace or in all, within a scope."""

from __future__ import annotations

from typing import Any

from kapstan.client.client import Client
from kapstan.client.interface import Kind, gvk_of
from kapstan.client.shapes import RawList
from kapstan.client.watch import RawWatch
from kapstan.runtime.scope import Scope

__all__ = ("ClientListWatch",)


class ClientListWatch:
    """What a reflector asks of the API server."""

    def __init__(self, client: Client, kind: Kind[Any], scope: Scope, namespace: str = "") -> None:
        self.namespace = namespace
        self._client, self._kind, self._scope = client, kind, scope

    @property
    def what(self) -> str:
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{gvk_of(self._kind).kind}{place}"

    async def list(self, *, limit: int, continue_token: str) -> RawList:
        return await self._client.list_raw(
            self._kind,
            self.namespace,
            labels=self._scope.labels,
            fields=self._scope.fields,
            limit=limit,
            continue_token=continue_token,
        )

    def watch(self, *, resource_version: str, initial_events: bool, timeout: float) -> RawWatch:
        return self._client.watch_raw(
            self._kind,
            self.namespace,
            labels=self._scope.labels,
            fields=self._scope.fields,
            resource_version=resource_version,
            version_match="NotOlderThan" if initial_events else "",
            send_initial_events=initial_events,
            bookmarks=True,
            timeout=timeout,
        )
