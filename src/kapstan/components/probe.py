"""Probe: ask a component over TLS whether it is ready.

One GET on a fresh connection, on asyncio's own streams. A probe runs while its server is not there yet, so every way
to fail is an answer, and the answer is a reason that a person can read.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

__all__ = ("HTTPSProbe",)

_TIMEOUT = 5.0
_MAX_BODY = 64 << 10


class HTTPSProbe:
    """Asks `https://host:port/path`, and is content with 200. As a `Probe` it gives the reason why not."""

    def __init__(
        self, host: str, port: int, path: str, *, ca_file: Path, client: tuple[Path, Path] | None = None
    ) -> None:
        self._host = host
        self._port = port
        self._path = path
        self._ca_file = ca_file
        self._client = client
        self._context: ssl.SSLContext | None = None

    async def __call__(self) -> str | None:
        try:
            async with asyncio.timeout(_TIMEOUT):
                status, body = await self._get()
        except TimeoutError:
            return "it does not answer"
        except (OSError, EOFError, ValueError) as error:
            return f"it cannot be asked ({error})"
        return None if status == 200 else f"{self._path} says {status}: {_what_failed(body)}"

    async def _get(self) -> tuple[int, str]:
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls())
        try:
            writer.write(f"GET {self._path} HTTP/1.1\r\nHost: {self._host}\r\nConnection: close\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.read(_MAX_BODY)
            return int(head.split(b" ", 2)[1]), body.decode(errors="replace")
        finally:
            writer.transport.abort()  # nothing is to be flushed, and a closing handshake may hang

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            context = ssl.create_default_context(cafile=str(self._ca_file))
            if self._client is not None:
                context.load_cert_chain(*self._client)
            self._context = context
        return self._context


def _what_failed(body: str) -> str:
    """The checks that failed, out of the list that `/readyz` gives."""
    failed = [line.strip() for line in body.splitlines() if line.startswith("[-]")]
    return ", ".join(failed) or body.strip()[:200] or "nothing"
