"""Rollout: changes the command of one component, verifies that the new one works, and goes back if it does not.

A command that was seen to work is noted in the folder, and so is one that was not: whoever manages the control plane
next knows what to go back to, and does not try again what failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, Refusal
from kapstan.cluster.controlplane.hosted.runtime.process.component import Component, ComponentFailed
from kapstan.cluster.controlplane.hosted.runtime.process.notes import Notes, Refused, Verified
from kapstan.cluster.controlplane.hosted.runtime.process.probes import MakeProbes, Probes
from kapstan.cluster.controlplane.hosted.runtime.process.slots import in_slot, on_trial, shares_port
from kapstan.components.ports import free_ports
from kapstan.components.process import Command

__all__ = ("Rollout",)

_LOG = logging.getLogger(__name__)

_GRACE = 10.0
_ATTEMPTS = 2
_PATIENCE = 180.0


class Rollout:
    """The place of one component: what runs there, what shall, and what it goes back to."""

    def __init__(
        self, name: ComponentName, notes: Notes, slots: Sequence[Component], changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.slots = tuple(slots)
        self.under_way = False
        self.refusal: Refusal | None = None
        self._notes = notes
        self._changed = changed
        self._slot = self._noted_slot()
        self._pending: Verified | None = None

    @property
    def component(self) -> Component:
        """The one that counts."""
        return self.slots[self._slot]

    async def to(self, command: Command, version: str, probes: MakeProbes) -> None:
        """Have a command running. A first one is only started; one that replaces another is waited for."""
        verified = self._notes.verified.get(self.name)
        wanted = Verified.of(in_slot(command, self._slot), version, self._slot)
        if verified is None or wanted.command.digest == verified.command.digest:
            self._note(refusal=None)
            await self._stop_others()
            await self.component.ensure(wanted.command, version, probes)
            self._pending = wanted
            return
        refused = self._notes.refused.get(self.name)
        if refused is not None and refused.digest == command.digest:
            self._note(refusal=Refusal(refused.version, refused.message))
            await self._stop_others()
            await self.component.ensure(verified.command, verified.version, probes)
            return
        self._note(refusal=None, under_way=True)
        try:
            refusal = await self._replace(verified, command, version, probes)
        except asyncio.CancelledError:
            self.under_way = False
            raise
        self._note(refusal=refusal)

    async def adopt(self, command: Command, version: str, probes: MakeProbes) -> None:
        """Take over what still runs from before, if it is what is wanted or what was last seen to work."""
        running = self.component.running_command
        verified = self._notes.verified.get(self.name)
        wanted = Verified.of(in_slot(command, self._slot), version, self._slot)
        for known in (wanted, verified):
            if running is not None and known is not None and known.command.digest == running:
                await self.component.ensure(known.command, known.version, probes)
                return

    async def keep(self, probes: MakeProbes) -> None:
        """Have what was last seen to work, if anything was."""
        verified = self._notes.verified.get(self.name)
        if verified is not None:
            await self.component.ensure(verified.command, verified.version, probes)

    async def verify(self) -> None:
        """Wait until what was started is ready, and note that it works."""
        await self.component.wait_ready()
        if self._pending is not None:
            self._notes.verify(self.name, self._pending)
            self._notes.refuse(self.name, None)
            self._pending = None

    async def _replace(self, verified: Verified, command: Command, version: str, probes: MakeProbes) -> Refusal | None:
        beside = len(self.slots) > 1 and shares_port(command) and shares_port(verified.command)
        beside = beside and self.component.running_command is not None
        _LOG.info("%s is replaced: version %s after %s, %s", self.name, version, verified.version, _way(beside))
        try:
            async with asyncio.timeout(_PATIENCE):
                await (self._beside if beside else self._in_place)(command, version, probes)
        except (ComponentFailed, TimeoutError) as failure:
            why = str(failure) or f"{self.name} was not ready within {_PATIENCE:.0f} s"
            await self._go_back(verified, command, version, why, probes)
            return Refusal(version, why)
        self._notes.refuse(self.name, None)
        return None

    async def _in_place(self, command: Command, version: str, probes: MakeProbes) -> None:
        """The old one ends, the new one starts."""
        wanted = Verified.of(in_slot(command, self._slot), version, self._slot)
        await self.component.ensure(wanted.command, version, probes)
        await self.component.wait_ready(attempts=_ATTEMPTS)
        self._notes.verify(self.name, wanted)

    async def _beside(self, command: Command, version: str, probes: MakeProbes) -> None:
        """The new one shows that it works, and starts; when it is ready, the old one ends."""
        slot = 1 - self._slot
        wanted = Verified.of(in_slot(command, slot), version, slot)
        old, new = self.component, self.slots[slot]
        await self._try(new, wanted.command, version, probes)
        await new.ensure(wanted.command, version, _of_slot(probes, slot))
        await new.wait_ready(attempts=_ATTEMPTS)
        self._notes.verify(self.name, wanted)
        self._slot = slot
        await old.stop(_GRACE)
        await new.ensure(wanted.command, version, probes)

    async def _try(self, new: Component, command: Command, version: str, probes: MakeProbes) -> None:
        """Have it ready once where it gets none of the tenants' connections."""
        (port,) = free_ports(1)
        await new.ensure(on_trial(command, port), version, _on_port(probes, port))
        await new.wait_ready(attempts=_ATTEMPTS)
        await new.stop(0)

    async def _go_back(self, verified: Verified, command: Command, version: str, why: str, probes: MakeProbes) -> None:
        _LOG.warning("%s stays at %s: %s", self.component.name, verified.version, why)
        self._notes.refuse(self.name, Refused(digest=command.digest, version=version, message=why))
        await self._stop_others()
        await self.component.ensure(verified.command, verified.version, probes)

    async def _stop_others(self) -> None:
        """End what a change that was given up has left in the other slot."""
        for component in self.slots:
            if component is not self.component:
                await component.stop(0)

    def _noted_slot(self) -> int:
        verified = self._notes.verified.get(self.name)
        return verified.slot if verified and verified.slot < len(self.slots) else 0

    def _note(self, *, refusal: Refusal | None, under_way: bool = False) -> None:
        if (refusal, under_way) != (self.refusal, self.under_way):
            self.refusal, self.under_way = refusal, under_way
            self._changed()


def _way(beside: bool) -> str:
    return "started beside it" if beside else "in its place"


def _of_slot(probes: MakeProbes, slot: int) -> MakeProbes:
    """Questions that only the one in a slot can answer."""

    def make() -> Probes:
        usual = probes()
        assert usual.of_slot is not None, "an API server can be asked by slot"
        return replace(usual, ready=usual.of_slot(slot), answers=None)

    return make


def _on_port(probes: MakeProbes, port: int) -> MakeProbes:
    """The same questions to the one that listens on another port."""

    def make() -> Probes:
        usual = probes()
        assert usual.on_port is not None, "an API server can be asked on any port"
        return usual.on_port(port)

    return make
