"""Whole rollouts in a small cluster: any edits and failures, controllers that die between any two writes.

The truth is one store of sets and machines. The controllers are reduced to what they decide: which set is wanted, how
large each shall be, which machines are made and deleted, under which names. Each takes one step at a time, so others
act in between, on what they see then; whoever dies has done a part of its work and forgets everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.cluster.core.builders import EPOCH, a_deployment

from kapstan.cluster.api.core import Machine, MachineSet
from kapstan.cluster.api.core.machine import NodeReference
from kapstan.cluster.core.machinedeployment.choice import choose, revise, revision_after
from kapstan.cluster.core.machinedeployment.desired import desired_set, limits_of, set_in_place
from kapstan.cluster.core.machinedeployment.plan import first_size, has_heard, machines_of, planned_sizes, state_of
from kapstan.cluster.core.machineset.deletionorder import first_to_go
from kapstan.cluster.core.machineset.desired import desired_machine
from kapstan.cluster.core.machineset.naming import NEXT, Names
from kapstan.cluster.skeleton.conditions import false, put, true

BROKEN, LAST = "v1.36.9", "v1.36.5"
VERSIONS = ("v1.36.0", "v1.36.1", BROKEN)


class Cluster:
    """The truth, and who works on it."""

    def __init__(self, replicas: int, surge: int, unavailable: int) -> None:
        rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
        strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
        self.deployment = a_deployment(replicas, rollout={"strategy": strategy})
        self.sets: dict[str, MachineSet] = {}
        self.machines: dict[str, Machine] = {}
        self.unseen: set[str] = set()  # machines that a cache which is filled now may not have
        self.counted: set[str] = set()  # sets that this process has counted
        self.working: dict[str, Iterator[None]] = {}
        self.promised: dict[str, int] = {}  # by set: how many machines stay available, as of when it last shrank
        self._ticks = 0

    # --- The world --------------------------------------------------------------------------------------------------

    @property
    def available(self) -> int:
        return sum(self._is_available(machine) for machine in self.machines.values())

    def edit(self, version: str) -> None:
        self.deployment.spec.template.spec.version = version
        self.deployment.metadata.generation += 1

    def boot(self, which: int) -> None:
        self._any(which, self._can_boot, self._boot)

    def fail(self, which: int) -> None:
        before = self.available
        self._any(which, self._is_available, self._fail)
        self.promised = {name: count - (before - self.available) for name, count in self.promised.items()}

    def finish(self, which: int) -> None:
        self._any(which, lambda machine: machine.deleting, lambda machine: self.machines.pop(machine.name))

    def remediate(self) -> None:
        for machine in list(self.machines.values()):
            if _has_failed(machine):
                self._delete(machine)

    def _any(self, which: int, fits: Callable[[Machine], bool], act: Callable[[Machine], object]) -> None:
        found = [machine for machine in self.machines.values() if fits(machine)]
        if found:
            act(found[which % len(found)])

    @staticmethod
    def _is_available(machine: Machine) -> bool:
        return not machine.deleting and any(
            one.type == "Available" and one.status == "True" for one in machine.status.conditions
        )

    @staticmethod
    def _can_boot(machine: Machine) -> bool:
        return machine.spec.version != BROKEN and not machine.status.conditions

    @staticmethod
    def _boot(machine: Machine) -> None:
        machine.status.node_ref = NodeReference(name=machine.name)
        put(machine, true("Available", "Available"))

    @staticmethod
    def _fail(machine: Machine) -> None:
        machine.status.node_ref = None
        put(machine, false("Available", "Failed"))

    def _now(self) -> object:
        self._ticks += 1
        return EPOCH + timedelta(seconds=self._ticks)

    # --- Controllers ------------------------------------------------------------------------------------------------

    def restart(self, stale: int) -> None:
        """Everybody dies, and begins again with a cache that may be from the past."""
        self.working.clear()
        self.counted.clear()
        if not stale % 2:
            self.unseen.clear()

    def deploy(self, writes: int) -> None:
        """The deployment's controller: so many writes, then it may be dead."""
        deployment, machines = self.deployment, list(self.machines.values())
        choice = choose(deployment, list(self.sets.values()), EPOCH)
        if choice.new is None:
            revision = revision_after(choice.old)
            made = desired_set(deployment, revision, first_size(deployment, choice.old, machines))
            made.metadata.uid, made.metadata.generation = f"uid-{made.name}", 1
            made.metadata.creation_timestamp = self._now()  # type: ignore[assignment]
            assert made.name not in self.sets
            self.sets[made.name] = made
            return
        sizes = planned_sizes(deployment, choice, machines)
        for machine_set in (choice.new, *choice.old):
            if writes <= 0:
                return
            size = sizes.get(machine_set.name)
            set_in_place(machine_set, deployment)
            if machine_set is choice.new:
                revise(machine_set, choice.old)
            if size is not None:
                self.promised[machine_set.name] = min(self.available, limits_of(deployment).least_available)
                machine_set.spec.replicas = size
                machine_set.metadata.generation += 1
                writes -= 1
        self._clean_up(choice.new, choice.old)

    def _clean_up(self, new: MachineSet, old: list[MachineSet]) -> None:
        machines = list(self.machines.values())
        current, replicas = state_of(new, machines), self.deployment.spec.replicas
        states = {one.name: state_of(one, machines) for one in old}
        if current.actual == current.available == replicas and not any(state.actual for state in states.values()):
            for one in old:
                if not states[one.name].wanted and has_heard(one):
                    del self.sets[one.name]

    def work(self, which: int) -> None:
        """One step of the controller of a set: it goes on where it was, or looks again."""
        names = sorted(self.sets)
        if not names:
            return
        name = names[which % len(names)]
        steps = self.working.setdefault(name, self._work(self.sets[name]))
        if next(steps, "done") == "done":
            self.working.pop(name, None)

    def _work(self, machine_set: MachineSet) -> Iterator[None]:
        generation, wanted = machine_set.metadata.generation, machine_set.spec.replicas or 0
        seen = self._seen(machine_set)
        if any(machine.deleting for machine in seen):
            self._note(machine_set, seen)
            yield
        if len(seen) < wanted:
            yield from self._make(machine_set, seen, wanted - len(seen))
        elif len(seen) > wanted:
            self._note(machine_set, seen)
            yield
            for machine in first_to_go(seen, len(seen) - wanted):
                if not machine.deleting and machine.name in self.machines:
                    assert machine_set.name in self.promised, "a set that never shrank has too many machines"
                    self._delete_checked(machine, self.promised[machine_set.name])
                    yield
        if machine_set.metadata.generation == generation:  # else the status is refused, and it looks again
            put(machine_set, true("ScalingUp", "Looked"))

    def _seen(self, machine_set: MachineSet) -> list[Machine]:
        """Of a set that nobody has looked at before, the cache may be behind; of others it has been checked."""
        ours = machines_of(machine_set, self.machines.values())
        fresh = not machine_set.status.conditions and NEXT not in machine_set.metadata.annotations
        if fresh and machine_set.uid not in self.counted:
            ours = [machine for machine in ours if machine.name not in self.unseen]
        self.counted.add(machine_set.uid)
        return ours

    def _make(self, machine_set: MachineSet, seen: list[Machine], missing: int) -> Iterator[None]:
        names = Names(machine_set).free({machine.name for machine in seen})
        for _ in range(missing):
            name = next(names)
            if name not in self.machines:
                made = desired_machine(machine_set, name)
                made.metadata.uid, made.metadata.creation_timestamp = f"uid-{name}", self._now()  # type: ignore[assignment]
                self.machines[name] = made
                self.unseen.add(name)
            yield

    @staticmethod
    def _note(machine_set: MachineSet, seen: list[Machine]) -> None:
        following = Names(machine_set).after({machine.name for machine in seen})
        machine_set.metadata.annotations[NEXT] = str(following)

    def _delete_checked(self, machine: Machine, promised: int) -> None:
        was_available = self._is_available(machine)
        self._delete(machine)
        assert not was_available or self.available >= promised, "an available machine was missed"

    @staticmethod
    def _delete(machine: Machine) -> None:
        if not machine.deleting:
            machine.metadata.deletion_timestamp = EPOCH


def _has_failed(machine: Machine) -> bool:
    return any(one.type == "Available" and one.reason == "Failed" for one in machine.status.conditions)


OPERATIONS = ("deploy", "work", "work", "work", "boot", "boot", "finish", "fail", "edit", "restart")
Operations = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 7)), max_size=120)


def play(cluster: Cluster, operations: list[tuple[str, int]], check: Callable[[], None]) -> None:
    for operation, number in operations:
        if operation == "edit":
            cluster.edit(VERSIONS[number % len(VERSIONS)])
        else:
            getattr(cluster, operation)(number)
        check()


def settle(cluster: Cluster, check: Callable[[], None]) -> None:
    """Nothing else happens: the deployment becomes as it is wanted."""
    cluster.edit(LAST)
    for turn in range(2000):
        play(cluster, [("deploy", 9), *(("work", turn + index) for index in range(4))], check)
        play(cluster, [("boot", 0), ("finish", 0)], check)
        cluster.remediate()
        if _is_settled(cluster):
            return
    raise AssertionError(f"did not settle: {[(one.name, one.spec.replicas) for one in cluster.sets.values()]}")


def _is_settled(cluster: Cluster) -> bool:
    versions = [machine.spec.version for machine in cluster.machines.values()]
    replicas = cluster.deployment.spec.replicas
    return len(cluster.sets) == 1 and versions == [LAST] * (replicas or 0) and cluster.available == replicas


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2), Operations)
def test_rollouts_stay_in_bounds_and_end(
    replicas: int, surge: int, unavailable: int, operations: list[tuple[str, int]]
) -> None:
    """Never more machines than allowed, never an available one deleted that is needed, and always an end."""
    cluster = Cluster(replicas, surge, unavailable)
    most = limits_of(cluster.deployment).most

    def check() -> None:
        assert len(cluster.machines) <= most, "there are more machines than allowed"

    play(cluster, operations, check)
    settle(cluster, check)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), Operations), min_size=1, max_size=4))
def test_rollouts_end_however_they_are_scaled(parts: list[tuple[int, list[tuple[str, int]]]]) -> None:
    cluster = Cluster(2, 1, 0)
    for replicas, operations in parts:
        cluster.deployment.spec.replicas = replicas
        play(cluster, operations, lambda: None)
    settle(cluster, lambda: None)
