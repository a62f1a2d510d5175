"""A reconcile is not woken by the status that it wrote itself, and by everything else."""

from __future__ import annotations

from kapstan.cluster.api.core import Machine
from kapstan.cluster.skeleton import ownstatus
from kapstan.cluster.skeleton.ownstatus import beyond_own_status, wrote_status
from kapstan.machinery.codec import encode
from kapstan.runtime.change import Change
from kapstan.runtime.snapshot import Snapshot


def machine(version: str, *, deleting: bool = False) -> Snapshot:
    metadata = {"name": "m", "namespace": "default", "uid": "uid", "resourceVersion": version}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Snapshot.of(encode({"metadata": metadata}))


def wakes(old: Snapshot | None, new: Snapshot | None) -> bool:
    return beyond_own_status(Change(Machine, old, new))


def test_the_own_write_is_held_back_once() -> None:
    wrote_status("uid", "1", "2")
    assert not wakes(machine("1"), machine("2"))
    assert wakes(machine("1"), machine("2"))


def test_a_change_that_has_others_in_it_is_not() -> None:
    wrote_status("uid", "2", "3")
    assert wakes(machine("1"), machine("3"))
    assert wakes(machine("2"), machine("4"))


def test_what_comes_goes_or_is_being_deleted_is_not() -> None:
    wrote_status("uid", "1", "2")
    assert wakes(None, machine("2"))
    assert wakes(machine("2"), None)
    assert wakes(machine("1"), machine("2", deleting=True))


def test_nothing_is_remembered_of_what_is_gone() -> None:
    wrote_status("uid", "1", "2")
    assert wakes(machine("1"), None)
    assert wakes(machine("1"), machine("2"))


def test_of_many_writes_that_nobody_hears_of_the_latest_are_remembered() -> None:
    for number in range(20_000):
        wrote_status(f"uid-{number}", "1", "2")
    wrote_status("uid", "1", "2")
    assert len(ownstatus._written) <= 10_000
    assert not wakes(machine("1"), machine("2"))


def test_a_write_that_changes_nothing_holds_nothing_back() -> None:
    """The next time that the object is told of as it was is a resync."""
    wrote_status("uid", "1", "1")
    assert wakes(machine("1"), machine("1"))
