"""Process: one program that is kept running.

A process belongs to its folder, not to whoever started it: it has its own session, writes its log into a file and
outlives its manager. A manager that starts again adopts what still runs the wanted command, replaces what runs
another, and starts what is gone. `start` is therefore safe to call at any time, and says "have it running".

    process = Process("etcd", command, folder, probe=probe)
    await process.start()
    await process.wait_ready()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.supervise())     # restarts it with back-off until it is stopped
        ...
        await process.stop()
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kapstan.components import logs, pidfile
from kapstan.components.handle import Handle, hold
from kapstan.machinery.errors import KapstanError

__all__ = ("Backoff", "Command", "Probe", "Process", "ProcessFailed")

_LOG = logging.getLogger(__name__)

# What a component may know of its manager's environment: nothing that could be a secret.
_INHERITED = ("PATH", "HOME", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG")
_ROTATE_INTERVAL = 30.0
# Seconds between questions, at least; and as a part of the time that it has taken already: whoever takes long, because
# the machine has much to do, is not kept from it by questions.
_PROBE_INTERVAL = 0.05
_PROBE_PART = 0.02
_GRACE = 10.0

# Asks whether a process is ready: None if it is, else the reason why not.
Probe = Callable[[], Awaitable[str | None]]


class ProcessFailed(KapstanError):
    """A process ended or did not get ready; the text names its log and the last lines in it."""

    def __init__(self, what: str, log: Path, last_lines: list[str]) -> None:
        said = "; its log ends with:\n" + "\n".join(f"  {line}" for line in last_lines) if last_lines else ""
        super().__init__(f"{what} (log: {log}){said}")
        self.last_lines = last_lines

    @property
    def address_in_use(self) -> bool:
        return any("address already in use" in line for line in self.last_lines)


@dataclass(frozen=True)
class Command:
    """What to run. Arguments are seen by everybody on the machine: secrets go into files."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        text = json.dumps([self.argv, sorted(self.env.items())])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Backoff:
    """How long to wait before a process that ended is started again."""

    first: float = 0.5
    limit: float = 30.0
    # A process that ran this long is healthy: its next end is the first one again.
    healthy_after: float = 60.0

    def delay(self, failures: int) -> float:
        return min(self.limit, self.first * 2.0**failures)


class Process:
    """A program that is kept running, with its log and its pid file in a folder."""

    def __init__(
        self, name: str, command: Command, folder: Path, *, probe: Probe | None = None, backoff: Backoff | None = None
    ) -> None:
        self.name = name
        self.command = command
        self.probe = probe
        self.log = folder / "logs" / f"{name}.log"
        self.restarts = 0
        self._pid_file = folder / "run" / f"{name}.pid"
        self._backoff = backoff or Backoff()
        self._handle: Handle | None = None
        self._log_start = 0
        self._reason = ""
        self._stopped = asyncio.Event()
        self._changing = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._handle.identity.pid if self._handle and self._handle.alive else None

    @property
    def running(self) -> bool:
        return self.pid is not None

    async def start(self) -> None:
        """Have it running: adopt it, replace one that runs another command, or start it."""
        async with self._changing:
            self._stopped.clear()
            await self._ensure()

    async def restart(self, grace: float = _GRACE) -> None:
        """End it and start it again. Whoever supervises it goes on doing so."""
        async with self._changing:
            self._stopped.clear()
            if found := self._current():
                await self._terminate(found, grace)
            self._spawn()

    async def wait_ready(self, timeout: float = 60.0, *, probe: Probe | None = None) -> None:
        """Wait until a probe says that it is ready; raises `ProcessFailed` if it ends, or after `timeout` seconds."""
        self._reason = "it was not asked yet"
        try:
            async with asyncio.timeout(timeout), asyncio.TaskGroup() as group:
                end = group.create_task(self._raise_at_end())
                await self._until_content(probe or self.probe)
                end.cancel()
        except TimeoutError:
            what = f"{self.name} was not ready within {timeout:.0f} s: {self._reason}"
            raise ProcessFailed(what, self.log, self._tail()) from None
        except ExceptionGroup as group_of_one:
            raise group_of_one.exceptions[0] from None

    async def wait(self) -> int | None:
        """Wait until it ends; its exit code, unless it was adopted."""
        return await self._handle.exited() if self._handle else None

    async def stop(self, grace: float = _GRACE) -> None:
        """End it: ask, wait `grace` seconds, kill (at once with 0). Nobody but `start` starts it again after that."""
        self._stopped.set()
        async with self._changing:
            if found := self._current():
                await self._terminate(found, grace)
            self._let_go()
            self._pid_file.unlink(missing_ok=True)

    def detach(self) -> None:
        """Let it run on without us; another manager can adopt it."""
        self._let_go()

    async def supervise(self) -> None:
        """Start it again whenever it ends, more slowly the more often it does, until `stop`."""
        failures = 0
        while not self._stopped.is_set():
            began = time.monotonic()
            code = await self._wait_and_rotate()
            async with self._changing:  # a restart that is under way comes to its end first
                if self._stopped.is_set() or self.running:
                    continue
            failures = 0 if time.monotonic() - began >= self._backoff.healthy_after else failures
            delay = self._backoff.delay(failures)
            failures += 1
            _LOG.warning("%s ended (%s); it starts again in %.1f s; log: %s", self.name, _ending(code), delay, self.log)
            await self._start_again_after(delay)

    async def _start_again_after(self, delay: float) -> None:
        try:
            async with asyncio.timeout(delay):
                await self._stopped.wait()
        except TimeoutError:
            pass
        async with self._changing:
            if self._stopped.is_set():
                return
            self.restarts += 1
            try:
                await self._ensure()
            except KapstanError as error:  # the next round waits longer and tries again
                _LOG.warning("%s", error)

    async def _ensure(self) -> None:
        found = self._current()
        if found and found.identity.command == self.command.digest:
            if found is not self._handle:
                self._let_go()
                self._handle = found
            return
        if found:
            await self._terminate(found, _GRACE)
        self._spawn()

    def _current(self) -> Handle | None:
        """The process that runs for us now, if there is one: ours, or one that the pid file names."""
        if self.running:
            return self._handle
        identity = pidfile.read(self._pid_file)
        return hold(identity) if identity else None

    def _spawn(self) -> None:
        self._let_go()
        logs.rotate(self.log)
        logs.prepare(self.log)
        self._log_start = self.log.stat().st_size
        program = self.command.argv[0]
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | dict(self.command.env)
        try:
            pid = os.posix_spawn(
                program,
                self.command.argv,
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(self.log), logs.OPEN_FLAGS, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,  # Ctrl-C at a terminal is for the manager, which stops its processes in order
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores these, and ignoring is inherited
            )
        except OSError as error:
            raise KapstanError(f"{self.name} cannot be started: {program}: {error.strerror}") from error
        identity = pidfile.identify(pid, self.command.digest)
        handle = hold(identity) if identity else None
        if identity is None or handle is None:  # it ended before we could look
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            raise ProcessFailed(f"{self.name} ended at once ({_ending(code)})", self.log, self._tail())
        pidfile.write(self._pid_file, identity)
        self._handle = handle

    async def _terminate(self, handle: Handle, grace: float) -> None:
        if grace > 0:
            handle.send(signal.SIGTERM)
            try:
                async with asyncio.timeout(grace):
                    await handle.exited()
            except TimeoutError:
                _LOG.warning("%s did not end within %.0f s and is killed", self.name, grace)
        handle.send(signal.SIGKILL)
        await handle.exited()
        handle.close()

    async def _wait_and_rotate(self) -> int | None:
        while True:
            try:
                async with asyncio.timeout(_ROTATE_INTERVAL):
                    return await self.wait()
            except TimeoutError:
                logs.rotate(self.log)

    async def _until_content(self, probe: Probe | None) -> None:
        began = time.monotonic()
        while (reason := await probe() if probe else None) is not None:
            self._reason = reason
            await asyncio.sleep(max(_PROBE_INTERVAL, _PROBE_PART * (time.monotonic() - began)))

    async def _raise_at_end(self) -> None:
        code = await self.wait()
        raise ProcessFailed(f"{self.name} ended ({_ending(code)}) before it was ready", self.log, self._tail())

    def _tail(self) -> list[str]:
        return logs.tail(self.log, since=self._log_start)

    def _let_go(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def _ending(code: int | None) -> str:
    if code is None:
        return "exit code unknown"
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
