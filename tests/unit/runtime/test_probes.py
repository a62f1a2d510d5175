"""Probes and the watchdog, with a loop that stands still for real."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapstan.machinery.errors import ConfigError
from kapstan.runtime import probes, watchdog
from kapstan.runtime.background import background
from kapstan.runtime.metrics import Registry
from kapstan.runtime.probes import ProbeServer
from kapstan.runtime.watchdog import Watchdog


def ask(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    said = answer.status, answer.read().decode()
    connection.close()
    return said


@asynccontextmanager
async def serving(registry: Registry | None = None) -> AsyncIterator[ProbeServer]:
    dog = Watchdog(registry)
    server = ProbeServer(("127.0.0.1", 0), dog)
    async with background(dog.run()):
        await server.start()
        try:
            yield server
        finally:
            await server.stop()


async def test_a_healthy_manager_says_ok() -> None:
    async with serving() as server:
        for path in ("/healthz", "/livez", "/readyz", "/healthz/"):
            assert await asyncio.to_thread(ask, server.port, path) == (200, "ok")
        assert (await asyncio.to_thread(ask, server.port, "/metrics"))[0] == 404


async def test_checks_are_asked_and_listed() -> None:
    async def slow() -> str | None:
        await asyncio.sleep(0)
        return None

    async with serving() as server:
        server.readiness |= {"informers": lambda: "", "webhook": slow}
        status, said = await asyncio.to_thread(ask, server.port, "/readyz?verbose")
        assert (status, said) == (200, "[+]ping ok\n[+]informers ok\n[+]webhook ok\nreadyz check passed\n")
        assert await asyncio.to_thread(ask, server.port, "/readyz/informers") == (200, "ok")
        assert (await asyncio.to_thread(ask, server.port, "/readyz/none"))[0] == 404


async def test_a_complaint_fails_and_its_reason_is_for_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        raise ConnectionError("token abc refused")

    async with serving() as server:
        server.readiness |= {"informers": lambda: "Pod: no contact", "broken": broken}
        with caplog.at_level("INFO"):
            status, said = await asyncio.to_thread(ask, server.port, "/readyz")
        assert status == 500
        assert "[-]informers failed: reason withheld" in said and "token" not in said
        assert "Pod: no contact" in caplog.text
        assert (await asyncio.to_thread(ask, server.port, "/healthz"))[0] == 200


async def test_a_loop_that_stands_still_shows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The loop is blocked for real; the probes answer nevertheless, and the watchdog says where it is blocked."""
    monkeypatch.setattr(probes, "STALLED", 0.6)
    monkeypatch.setattr(probes, "PATIENCE", 0.2)
    monkeypatch.setattr(watchdog, "STALL", 0.3)
    monkeypatch.setattr(watchdog, "BEAT", 0.05)
    registry = Registry()
    answers: list[int] = []

    async with serving(registry) as server:
        asking = asyncio.get_running_loop().run_in_executor(None, ask_for_a_while, server.port, answers)
        await asyncio.sleep(0.1)
        block_the_loop()
        await asking
        assert (await asyncio.to_thread(ask, server.port, "/healthz"))[0] == 200, "it lives again"
    assert 500 in answers
    assert "The event loop has been blocked" in caplog.text and "block_the_loop" in caplog.text
    assert registry.value("kapstan_event_loop_stalls_total") >= 1
    assert registry.value("kapstan_event_loop_lag_seconds") > 0


def block_the_loop() -> None:
    time.sleep(1.5)


def ask_for_a_while(port: int, answers: list[int]) -> None:
    until = time.monotonic() + 1.4
    while time.monotonic() < until:
        answers.append(ask(port, "/healthz")[0])
        time.sleep(0.05)


async def test_a_busy_loop_is_answered_for_with_what_it_said_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "PATIENCE", 0.1)
    async with serving() as server:
        assert (await asyncio.to_thread(ask, server.port, "/readyz"))[0] == 200
        asking = asyncio.get_running_loop().run_in_executor(None, ask, server.port, "/readyz")
        time.sleep(0.5)  # noqa: ASYNC251 - the loop is to be blocked
        assert (await asking)[0] == 200


async def test_an_address_in_use_is_said() -> None:
    async with serving() as server:
        with pytest.raises(ConfigError, match="cannot listen"):
            await ProbeServer(("127.0.0.1", server.port), Watchdog()).start()
