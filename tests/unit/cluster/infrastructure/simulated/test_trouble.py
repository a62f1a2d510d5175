"""What is wrong with a computer follows from its object and the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kapstan.cluster.api.infrastructure.simulatedmachine import Failure, SimulatedMachine, SimulatedMachineSpec
from kapstan.cluster.infrastructure.simulated.machine.trouble import Trouble, trouble_at
from kapstan.machinery.meta import ObjectMeta
from kapstan.simulation import Failure as Symptom

BOOTED = datetime(2030, 1, 1, tzinfo=UTC)


def after(seconds: float, *failures: Failure) -> Trouble:
    spec = SimulatedMachineSpec(failures=list(failures))
    computer = SimulatedMachine(metadata=ObjectMeta(name="c", uid="1"), spec=spec)
    return trouble_at(computer, BOOTED, BOOTED + timedelta(seconds=seconds))


def test_nothing_is_wrong_unless_something_is_said() -> None:
    assert after(1000) == Trouble()


def test_before_its_time_a_failure_is_only_waited_for() -> None:
    assert after(4, Failure(type="Dies", after_seconds=10)) == Trouble(lasts=timedelta(seconds=6))


def test_what_has_died_stays_dead() -> None:
    for seconds in (10, 10_000):
        trouble = after(seconds, Failure(type="Dies", after_seconds=10))
        assert trouble.died and trouble.symptom is Symptom.DEAD and not trouble.lasts


def test_what_never_boots_has_no_node() -> None:
    assert not after(0, Failure(type="NeverBoots")).boots
    assert after(0, Failure(type="NotReady")).boots


def test_flapping_is_not_ready_and_ready_by_turns() -> None:
    flaps = Failure(type="Flaps", after_seconds=5, period_seconds=3)
    seen = [after(seconds, flaps).symptom for seconds in (4, 5, 7, 8, 10, 11)]
    assert seen == [None, Symptom.NOT_READY, Symptom.NOT_READY, None, None, Symptom.NOT_READY]
    assert after(6, flaps).lasts == timedelta(seconds=2)


def test_of_several_failures_the_last_counts() -> None:
    failures = (Failure(type="NotReady", after_seconds=1), Failure(type="Dies", after_seconds=9))
    assert after(2, *failures) == Trouble(failures[0], Symptom.NOT_READY, timedelta(seconds=7))
    assert after(9, *failures).died
