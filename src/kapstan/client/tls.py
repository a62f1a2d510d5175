"""Making HTTP clients: certificates, proxies, HTTP/2 settings.

The HTTP library always trusts the system's certificate authorities beside those that it is given. Kubernetes clients
must not: a cluster has its own authority, and no public one may vouch for it. The library reads the system's from
where SSL_CERT_FILE says, so while a client with an authority of its own is made (well below a millisecond, and one at a
time), that is an empty file. It also saves parsing some 150 certificates, 4 ms and 120 kB a client. On macOS and
Windows the library asks the operating system instead, and what that trusts stays trusted.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import urlsplit

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError
from pyreqwest.proxy import ProxyBuilder

from kapstan.client.config import Config
from kapstan.machinery.errors import ConfigError

__all__ = ("Endpoint", "is_loopback", "new_http")

CONNECT_SECONDS = 15
# As Go's HTTP/2 client: a connection that is silent for so long is asked whether it lives.
PING_AFTER, PING_SECONDS = timedelta(seconds=30), timedelta(seconds=15)
# Shorter than servers keep idle connections, so that we are never the one who writes into a closing one.
IDLE_SECONDS = 55
# As Go's: a reader that lags may hold up its own stream, never the whole connection.
STREAM_WINDOW, CONNECTION_WINDOW = 4 << 20, 1 << 30

_environment = threading.Lock()


class Endpoint:
    """The address in a config, in the form that requests need it."""

    def __init__(self, config: Config) -> None:
        parts = urlsplit(config.server)
        self.scheme = parts.scheme
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.scheme == "https" else 80)
        self.authority = parts.netloc.rpartition("@")[2]  # as metrics name it
        self.path = parts.path.rstrip("/")
        self.loopback = is_loopback(self.host)
        self.name = config.server_name if self.scheme == "https" else ""  # what its certificate must say
        if self.name == self.host:
            self.name = ""
        self.base = config.server.rstrip("/")
        if self.name:
            self.base = f"{self.scheme}://{self.name}:{self.port}{self.path}"
        if self.name and config.proxy_url:
            where = f"{config.source}: " if config.source else ""
            raise ConfigError(f"{where}tls-server-name and proxy-url cannot be combined; remove one")


def new_http(
    config: Config,
    endpoint: Endpoint,
    *,
    ca: bytes,
    identity: bytes,
    headers: Sequence[tuple[str, str]] = (),
    address: str = "",
) -> Client:
    """An HTTP client for this server. `address` is where the server is, if its name is not to be asked from DNS."""
    builder = _tuned(ClientBuilder()).default_headers(headers).gzip(config.compression and not endpoint.loopback)
    if config.proxy_url:
        builder = builder.proxy(ProxyBuilder.all(config.proxy_url))
    elif endpoint.loopback:
        builder = builder.no_proxy()  # of the environment: no proxy leads to this machine
    if endpoint.name:
        builder = builder.resolve(endpoint.name, address, endpoint.port)
    if config.insecure:
        builder = builder.danger_accept_invalid_certs(True)
    where = config.source or config.server
    if identity:
        builder = _with_identity(builder, identity, where)
    if not ca:
        return _built(builder, where)
    builder = _with_authority(builder, ca, where)
    with _only_our_authorities():
        return _built(builder, where)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tuned(builder: ClientBuilder) -> ClientBuilder:
    return (
        builder.http2(True)
        .brotli(False)
        .zstd(False)
        .deflate(False)
        .follow_redirects(False)
        .referer(False)
        .connect_timeout(timedelta(seconds=CONNECT_SECONDS))
        .pool_idle_timeout(timedelta(seconds=IDLE_SECONDS))
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(PING_SECONDS)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
    )


def _with_identity(builder: ClientBuilder, identity: bytes, where: str) -> ClientBuilder:
    try:
        return builder.identity_pem(identity)
    except ValueError:
        raise ConfigError(
            f"{where}: the client certificate and key cannot be used: both must be PEM, the key without a password"
        ) from None


def _with_authority(builder: ClientBuilder, ca: bytes, where: str) -> ClientBuilder:
    if b"-----BEGIN " not in ca:
        raise ConfigError(f"{where}: the certificate authority is not a usable PEM certificate")
    try:
        return builder.add_root_certificate_pem(ca)
    except ValueError:
        raise ConfigError(f"{where}: the certificate authority is not a usable PEM certificate") from None


def _built(builder: ClientBuilder, where: str) -> Client:
    try:
        return builder.build()
    except BuilderError as error:
        causes = " ".join(cause["message"] for cause in error.details["causes"] or ())
        raise ConfigError(f"{where}: {_tls_problem(causes)}") from None


def _tls_problem(causes: str) -> str:
    if "KeyMismatch" in causes:
        return "the client key does not belong to the client certificate"
    if "loaded from the system" in causes:
        return "there is no certificate authority: the config names none, and this machine has none of its own"
    if "certificate" in causes.lower():
        return "the certificate authority is not a usable PEM certificate"
    return f"no connection can be made with these settings: {causes}"


@contextmanager
def _only_our_authorities() -> Iterator[None]:
    with _environment:
        before = {name: os.environ.pop(name, None) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")}
        os.environ["SSL_CERT_FILE"] = os.devnull
        try:
            yield
        finally:
            del os.environ["SSL_CERT_FILE"]
            os.environ.update({name: value for name, value in before.items() if value is not None})
