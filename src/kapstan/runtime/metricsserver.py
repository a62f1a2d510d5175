"""The metrics server: what a manager counts, for those who may know it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kapstan.client.client import Client
from kapstan.runtime.authfilter import AuthFilter
from kapstan.runtime.certificates import CertificateFiles, self_signed_context
from kapstan.runtime.httpserver import Answer, HTTPServer, Query
from kapstan.runtime.metrics import Registry
from kapstan.runtime.options import Certificate

__all__ = ("MetricsServer",)


class MetricsServer:
    """Serves `/metrics`: over TLS to whom the API server lets read it, or plainly to everybody."""

    def __init__(
        self, address: tuple[str, int], registry: Registry, client: Client, *, secure: bool, certificate: Certificate
    ) -> None:
        self.handlers: dict[str, Callable[[Query], Awaitable[Answer]]] = {"/metrics": self._metrics}
        self._registry = registry
        self._filter = AuthFilter(client) if secure else None
        self._files = None
        tls = None
        if secure and certificate.folder:
            self._files = CertificateFiles(*certificate.files, what="metrics", metrics=registry)
            tls = self._files.context
        elif secure:
            tls = self_signed_context()
        self._server = HTTPServer(address, self._answer, tls=tls)

    @property
    def port(self) -> int:
        return self._server.port

    async def start(self) -> None:
        """Listen; ConfigError if that is not possible, or the certificate is no good."""
        if self._files is not None:
            self._files.load()
        await self._server.start()

    async def run(self) -> None:
        """Serve until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._server.run(), name="metrics")
            if self._files is not None:
                group.create_task(self._files.run(), name="metrics certificate")

    async def _answer(self, query: Query) -> Answer:
        handler = self.handlers.get(query.path)
        if handler is None:
            return Answer(b"404 page not found\n", 404)
        refusal = await self._filter.refusal(query) if self._filter is not None else None
        return refusal or await handler(query)

    async def _metrics(self, query: Query) -> Answer:
        return Answer(self._registry.exposition(), content_type="text/plain; version=0.0.4; charset=utf-8")
