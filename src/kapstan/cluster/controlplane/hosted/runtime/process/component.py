"""Component: one program of a control plane that is kept running, and what is known of it at any time.

It is told which command to run; from then on it is started, asked until it is ready, watched, and started again with
back-off whenever it ends. A program that still runs from before is adopted as it is. Whoever listens hears of every
change of its condition.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentState, Condition
from kapstan.cluster.controlplane.hosted.runtime.process.explanation import Explanation, explain, explain_lines
from kapstan.cluster.controlplane.hosted.runtime.process.probes import MakeProbes, Probes
from kapstan.components import logs, pidfile
from kapstan.components.process import Backoff, Command, Probe, Process
from kapstan.machinery.errors import KapstanError

__all__ = ("Component", "ComponentFailed")

_LOG = logging.getLogger(__name__)

# On a machine that starts many at once even a healthy API server takes minutes.
_PATIENCE = 300.0
_CHECK_INTERVAL = 10.0
# One answer that does not come is no illness yet; after this many, starting it again is the cure, as kubeadm has it.
_UNHEALTHY_AFTER = 2
_RESTART_AFTER = 8


class ComponentFailed(KapstanError):
    """A component ended, or did not start."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__(str(explanation))
        self.explanation = explanation


class Component:
    """A program that is kept running while it is wanted."""

    def __init__(
        self,
        name: str,
        folder: Path,
        tasks: asyncio.TaskGroup,
        changed: Callable[[], None],
        *,
        backoff: Backoff | None = None,
    ) -> None:
        self.name = name
        self.state = ComponentState()
        self._folder = folder
        self._process = Process(name, Command(()), folder)
        self._tasks = tasks
        self._changed = changed
        self._backoff = backoff or Backoff()
        self._make_probes: MakeProbes | None = None
        self._task: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._failures = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def running_command(self) -> str | None:
        """The digest of the command that runs, whoever started it."""
        identity = pidfile.read(self._folder / "run" / f"{self.name}.pid")
        return identity.command if identity and pidfile.is_alive(identity) else None

    async def ensure(self, command: Command, version: str, probes: MakeProbes) -> None:
        """Have it running with this command. Returns at once, unless there is one to adopt, which is asked first."""
        self._make_probes = probes
        if self._task is not None and self._process.command.digest == command.digest:
            return
        await self._stop_watching()
        self._process.command = command
        adopted = self.running_command == command.digest and await probes().ready() is None
        self._note(Condition.READY if adopted else Condition.STARTING, version=version)
        self._task = self._tasks.create_task(self._run(), name=f"keep {self.name} running")

    async def stop(self, grace: float) -> None:
        """Have it not running."""
        await self._stop_watching()
        await self._process.stop(grace)
        self._note(Condition.STOPPED)

    async def wait_ready(self, *, attempts: int | None = None) -> None:
        """Wait until it is ready; ComponentFailed if it fails that often meanwhile."""
        failures = self._failures
        while not self.state.ready:
            if attempts is not None and self._failures - failures >= attempts:
                raise ComponentFailed(Explanation(self.state.message, self.state.reason))
            self._moved.clear()
            await self._moved.wait()

    async def detach(self) -> None:
        """Let it run on without us."""
        await self._stop_watching()
        self._process.detach()

    async def _run(self) -> None:
        in_a_row = 0
        while True:
            began = time.monotonic()
            explanation = await self._until_it_fails()
            in_a_row = 0 if time.monotonic() - began >= self._backoff.healthy_after else in_a_row
            delay = self._backoff.delay(in_a_row)
            in_a_row += 1
            _LOG.warning("%s; it starts again in %.1f s; log: %s", explanation, delay, self._process.log)
            self._failures += 1
            self._note(Condition.FAILED, explanation)
            self._moved.set()
            await asyncio.sleep(delay)
            self.state = replace(self.state, restarts=self.state.restarts + 1)

    async def _until_it_fails(self) -> Explanation:
        try:
            await self._start()
            await self._watch()
        except ComponentFailed as failure:
            return failure.explanation
        except (KapstanError, OSError) as error:
            if self._process.running:  # it runs, but did not get ready
                await self._process.stop()
            return explain(error)

    async def _start(self) -> None:
        await self._process.start()
        probes = self._probes()
        if probes.answers is not None and not self.state.ready:
            await self._until(probes.answers)
            self._note(Condition.ANSWERING)
        await self._until(probes.ready)
        self._note(Condition.READY)

    async def _until(self, probe: Probe) -> None:
        """Ask until the answer is good; meanwhile, why it is not can be read from the state."""

        async def ask() -> str | None:
            reason = await probe()
            if reason is not None and self.state.condition is not Condition.FAILED:
                self.state = replace(self.state, message=f"{self.name}: {reason}")
            return reason

        await self._process.wait_ready(_PATIENCE, probe=ask)

    async def _watch(self) -> NoReturn:
        """Until it ends, or has to be ended."""
        unwell = 0
        while True:
            try:
                async with asyncio.timeout(_CHECK_INTERVAL):
                    raise ComponentFailed(self._explain_end(await self._process.wait()))
            except TimeoutError:
                logs.rotate(self._process.log)
            unwell = await self._check(unwell)

    async def _check(self, unwell: int) -> int:
        """How often in a row it did not answer well."""
        probes = self._probes()
        reason = await probes.ready()
        if reason is None:
            self._note(Condition.READY)
            return 0
        unwell += 1
        if unwell >= _UNHEALTHY_AFTER:
            self._note(Condition.UNHEALTHY, Explanation(f"{self.name}: {reason}", "Unhealthy"))
        if unwell >= _RESTART_AFTER and (cause := await probes.alive()) is not None:
            await self._process.stop()
            raise ComponentFailed(Explanation(f"{self.name} was ended, since {cause}", "Unresponsive"))
        return unwell

    async def _stop_watching(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def _probes(self) -> Probes:
        assert self._make_probes is not None, "a component is started with its probes"
        return self._make_probes()

    def _note(self, condition: Condition, explanation: Explanation | None = None, *, version: str = "") -> None:
        before = self.state
        self.state = replace(
            before,
            condition=condition,
            message=str(explanation or ""),
            reason=explanation.reason if explanation else "",
            version=version or before.version,
        )
        if (condition, self.state.reason, self.state.version) != (before.condition, before.reason, before.version):
            self._moved.set()
            self._changed()

    def _explain_end(self, code: int | None) -> Explanation:
        if code is not None and code < 0:  # what it wrote last has nothing to do with it
            return Explanation(f"{self.name} was killed by {signal.Signals(-code).name}", "Killed")
        how = "" if code is None else f" with exit code {code}"
        return explain_lines(f"{self.name} ended{how}", logs.tail(self._process.log))
