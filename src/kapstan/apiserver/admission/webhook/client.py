"""Calling webhooks over HTTPS.

One client serves every logical cluster of a process. Failures are told in the words of Go's client, which people know
from kube-apiserver and search for. A cluster without webhooks never loads an HTTP client (`transport`).
"""

from __future__ import annotations

import base64
import binascii
import json
import ssl
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from kapstan.apiserver.admission.webhook.configuration import ClientConfig
from kapstan.machinery.golang import quote

if TYPE_CHECKING:
    from kapstan.apiserver.admission.webhook.transport import Transport

__all__ = ("MAX_ANSWER", "CallFailed", "ServiceResolver", "Target", "WebhookClient")

MAX_ANSWER = 3 * 1024 * 1024
_REASONS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: ("the server was unable to return a response in the time allotted, but may still be processing the request"),
}


class CallFailed(Exception):
    """No usable answer came; the text says what happened."""


class ServiceResolver(Protocol):
    """Says where a Service can be reached."""

    def __call__(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Host and port; LookupError, with a text for a person, if nowhere."""


class Target(NamedTuple):
    """Where a webhook is."""

    shown: str  # the URL as messages show it
    url: str  # the URL to connect to
    host: str
    port: int
    server_name: str | None  # whom the certificate must name, if not the URL's host


class WebhookClient:
    """Makes the calls; `close` it when the process is done."""

    def __init__(self) -> None:
        self._transport: Transport | None = None

    async def call(self, config: ClientConfig, body: bytes, *, timeout: int, resolve: ServiceResolver) -> Any:
        """POST a document and return the decoded answer; CallFailed if there is none."""
        suffix = f"?timeout={timeout}s"
        try:
            target = _target(config, suffix, resolve)
        except LookupError as error:
            raise CallFailed(f'Post "{_service_url(config, suffix)}": {error.args[0]}') from error
        try:
            context = _context(config.ca_bundle)
        except ValueError as error:
            raise CallFailed(f"Post {quote(target.shown)}: {error}") from error
        return _answer(*await self._opened().post(target, body, context, timeout=timeout))

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()
            self._transport = None

    def _opened(self) -> Transport:
        if self._transport is None:
            from kapstan.apiserver.admission.webhook.transport import Transport

            self._transport = Transport()
        return self._transport


def _target(config: ClientConfig, suffix: str, resolve: ServiceResolver) -> Target:
    if config.service is None:
        parts = urlsplit(config.url)
        return Target(config.url + suffix, config.url + suffix, parts.hostname or "", parts.port or 443, None)
    service = config.service
    host, port = resolve(service.namespace, service.name, service.port)
    path = service.path if service.path.startswith("/") else f"/{service.path}"
    shown_host = f"[{host}]" if ":" in host else host
    url = f"https://{shown_host}:{port}{path}{suffix}"
    return Target(_service_url(config, suffix), url, host, port, f"{service.name}.{service.namespace}.svc")


def _service_url(config: ClientConfig, suffix: str) -> str:
    service = config.service
    assert service is not None
    path = service.path if service.path.startswith("/") else f"/{service.path}"
    return f"https://{service.name}.{service.namespace}.svc:{service.port}{path}{suffix}"


@lru_cache(maxsize=256)
def _context(ca_bundle: str) -> ssl.SSLContext:
    """Trusts the bundle and nothing else; without one, what the system trusts."""
    if not ca_bundle:
        return ssl.create_default_context()
    try:
        pem = base64.b64decode(ca_bundle, validate=True).decode()
        context = ssl.create_default_context(cadata=pem)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError) as error:
        raise ValueError("unable to load root certificates: the caBundle is not base64 of PEM certificates") from error
    # As in Go, a bundle may hold the webhook's own certificate instead of its authority's.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _answer(status: int, content_type: str, data: bytes) -> Any:
    if len(data) > MAX_ANSWER:
        raise CallFailed(f"the answer is larger than {MAX_ANSWER} bytes")
    if not 200 <= status < 300:
        raise CallFailed(_rejected(status, content_type, data))
    if not data:
        raise CallFailed(f"0-length response with status code: {status} and content type: {content_type}")
    try:
        return json.loads(data)
    except ValueError as error:
        raise CallFailed(f"couldn't get version/kind; json parse error: {error}") from error


def _rejected(status: int, content_type: str, data: bytes) -> str:
    """A Status speaks for itself; other bodies are only shown if they are text, and where Kubernetes shows them."""
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    if isinstance(document, dict) and (document.get("apiVersion"), document.get("kind")) == ("v1", "Status"):
        return str(document.get("message") or "unknown")
    is_text = not content_type or content_type.startswith("text/")
    text = data[:2048].decode("utf-8", "replace").strip() if is_text else "unknown"
    if status in _REASONS:
        return _REASONS[status]
    if status in (403, 406, 415):
        return text
    if status >= 500:
        return f"an error on the server ({quote(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"
