"""Connections: one HTTP client for requests, and as many more as the open streams need.

Over HTTP/2 everything shares one connection, and a server admits only so many streams on it (kube-apiserver: 100);
what comes after that waits, silently. Watches stay open for minutes, so they get connections of their own: an operator
with hundreds of them never blocks its own requests.
"""

from __future__ import annotations

import asyncio
import atexit
import socket
from collections.abc import Sequence

from pyreqwest.client import Client

from kapstan.client.config import Config
from kapstan.client.credentials import RereadFile
from kapstan.client.leaving import wait_for_visitors
from kapstan.client.loopback import Visitor, find
from kapstan.client.tls import Endpoint, new_http
from kapstan.machinery.errors import ConnectionFailed

__all__ = ("Connections", "Lane")

STREAMS_PER_LANE = 64

atexit.register(wait_for_visitors)


class Lane:
    """A connection for streams, and how many it carries."""

    __slots__ = ("http", "streams")

    def __init__(self, http: Client) -> None:
        self.http = http
        self.streams = 0

    def leave(self) -> None:
        self.streams -= 1


class Connections:
    """The HTTP clients of one server, made anew when our certificate or the server's authority changes."""

    def __init__(self, config: Config, headers: Sequence[tuple[str, str]]) -> None:
        self.endpoint = Endpoint(config)
        self._config = config
        self._headers = list(headers)
        self._ca_file = RereadFile(config.ca_file, "the certificate authority") if config.ca_file else None
        self._material: tuple[bytes, bytes] | None = None
        self._address = ""
        self._direct = not self.endpoint.path and not config.proxy_url
        self._http: Client | None = None
        self._lanes: list[Lane] = []

    async def requests(self, identity: bytes) -> Client:
        """The client for requests that are answered at once."""
        await self._renew(identity)
        if self._http is None:
            self._http = self._new()
        return self._http

    async def lane(self, identity: bytes) -> Lane:
        """Room for one more stream; whoever takes it leaves it in the end."""
        await self._renew(identity)
        lane = next((lane for lane in self._lanes if lane.streams < STREAMS_PER_LANE), None)
        if lane is None:
            lane = Lane(self._new())
            self._lanes.append(lane)
        lane.streams += 1
        return lane

    def loopback(self, identity: bytes) -> Visitor | None:
        """The server, where it is one of this process and we may ask it directly."""
        authority = self._ca_file.read() if self._ca_file is not None else self._config.ca
        return find(self.endpoint.authority, authority, identity) if self._direct else None

    def forget_address(self) -> None:
        """The server could not be reached: ask DNS again before the next attempt."""
        if self._address:
            self._address, self._material = "", None

    async def close(self) -> None:
        """End every connection; what is under way fails."""
        clients = [lane.http for lane in self._lanes]
        if self._http is not None:
            clients.append(self._http)
        self._http, self._lanes, self._material = None, [], None
        for client in clients:
            await client.close()

    async def _renew(self, identity: bytes) -> None:
        ca = self._ca_file.read() if self._ca_file is not None else self._config.ca
        material = self._material
        if material is not None and material[0] is ca and material[1] is identity:
            return
        if material == (ca, identity):
            self._material = (ca, identity)
            return
        if self.endpoint.name and not self._address:
            self._address = await _resolved(self.endpoint)
        # Streams that are open keep their old connection until they end.
        self._material, self._http, self._lanes = (ca, identity), None, []

    def _new(self) -> Client:
        assert self._material is not None
        ca, identity = self._material
        return new_http(
            self._config, self.endpoint, ca=ca, identity=identity, headers=self._headers, address=self._address
        )


async def _resolved(endpoint: Endpoint) -> str:
    """The address of a server whose certificate has another name than its URL."""
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError:
        raise ConnectionFailed(f"no answer from {endpoint.host}: its host name cannot be resolved") from None
    return str(found[0][4][0])
