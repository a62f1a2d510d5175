"""The two API servers that a test can have, behind one interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from kapstan.apiserver.server import EmbeddedServer
from kapstan.components.controlplane import ControlPlane, Options

__all__ = ("APIServer", "EmbeddedAPIServer", "RealAPIServer", "embedded_server", "real_server")


class APIServer(Protocol):
    """An API server that belongs to a test."""

    @property
    def name(self) -> str:
        """`embedded` or `real`."""

    def kubeconfig(self, user: str = "", groups: Sequence[str] = ()) -> dict[str, Any]:
        """The administrator's kubeconfig, or one for a user with a client certificate."""


class EmbeddedAPIServer:
    """Our own, in the test's process and event loop."""

    name = "embedded"

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server

    def kubeconfig(self, user: str = "", groups: Sequence[str] = ()) -> dict[str, Any]:
        return self.server.endpoint.kubeconfig(user, tuple(groups)) if user else self.server.kubeconfig()


class RealAPIServer:
    """etcd and kube-apiserver, as processes."""

    name = "real"

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def kubeconfig(self, user: str = "", groups: Sequence[str] = ()) -> dict[str, Any]:
        return self.plane.kubeconfig(user, tuple(groups)) if user else self.plane.kubeconfig()


@asynccontextmanager
async def embedded_server(data_dir: Path | None = None) -> AsyncIterator[EmbeddedAPIServer]:
    """Ready in milliseconds; in memory unless a folder is given."""
    async with EmbeddedServer(data_dir=data_dir) as server:
        yield EmbeddedAPIServer(server)


@asynccontextmanager
async def real_server(folder: Path, options: Options | None = None) -> AsyncIterator[RealAPIServer]:
    """Ready in seconds. The programs must be at hand: `kapstan kube fetch`."""
    async with ControlPlane(folder, options) as plane:
        yield RealAPIServer(plane)
