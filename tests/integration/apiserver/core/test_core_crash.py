"""`kapstan apiserver` is killed under load, again and again: nothing that it acknowledged is missing."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kapstan.machinery.codec import load_yaml

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
READY = "export KUBECONFIG="


class Running:
    """A server as a process, and a client of it."""

    def __init__(self, process: asyncio.subprocess.Process, session: aiohttp.ClientSession, url: str) -> None:
        self.process = process
        self.session = session
        self.url = url

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        async with self.session.request(method, self.url + path, **options) as response:
            document = await response.json()
            assert response.status < 300, document
            return document

    async def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        await self.process.wait()


@asynccontextmanager
async def serving(data: Path) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kapstan", "apiserver", "--data-dir", str(data)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            while not (line := (await process.stdout.readline()).decode()).startswith(READY):
                assert line, f"the server ended before it served, with exit code {await process.wait()}"
        config = next(load_yaml((data / "kubeconfig").read_text()))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=_context(config, data))) as session:
            yield Running(process, session, config["clusters"][0]["cluster"]["server"])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _context(config: dict[str, Any], folder: Path) -> ssl.SSLContext:
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    pem = folder / "client.pem"
    parts = ("client-certificate-data", "client-key-data")
    pem.write_bytes(b"\n".join(base64.b64decode(user[part]) for part in parts))
    context.load_cert_chain(pem)
    return context


async def write(server: Running, name: str, acknowledged: dict[str, str]) -> None:
    """Create and change objects until the server is gone; remember what it said was done."""
    number = 0
    try:
        while True:
            key = f"{name}-{number}"
            body = {"metadata": {"name": key}, "data": {"step": "created"}}
            await server.ask("POST", CONFIG_MAPS, json=body)
            acknowledged[key] = "created"
            headers = {"Content-Type": "application/merge-patch+json"}
            await server.ask("PATCH", f"{CONFIG_MAPS}/{key}", data=b'{"data":{"step":"changed"}}', headers=headers)
            acknowledged[key] = "changed"
            if number % 3 == 0:
                await server.ask("DELETE", f"{CONFIG_MAPS}/{key}")
                acknowledged[key] = "deleted"
            number += 1
    except (aiohttp.ClientError, ConnectionError, TimeoutError):
        return


async def check(server: Running, acknowledged: dict[str, str]) -> str:
    """Everything is as far as it was acknowledged, or further; returns the version to watch from."""
    listed = await server.ask("GET", CONFIG_MAPS)
    stored = {item["metadata"]["name"]: item["data"].get("step") for item in listed["items"] if "data" in item}
    order = ["created", "changed", "deleted"]
    for key, step in acknowledged.items():
        found = stored.get(key, "deleted")
        assert order.index(found) >= order.index(step), f"{key} was {step}, but is {found}"
    return str(listed["metadata"]["resourceVersion"])


@pytest.mark.parametrize("rounds", [3, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
async def test_no_acknowledged_write_is_lost(tmp_path: Path, rounds: int) -> None:
    acknowledged: dict[str, str] = {}
    last = 0
    for round in range(rounds):
        async with serving(tmp_path) as server:
            version = int(await check(server, acknowledged))
            assert version >= last, "revisions never go back"
            before = len(acknowledged)
            async with asyncio.TaskGroup() as tasks:
                for worker in range(8):
                    tasks.create_task(write(server, f"r{round}w{worker}", acknowledged))
                while len(acknowledged) < before + 40:  # noqa: ASYNC110 - enough work has been done
                    await asyncio.sleep(0.005)
                await server.kill()
            last = version
    async with serving(tmp_path) as server:
        await check(server, acknowledged)


async def test_a_watch_resumes_after_the_crash(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        listed = await server.ask("GET", CONFIG_MAPS)
        seen = await server.ask("POST", CONFIG_MAPS, json={"metadata": {"name": "seen"}})
        await server.ask("POST", CONFIG_MAPS, json={"metadata": {"name": "missed"}})
        await server.kill()
    assert int(seen["metadata"]["resourceVersion"]) > int(listed["metadata"]["resourceVersion"])
    async with serving(tmp_path) as server:
        version = seen["metadata"]["resourceVersion"]
        url = f"{server.url}{CONFIG_MAPS}?watch=true&timeoutSeconds=60&resourceVersion={version}"
        async with asyncio.timeout(60), server.session.get(url) as response:
            event = json.loads(await response.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "missed")
