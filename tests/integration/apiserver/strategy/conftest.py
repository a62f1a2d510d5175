"""The embedded server and a real one, asked the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.unit.apiserver.strategy.asking import Server, bare

from kapstan.testing.environment import Environment

T = TypeVar("T")


class Both:
    """Two servers that should not be told apart."""

    def __init__(self, embedded: Server, real: Server) -> None:
        self.embedded, self.real = embedded, real

    def __iter__(self) -> Iterator[Server]:
        return iter((self.embedded, self.real))

    async def ask(self, question: Callable[..., Awaitable[T]], *details: Any) -> tuple[T, T]:
        """The answers to a question that is put to both."""
        ours, theirs = await asyncio.gather(*(question(server, *details) for server in self))
        return ours, theirs


@pytest.fixture
async def both(embedded: Environment, real: Environment, tmp_path: Path) -> AsyncIterator[Both]:
    servers = Both(Server(bare(embedded), tmp_path), Server(real, tmp_path))
    yield servers
    for server in servers:
        await server.close()
