"""Measured processes: a program is started, its lines are read, its memory and CPU time are taken from the kernel."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ("Measured", "cpu_of", "peak_of", "resident_of")

_TICKS = os.sysconf("SC_CLK_TCK")


class Measured:
    """One program under measurement. It says what it has to say as JSON, one object a line."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._argv, self._env, self._log = argv, env, log
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        log = self._log.open("wb")
        self._process = await asyncio.create_subprocess_exec(
            *self._argv, env={**os.environ, **self._env}, stdout=asyncio.subprocess.PIPE, stderr=log
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(10):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "not started"
        return self._process

    async def event(self, name: str, timeout: float) -> dict[str, Any]:
        """The next line about that event; what comes before it is passed over."""
        assert self.process.stdout is not None
        async with asyncio.timeout(timeout):
            async for line in self.process.stdout:
                try:
                    said: dict[str, Any] = json.loads(line)
                except ValueError:
                    continue
                if said.get("event") == name:
                    return said
        raise RuntimeError(f"{self._argv[0]} ended before it said {name!r}; its log is {self._log}")

    def resident(self) -> float:
        """Resident memory now, in MiB."""
        return resident_of(self.process.pid)

    def peak(self) -> float:
        """The most it ever had, in MiB."""
        return peak_of(self.process.pid)

    def cpu(self) -> float:
        """CPU seconds so far, of all its threads."""
        return cpu_of(self.process.pid)


def resident_of(pid: int | str = "self") -> float:
    """Resident memory of a process, in MiB."""
    return _status(pid, "VmRSS")


def peak_of(pid: int) -> float:
    """The most memory that a process ever had, in MiB."""
    return _status(pid, "VmHWM")


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _status(pid: int | str, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name} of {pid}")
