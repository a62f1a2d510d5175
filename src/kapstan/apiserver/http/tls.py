"""TLS that is set up when the first client comes: a cluster that nobody talks to costs neither keys nor contexts.

Client certificates are asked for and checked against the cluster's CA. One of another CA ends the handshake, where
kube-apiserver would answer 401: Python's `ssl` cannot put that off.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path

from kapstan.apiserver.credentials import Credentials
from kapstan.apiserver.http.connection import Connection

__all__ = ("Listener", "listen", "server_context")

logger = logging.getLogger(__name__)

_HANDSHAKE_TIMEOUT = 10.0
_ACCEPTED_AT_ONCE = 64
_BACKLOG = 1024
_PAUSE = 0.5  # seconds before trying again to accept


def server_context(credentials: Credentials, hosts: tuple[str, ...]) -> ssl.SSLContext:
    """A context with a certificate for these hosts that accepts the cluster's clients."""
    pair = credentials.serving(hosts)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=credentials.client_authorities.decode())
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # intermediate authorities may be trusted alone, as in Go
    context.set_alpn_protocols(["http/1.1"])
    # `load_cert_chain` reads files only.
    with tempfile.TemporaryDirectory(prefix="kapstan-") as folder:
        chain = Path(folder, "tls.pem")
        chain.touch(mode=0o600)
        chain.write_bytes(pair.cert_pem + pair.key_pem)
        context.load_cert_chain(chain)
    return context


class Listener:
    """A listening socket whose TLS context is made when the first connection comes."""

    def __init__(
        self,
        listening: socket.socket,
        tasks: asyncio.TaskGroup,
        context: Callable[[], ssl.SSLContext],
        factory: Callable[[], Connection],
    ) -> None:
        self._socket = listening
        self._tasks = tasks
        self._make_context = context
        self._factory = factory
        self._context: ssl.SSLContext | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listening, self._accept)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def renew(self) -> None:
        """Make the context anew for the connections that come; those that there are go on."""
        self._context = None

    def close(self) -> None:
        """Take no more connections and end those that there are."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for task in tuple(self._connections):
            task.cancel()

    def _accept(self) -> None:
        """Take what waits, but not for ever: others want the event loop, too."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("cannot accept connections: %s", error.strerror)  # noqa: TRY400 - e.g. out of files
                self._loop.remove_reader(self._socket)
                self._loop.call_later(_PAUSE, self._resume)
                return
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._tasks.create_task(self._serve(connection))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    def _resume(self) -> None:
        if self._socket.fileno() != -1:
            self._loop.add_reader(self._socket, self._accept)

    async def _serve(self, connection: socket.socket) -> None:
        """Shake hands, then serve until the client is done."""
        if self._context is None:
            self._context = self._make_context()
        protocol = self._factory()
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._context, ssl_handshake_timeout=_HANDSHAKE_TIMEOUT
            )
        except (OSError, TimeoutError, asyncio.CancelledError):
            connection.close()
            await asyncio.sleep(0)  # the transport lets go of it in the next round
            return
        await protocol.serve()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; OSError if the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
