"""The webhook server: answers the API server over TLS, with a certificate that is read again when it changes.

A mistake in one webhook is an error to that one request, is counted, and harms no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from aiohttp import web

from kapstan.machinery.errors import APIError, ConfigError
from kapstan.runtime.certificates import CertificateFiles
from kapstan.runtime.metrics import Registry
from kapstan.runtime.options import Certificate
from kapstan.runtime.webhook.admission import (
    AdmissionHandler,
    AdmissionRequest,
    AdmissionResponse,
    RawHandler,
    failed,
    read_review,
    write_review,
)
from kapstan.runtime.webhook.conversion import Converter
from kapstan.runtime.webhook.declaration import Admission, Conversion, RawAdmission, declared

__all__ = ("WebhookServer",)

log = logging.getLogger(__name__)

CONVERSION_PATH = "/convert"
BODY_LIMIT = 7 * 1024 * 1024  # a review holds two objects of up to 3 MiB
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

Answerer: TypeAlias = Callable[[bytes], Awaitable[bytes]]
Handler: TypeAlias = Callable[[AdmissionRequest], Awaitable[AdmissionResponse]]


class WebhookServer:
    """Serves webhooks by their paths."""

    def __init__(
        self,
        host: str = "",
        port: int = 9443,
        certificate: Certificate | None = None,
        metrics: Registry | None = None,
    ) -> None:
        self._host, self._port = host, port
        self._metrics = _Metrics(metrics or Registry())
        self._converter = Converter()
        self._paths: dict[str, Answerer] = {}
        self._registry = metrics
        self._files = _files(certificate, metrics)
        self._runner: web.AppRunner | None = None
        self.declarations: list[Admission] = []

    # --- What is served ---------------------------------------------------------------------------------------------

    def add(self, function: Any) -> None:
        """Serve a function that was decorated as a webhook; ValueError if its path is taken."""
        match declared(function):
            case Conversion() as conversion:
                self._converter.add(conversion)
                self._paths[CONVERSION_PATH] = self._convert
            case RawAdmission() as raw:
                self._serve(raw.path, RawHandler(raw))
            case Admission() as admission:
                self._serve(admission.path, AdmissionHandler(admission))
                self.declarations.append(admission)

    def use_certificate(self, certificate: Certificate) -> None:
        """Serve with another certificate than it was made with; before it starts."""
        self._files = _files(certificate, self._registry)

    @property
    def converter(self) -> Converter:
        return self._converter

    def _serve(self, path: str, handler: Handler) -> None:
        if path in self._paths:
            raise ValueError(f"there already is a webhook at {path}: give one of the two another path")

        async def answer(body: bytes) -> bytes:
            request = read_review(body)
            try:
                response = await handler(request)
            except Exception as error:
                self._metrics.panics.inc()
                log.exception("The webhook %s has failed for %s %s", path, request.kind.kind, request.name)
                response = failed(error)
            return write_review(request, response)

        self._paths[path] = answer

    async def _convert(self, body: bytes) -> bytes:
        try:
            return await self._converter.review(body)
        except APIError:
            raise
        except Exception:
            self._metrics.conversion_panics.inc()
            raise

    # --- Serving ----------------------------------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """Where it listens, also if that was left to the system."""
        if self._runner is not None and self._runner.addresses:
            return int(self._runner.addresses[0][1])
        return self._port

    @property
    def started(self) -> bool:
        return self._runner is not None

    async def start(self) -> None:
        """Listen; ConfigError if that is not possible, or the certificate is missing or no good."""
        self._files.load()
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self._dispatch)
        runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await runner.setup()
        site = web.TCPSite(runner, self._host or None, self._port, ssl_context=self._files.context)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(f"webhooks cannot listen on {self._host}:{self._port}: {error.strerror}") from error
        self._runner = runner

    async def run(self) -> None:
        """Serve until cancelled, then let what is being answered finish."""
        if self._runner is None:
            await self.start()
        try:
            await self._files.run()
        finally:
            if self._runner is not None:
                await self._runner.cleanup()
                self._runner = None

    async def _dispatch(self, request: web.Request) -> web.Response:
        answer = self._paths.get(request.path)
        if answer is None:
            return web.Response(status=404, text=f"no webhook is served at {request.path}\n")
        if request.method != "POST":
            return web.Response(status=405, text="webhooks are POSTed to\n")
        began = asyncio.get_running_loop().time()
        in_flight = self._metrics.in_flight.labels(request.path)
        in_flight.inc()
        code = 500
        try:
            body = await answer(await request.read())
            code = 200
            return web.Response(body=body, content_type="application/json")
        except APIError as error:
            code = error.code
            return web.Response(status=code, text=f"{error}\n")
        finally:
            in_flight.dec()
            self._metrics.requests.labels(request.path, str(code)).inc()
            self._metrics.latency.labels(request.path).observe(asyncio.get_running_loop().time() - began)


class _Metrics:
    def __init__(self, registry: Registry) -> None:
        prefix = "controller_runtime_webhook"
        self.latency = registry.histogram(
            f"{prefix}_latency_seconds",
            "Histogram of the latency of processing admission requests",
            ["webhook"],
            _SECONDS,
        )
        self.requests = registry.counter(
            f"{prefix}_requests_total", "Total number of admission requests by HTTP status code.", ["webhook", "code"]
        )
        self.in_flight = registry.gauge(
            f"{prefix}_requests_in_flight", "Current number of admission requests being served.", ["webhook"]
        )
        self.panics = registry.counter(f"{prefix}_panics_total", "Total number of webhook panics").labels()
        self.conversion_panics = registry.counter(
            "controller_runtime_conversion_webhook_panics_total", "Total number of conversion webhook panics"
        ).labels()


def _files(certificate: Certificate | None, metrics: Registry | None) -> CertificateFiles:
    """Where the certificate is: where controller-runtime looks, unless told otherwise."""
    found = certificate or Certificate()
    if not found.folder:
        found = Certificate("/tmp/k8s-webhook-server/serving-certs", found.name, found.key)  # noqa: S108
    return CertificateFiles(*found.files, what="webhook", metrics=metrics)
