"""Supervisor: brings one control plane to what is wanted of it, step by step, and keeps it there.

Starting: etcd and API server at once (the latter finds the former when it needs it), the others when the API server is
ready: earlier they would be refused everything, and the controller manager would give up. Changing: one component
after the other, the API server before those that must not be newer. Stopping: in the opposite order, since an API
server without etcd does not end when it is asked to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from kapstan.cluster.controlplane.hosted.runtime.folder import Folder, Record
from kapstan.cluster.controlplane.hosted.runtime.interface import (
    ComponentName,
    Desired,
    Instance,
    Observation,
)
from kapstan.cluster.controlplane.hosted.runtime.ports import PortTaken, is_free
from kapstan.cluster.controlplane.hosted.runtime.process.component import Component
from kapstan.cluster.controlplane.hosted.runtime.process.explanation import explain
from kapstan.cluster.controlplane.hosted.runtime.process.notes import Notes
from kapstan.cluster.controlplane.hosted.runtime.process.probes import MakeProbes, probes_of
from kapstan.cluster.controlplane.hosted.runtime.process.programs import Programs
from kapstan.cluster.controlplane.hosted.runtime.process.rollout import Rollout
from kapstan.cluster.controlplane.hosted.runtime.process.slots import SHARING, slot_name
from kapstan.components.process import Backoff, Command
from kapstan.machinery.errors import KapstanError

__all__ = ("Supervisor",)

_LOG = logging.getLogger(__name__)

_GRACE = 10.0
_ETCD, _API_SERVER = ComponentName.ETCD, ComponentName.API_SERVER
# Of the API server; all that follow need it to be ready.
_FOLLOWERS = (ComponentName.CONTROLLER_MANAGER, ComponentName.SCHEDULER)


class Supervisor:
    """Keeps one control plane as it is wanted."""

    def __init__(
        self,
        instance: Instance,
        folder: Folder,
        programs: Programs,
        tasks: asyncio.TaskGroup,
        changed: Callable[[], None],
        exchange_port: Callable[[ComponentName], bool],
        *,
        backoff: Backoff | None = None,
    ) -> None:
        self.instance = instance
        self.folder = folder
        self._programs = programs
        self._tasks = tasks
        self._changed = changed
        self._exchange_port = exchange_port
        self._backoff = backoff or Backoff()
        self._rollouts = {name: self._rollout(name) for name in ComponentName}
        self._desired: Desired | None = None
        self._work: asyncio.Task[None] | None = None
        self._failure = ""

    async def apply(self, desired: Desired) -> None:
        """Say what there shall be; it comes about in the background."""
        try:
            self.folder.write_files(desired.files)  # also if nothing has changed but what is there
        except OSError as error:
            raise KapstanError(str(explain(error))) from error
        if desired == self._desired:
            return
        await self._stop_working()
        await self._adopt(desired)
        self._desired = desired
        self._work = self._tasks.create_task(self._bring_about(desired), name=f"bring about {self.instance.key}")

    def observe(self) -> Observation:
        refusals = [rollout.refusal for rollout in self._rollouts.values() if rollout.refusal]
        return Observation(
            components={name: rollout.component.state for name, rollout in self._rollouts.items()},
            rolling_out=any(rollout.under_way for rollout in self._rollouts.values()),
            refused=refusals[0] if refusals else None,
            failure=self._failure,
        )

    async def stop(self, grace: float = _GRACE) -> None:
        """Have nothing running, also of what an earlier manager left."""
        await self._stop_working()
        await self._stop_components(grace)

    async def detach(self) -> None:
        """Let everything run on without us."""
        await self._stop_working()
        for rollout in self._rollouts.values():
            for component in rollout.slots:
                await component.detach()

    async def _adopt(self, desired: Desired) -> None:
        """Take over what runs already, so that nobody is told that it does not."""
        if desired.replicas == 0 or not any(rollout.component.running_command for rollout in self._rollouts.values()):
            return
        try:
            commands, probes = await self._commands(desired), self._probes()
        except KapstanError:
            return  # is met again, and told, in the background
        for name, command in commands.items():
            await self._rollouts[name].adopt(command, desired.version, probes[name])

    async def _bring_about(self, desired: Desired) -> None:
        failures = 0
        while True:
            try:
                await self._converge(desired)
                self._note_failure("")
                return
            except (KapstanError, OSError) as error:
                self._note_failure(str(explain(error)))
            await asyncio.sleep(self._backoff.delay(failures))
            failures += 1

    async def _converge(self, desired: Desired) -> None:
        if desired.replicas == 0:
            await self._stop_components(_GRACE)
            return
        commands, probes = await self._commands(desired), self._probes()
        if _ETCD in commands:
            await self._rollouts[_ETCD].to(commands[_ETCD], desired.version, probes[_ETCD])
        if not await self._have_port():
            return
        await self._rollouts[_API_SERVER].to(commands[_API_SERVER], desired.version, probes[_API_SERVER])
        await self._rollouts[_API_SERVER].verify()
        for name in _FOLLOWERS:
            await self._follow(name, commands[name], desired.version, probes[name])
        for name in commands:
            await self._rollouts[name].verify()

    async def _follow(self, name: ComponentName, command: Command, version: str, probes: MakeProbes) -> None:
        """What follows the API server must not be newer: if that could not be changed, nor is this."""
        if self._rollouts[_API_SERVER].refusal is None:
            await self._rollouts[name].to(command, version, probes)
        else:
            await self._rollouts[name].keep(probes)

    async def _commands(self, desired: Desired) -> Mapping[ComponentName, Command]:
        programs = await self._programs.find(desired.version)
        commands = {}
        for spec in desired.components:
            sharing = (SHARING,) if spec.name is _API_SERVER and desired.strategy == "BlueGreen" else ()
            commands[spec.name] = Command((str(programs[spec.name]), *spec.arguments, *sharing), spec.environment)
        return commands

    def _probes(self) -> Mapping[ComponentName, MakeProbes]:
        return probes_of(self.folder.pki, self._record)

    async def _have_port(self) -> bool:
        """Whether the API server can have its port. Where ports are shared, a stranger on it would not be noticed."""
        if any(component.running_command for component in self._rollouts[_API_SERVER].slots):
            return True
        address, port = self._record.bind_address, self._record.ports.apiserver
        if is_free(address, port):
            return True
        if self._exchange_port(_API_SERVER):
            return False  # we are told what to run on the new one
        raise PortTaken(f"another program listens on {address}:{port}, the port of this control plane: end it")

    async def _stop_components(self, grace: float) -> None:
        for name in reversed(ComponentName):
            for component in self._rollouts[name].slots:
                await component.stop(grace)

    async def _stop_working(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
            self._work = None
        self._desired = None

    def _rollout(self, name: ComponentName) -> Rollout:
        names = [slot_name(0), slot_name(1)] if name is _API_SERVER else [str(name)]
        slots = [
            Component(
                process, self.folder.path, self._tasks, lambda: self._component_changed(name), backoff=self._backoff
            )
            for process in names
        ]
        return Rollout(name, Notes(self.folder), slots, self._changed)

    def _component_changed(self, name: ComponentName) -> None:
        rollout = self._rollouts[name]
        if rollout.component.state.reason == "AddressInUse" and self._exchange_port(name):
            _LOG.info("%s of %s gets another port", name, self.instance.key)
        self._changed()

    def _note_failure(self, message: str) -> None:
        if message != self._failure:
            self._failure = message
            if message:
                _LOG.warning("%s: %s", self.instance.key, message)
            self._changed()

    @property
    def _record(self) -> Record:
        record = self.folder.record
        assert record is not None, "a control plane has its ports before it is started"
        return record
