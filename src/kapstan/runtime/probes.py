"""Health and readiness, answered from a thread of their own: a loop that stands still must show, not hang the answer.

`/healthz` says whether the process should live: its loop does, and every check that was added. `/readyz` says whether
it can do its work: caches are current, webhooks listen. `?verbose` lists the checks, `/readyz/<name>` is one of them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from kapstan.runtime.httpserver import Answer, HTTPServer, Query
from kapstan.runtime.loopthread import LoopThread
from kapstan.runtime.watchdog import Watchdog

__all__ = ("Check", "ProbeServer")

log = logging.getLogger(__name__)

# Content, or why not: as text, or as an exception.
Check: TypeAlias = Callable[[], Awaitable[str | None] | str | None]

PATIENCE = 0.8  # seconds for the checks; kubelet waits one second by default
STALLED = 15.0  # a loop that has been silent for so long is dead


class ProbeServer:
    """Serves the probes of one manager."""

    def __init__(self, address: tuple[str, int], watchdog: Watchdog) -> None:
        self.health: dict[str, Check] = {}
        self.readiness: dict[str, Check] = {}
        self._watchdog = watchdog
        self._server = HTTPServer(address, self._answer)
        self._main: asyncio.AbstractEventLoop | None = None
        self._last: dict[str, tuple[float, dict[str, str]]] = {}  # results for when the loop is busy
        self._thread = LoopThread("probes", self._serve)

    @property
    def port(self) -> int:
        return self._server.port

    async def start(self) -> None:
        """Listen; ConfigError if that is not possible."""
        self._main = asyncio.get_running_loop()
        await self._thread.start()

    async def stop(self) -> None:
        await self._thread.stop()

    async def _serve(self, begun: Callable[[], None]) -> None:
        await self._server.start()
        begun()
        await self._server.run()

    async def _answer(self, query: Query) -> Answer:
        path, _, single = query.path.strip("/").partition("/")
        checks = {"healthz": self.health, "livez": self.health, "readyz": self.readiness}.get(path)
        if checks is None:
            return Answer(b"404 page not found\n", 404)
        if self._watchdog.silence > STALLED:
            return Answer(f"the event loop has stood still for {self._watchdog.silence:.0f} s\n".encode(), 500)
        results = await self._results(path, checks)
        if single:
            if single not in results:
                return Answer(f"there is no check {single!r}\n".encode(), 404)
            results = {single: results[single]}
        return _report(path, results, verbose="verbose" in query.parameters)

    async def _results(self, path: str, checks: dict[str, Check]) -> dict[str, str]:
        """What the checks say, asked in the main loop. If that is busy, what they said last."""
        assert self._main is not None
        asked = asyncio.run_coroutine_threadsafe(_ask(checks), self._main)
        try:
            async with asyncio.timeout(PATIENCE):
                results = await asyncio.wrap_future(asked)
        except TimeoutError:
            at, results = self._last.get(path, (0.0, {}))
            if time.monotonic() - at > STALLED:
                return {"event-loop": "busy for too long to say more"}
            return results
        self._last[path] = time.monotonic(), results
        return results


async def _ask(checks: dict[str, Check]) -> dict[str, str]:
    """Each check and its complaint, empty if it has none."""
    results = {"ping": ""}
    for name, check in list(checks.items()):
        try:
            said = check()
            results[name] = (await said if isinstance(said, Awaitable) else said) or ""
        except Exception as error:  # noqa: BLE001 - a check may fail in any way
            results[name] = str(error) or type(error).__name__
    return results


def _report(path: str, results: dict[str, str], *, verbose: bool) -> Answer:
    """As Kubernetes' own components report; why something fails is for the log, since anybody may ask."""
    failed = {name: why for name, why in results.items() if why}
    lines = [f"[-]{name} failed: reason withheld" if why else f"[+]{name} ok" for name, why in results.items()]
    if failed:
        log.info("%s check failed: %s", path, "; ".join(f"{name}: {why}" for name, why in failed.items()))
        return Answer("\n".join([*lines, f"{path} check failed", ""]).encode(), 500)
    return Answer("\n".join([*lines, f"{path} check passed", ""]).encode() if verbose else b"ok")
