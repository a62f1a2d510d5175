"""Trouble: what is wrong with a computer at a time, and when that changes. It follows from the object and the time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from kapstan.cluster.api.infrastructure.simulatedmachine import Failure, SimulatedMachine
from kapstan.cluster.infrastructure.simulated.fate import happens
from kapstan.simulation import Failure as Symptom

__all__ = ("Trouble", "trouble_at")

_PERIOD = 10  # seconds
_SYMPTOMS = {"Dies": Symptom.DEAD, "NotReady": Symptom.NOT_READY}


class Trouble(NamedTuple):
    """What is wrong, how the node shows it, and how long until that changes (nothing: it does not)."""

    failure: Failure | None = None
    symptom: Symptom | None = None
    lasts: timedelta = timedelta()

    @property
    def boots(self) -> bool:
        return self.failure is None or self.failure.type != "NeverBoots"

    @property
    def died(self) -> bool:
        return self.failure is not None and self.failure.type == "Dies"


def trouble_at(computer: SimulatedMachine, booted: datetime, now: datetime) -> Trouble:
    """What is wrong with a computer that has booted. Of several failures the one that began last."""
    fated = {one.type: _begins(one, booted) for one in computer.spec.failures if happens(one, computer.uid)}
    begun = [one for one in computer.spec.failures if one.type in fated and fated[one.type] <= now]
    failure = max(begun, key=lambda one: fated[one.type], default=None)
    changes = [begins for begins in fated.values() if begins > now]
    symptom = _SYMPTOMS.get(failure.type) if failure is not None else None
    if failure is not None and failure.type == "Flaps":
        period = timedelta(seconds=failure.period_seconds or _PERIOD)
        turns = (now - fated["Flaps"]) // period
        symptom = Symptom.NOT_READY if turns % 2 == 0 else None
        changes.append(fated["Flaps"] + (turns + 1) * period)
    return Trouble(failure, symptom, min(changes) - now if changes else timedelta())


def _begins(failure: Failure, booted: datetime) -> datetime:
    return booted + timedelta(seconds=failure.after_seconds or 0)
