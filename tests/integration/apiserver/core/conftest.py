"""The same script on two servers: requests with placeholders, answers without what must differ."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import ssl
import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from kapstan.testing.environment import Environment

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_AGE = re.compile(r"\d+s")
_REVISION = re.compile(r'(current: |\(|\\?"resourceVersion\\?":\\?")\d+')


class Step(NamedTuple):
    """One request. `$NS` stands for the script's namespace, `$GROUP` for its API group, `$TOKEN` for the last
    `continue` and `$RV` for the last resourceVersion that the server gave."""

    name: str
    method: str
    path: str
    body: Any = None
    headers: dict[str, str] | None = None


class Server:
    """One API server and its administrator."""

    def __init__(self, env: Environment, folder: Path) -> None:
        config = env.server.kubeconfig()
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        pem = folder / f"{env.name}.pem"
        parts = ("client-certificate-data", "client-key-data")
        pem.write_bytes(b"\n".join(base64.b64decode(user[part]) for part in parts))
        context.load_cert_chain(pem)
        self.name = env.name
        self._url = cluster["server"]
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))
        self._last = {"RV": "", "TOKEN": ""}

    async def close(self) -> None:
        await self._session.close()
        for _ in range(10):  # turns in which the transports of abandoned watches end
            await asyncio.sleep(0)

    async def run(self, step: Step, values: dict[str, str]) -> dict[str, Any]:
        """What the server answers, without what must differ from server to server."""
        values = {**values, **self._last}
        body = step.body if isinstance(step.body, str | bytes | None) else json.dumps(step.body)
        if isinstance(body, str):
            body = _filled(body, values)
        headers = {"Content-Type": "application/json", "User-Agent": "tester/1.0", **(step.headers or {})}
        url = self._url + _filled(step.path, values)
        data = io.BytesIO(body.encode() if isinstance(body, str) else body) if body is not None else None
        async with self._session.request(step.method, url, data=data, headers=headers) as response:
            raw = await response.read()
        try:
            document = json.loads(raw)
        except ValueError:
            document = raw.decode(errors="replace")
        self._remember(document)
        return {
            "status": response.status,
            "type": response.headers.get("Content-Type"),
            "warnings": response.headers.getall("Warning", []),
            "body": _normal(document, values),
        }

    async def watched(
        self, path: str, headers: dict[str, str], first: int, steps: Iterable[Step], count: int, values: dict[str, str]
    ) -> list[Any]:
        """The first events of a watch; the steps are run when some have come."""
        events: list[Any] = []
        steps = list(steps)
        url = self._url + _filled(path, {**values, **self._last})
        async with asyncio.timeout(60), self._session.get(url, headers=headers) as response:
            while len(events) < count:
                while len(events) >= first and steps:
                    await self.run(steps.pop(0), values)
                line = await response.content.readline()
                if not line:
                    break
                event = json.loads(line)
                if event["type"] != "BOOKMARK" or "initial-events-end" in str(event):  # others come when they like
                    events.append(_normal(event, values))
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()  # a watch goes on: there is no end to wait for
        return events

    async def wait_for(self, path: str, values: dict[str, str]) -> None:
        """Until a path is served: the real server takes its time for new kinds."""
        async with asyncio.timeout(60):
            while True:
                if (await self.run(Step("", "GET", path), values))["status"] == 200:
                    return
                await asyncio.sleep(0.1)

    def _remember(self, document: Any) -> None:
        metadata = document.get("metadata") if isinstance(document, dict) else None
        if isinstance(metadata, dict):
            self._last["RV"] = metadata.get("resourceVersion") or self._last["RV"]
            self._last["TOKEN"] = metadata.get("continue") or self._last["TOKEN"]


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"${name}", value)
    return text


def _normal(value: Any, values: dict[str, str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _normal(item, values, name) for name, item in value.items() if name != "description"}
    if isinstance(value, list):
        return [_normal(item, values, key) for item in value]
    if not isinstance(value, str):
        return value
    if key in ("resourceVersion", "continue") and value:
        return f"<{key}>"
    if key == "cells" and _AGE.fullmatch(value):
        return "<age>"
    text = _REVISION.sub(r"\1N", _TIME.sub("<time>", _UID.sub("<uid>", value)))
    return text.replace(values["NS"], "<namespace>").replace(values["GROUP"], "<group>")


class Both:
    """The embedded server and the real one."""

    def __init__(self, embedded: Server, real: Server) -> None:
        self.embedded, self.real = embedded, real
        suffix = uuid.uuid4().hex[:8]
        self.values = {"NS": f"core-{suffix}", "GROUP": f"g{suffix}.example.com"}

    def step(self, *parts: Any) -> Step:
        return Step(*parts)

    async def differences(self, steps: Iterable[Step]) -> dict[str, str]:
        """The steps that the two answer differently, with both answers."""
        found: dict[str, str] = {}
        for step in steps:
            if step.method == "WAIT":
                for server in (self.embedded, self.real):
                    await server.wait_for(step.path, self.values)
                continue
            ours = await self.embedded.run(step, self.values)
            theirs = await self.real.run(step, self.values)
            if ours != theirs:
                found[step.name] = f"{step.method} {step.path}\n  embedded: {ours}\n  real:     {theirs}"
        return found


@pytest.fixture
async def both(embedded_without_controllers: Environment, real: Environment, tmp_path: Path) -> AsyncIterator[Both]:
    servers = [Server(env, tmp_path) for env in (embedded_without_controllers, real)]
    yield Both(*servers)
    for server in servers:
        await server.close()


class _Bare:
    """What `Server` needs of an environment."""

    def __init__(self, name: str, server: Any) -> None:
        self.name, self.server = name, server


@pytest.fixture
async def embedded_without_controllers() -> AsyncIterator[Any]:
    """As the real server of the tests: there is nobody who collects garbage or ends namespaces."""
    from kapstan.apiserver.controllers.manager import CONTROLLERS
    from kapstan.apiserver.server import EmbeddedServer

    async with EmbeddedServer(without_controllers=CONTROLLERS) as server:
        yield _Bare("embedded", server)
