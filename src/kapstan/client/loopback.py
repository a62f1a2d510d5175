"""Loopback: API servers of this very process, asked without a socket.

Whoever runs an API server in the process of its clients says so here; from then on what clients would have sent to its
address is handed over instead, which costs a fraction. A client that the server would not admit, or that trusts another
authority, still goes by way of the network, and is told there what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias

__all__ = ("Answer", "LoopbackServer", "Visitor", "find", "reachable")


Data: TypeAlias = bytes  # which the method of that name hides


class Answer(Protocol):
    """An answer; that of the HTTP library looks the same up to `bytes`."""

    @property
    def status(self) -> int: ...

    def get_header(self, name: str) -> str | None: ...

    def get_header_all(self, name: str) -> list[str]: ...

    async def bytes(self) -> Data:
        """The whole body."""

    async def read(self) -> Data | None:
        """More of the body; None when there is no more."""

    def close(self) -> None:
        """Take no more."""


class Visitor(Protocol):
    """One client of a server."""

    async def ask(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Answer: ...


class LoopbackServer(Protocol):
    """An API server in this process."""

    def admit(self, authority: bytes, identity: bytes) -> Visitor | None:
        """A client that trusts this authority and has this certificate and key; None if it is not to be admitted."""


_SERVERS: dict[str, LoopbackServer] = {}


@contextmanager
def reachable(address: str, server: LoopbackServer) -> Iterator[None]:
    """Inside the block, the server at this address (`127.0.0.1:6443`) is asked directly."""
    _SERVERS[address] = server
    try:
        yield
    finally:
        if _SERVERS.get(address) is server:
            del _SERVERS[address]


def find(address: str, authority: bytes, identity: bytes) -> Visitor | None:
    """The server at an address, if it is one of this process and admits us."""
    server = _SERVERS.get(address)
    return server.admit(authority, identity) if server is not None else None
