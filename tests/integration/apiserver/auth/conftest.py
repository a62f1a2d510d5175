"""Asking two servers the same, as whoever a test wants to be."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from kapstan.testing.environment import Environment

Object = dict[str, Any]


class Answer(NamedTuple):
    status: int
    body: Any
    warnings: list[str]


class Server:
    """One API server; every user has an own connection."""

    def __init__(self, env: Environment, folder: Path) -> None:
        self._env = env
        self._folder = folder
        self._sessions: dict[Any, aiohttp.ClientSession] = {}

    @property
    def name(self) -> str:
        return self._env.name

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str | None = "",
        groups: Iterable[str] = (),
        headers: Iterable[tuple[str, str]] = (),
        content_type: str = "application/json",
    ) -> Answer:
        """As the administrator, as a user with a certificate, or (None) without one."""
        session, url = self._session(user, tuple(groups))
        sent = [*headers, *([("Content-Type", content_type)] if body is not None else [])]
        data = json.dumps(body) if body is not None else None
        async with session.request(method, url + path, data=data, headers=sent) as response:
            text = await response.text()
            warnings = response.headers.getall("Warning", [])
        try:
            return Answer(response.status, json.loads(text), warnings)
        except ValueError:
            return Answer(response.status, text, warnings)

    async def create(self, path: str, body: Object) -> Object:
        answer = await self.ask("POST", path, body)
        assert answer.status == 201, answer
        created: Object = answer.body
        return created

    async def until(self, method: str, path: str, status: int, **options: Any) -> Answer:
        """Ask again until that is the answer: a real server learns of new roles and webhooks a moment later."""
        return await self._ask_until(lambda found: found == status, method, path, **options)

    async def until_not(self, method: str, path: str, status: int, **options: Any) -> Answer:
        """Ask again until that is no more the answer."""
        return await self._ask_until(lambda found: found != status, method, path, **options)

    async def _ask_until(self, fine: Callable[[int], bool], method: str, path: str, **options: Any) -> Answer:
        async with asyncio.timeout(60):
            while True:
                answer = await self.ask(method, path, **options)
                if fine(answer.status):
                    return answer
                await asyncio.sleep(0.05)

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    def _session(self, user: str | None, groups: tuple[str, ...]) -> tuple[aiohttp.ClientSession, str]:
        config = self._env.server.kubeconfig(user or "", groups)
        cluster = config["clusters"][0]["cluster"]
        key = (user, groups)
        if key not in self._sessions:
            ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
            context = ssl.create_default_context(cadata=ca)
            if user is not None:
                credentials = config["users"][0]["user"]
                pem = self._folder / f"{self.name}-{len(self._sessions)}.pem"
                pem.touch(mode=0o600)
                parts = ("client-certificate-data", "client-key-data")
                pem.write_bytes(b"\n".join(base64.b64decode(credentials[part]) for part in parts))
                context.load_cert_chain(pem)
            self._sessions[key] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))
        return self._sessions[key], cluster["server"]


class Both:
    """The embedded server and the real one."""

    def __init__(self, embedded: Server, real: Server) -> None:
        self.embedded, self.real = embedded, real

    def __iter__(self) -> Any:
        return iter((self.embedded, self.real))

    async def same(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Ask both, and insist that they answer alike."""
        ours = await self.embedded.ask(method, path, body, **options)
        theirs = await self.real.ask(method, path, body, **options)
        assert normal(ours) == normal(theirs), f"{method} {path}\nembedded: {ours}\nreal:     {theirs}"
        return ours


_CHANGING = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "time", "generation"}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|X509SHA256=[0-9a-f]{64}")


def normal(answer: Any) -> Any:
    """Without what differs from server to server and from time to time."""
    if isinstance(answer, Answer):
        return Answer(answer.status, normal(answer.body), sorted(answer.warnings))
    if isinstance(answer, dict):
        return {key: normal(value) for key, value in answer.items() if key not in _CHANGING}
    if isinstance(answer, list):
        return [normal(value) for value in answer]
    return _UUID.sub("<unique>", answer) if isinstance(answer, str) else answer


@pytest.fixture
async def both(embedded: Environment, real: Environment, tmp_path: Path) -> AsyncIterator[Both]:
    servers = Both(Server(embedded, tmp_path), Server(real, tmp_path))
    yield servers
    for server in servers:
        await server.close()
