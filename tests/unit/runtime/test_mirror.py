"""The mirror: own writes are read at once, and handlers still hear a story without gaps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.deltaqueue import Delta, Replaced
from kapstan.runtime.mirror import Mirror
from kapstan.runtime.snapshot import Snapshot
from kapstan.runtime.store import Store

A = ObjectKey("ns", "a")


def state(version: int, *, name: str = "a", uid: str = "u", deleting: bool = False, **metadata: Any) -> Snapshot:
    meta = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version), **metadata}
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Snapshot.of(json.dumps({"metadata": meta}).encode())


def version(one: Snapshot | None) -> str | None:
    return None if one is None else one.resource_version


class Told:
    """A mirror, and what its handlers have heard as (old version, new version)."""

    def __init__(self) -> None:
        self.story: list[tuple[str | None, str | None]] = []
        self.mirror = Mirror(Store(), self.hear)

    def hear(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        self.story.append((version(old), version(new)))

    def watch(self, *states: Snapshot) -> None:
        for one in states:
            self.mirror.handle(Delta(one))

    def gone(self, last: Snapshot) -> None:
        self.mirror.handle(Delta(last, gone=True))

    def listed(self, version: int, *names: str) -> None:
        self.mirror.handle(Replaced("", {ObjectKey("ns", name) for name in names}, str(version)))

    @property
    def read(self) -> str | None:
        return version(self.mirror.store.get(A))


def test_what_the_watch_brings_is_read_and_told() -> None:
    told = Told()
    told.watch(state(1), state(2))
    told.gone(state(3))
    assert told.story == [(None, "1"), ("1", "2"), ("3", None)]
    assert told.read is None


def test_a_state_that_comes_twice_is_told_once() -> None:
    told = Told()
    told.watch(state(1), state(1))
    assert told.story == [(None, "1")]


def test_an_own_write_is_read_at_once_and_told_when_the_watch_brings_it() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.wrote(state(5))
    assert told.read == "5" and told.story == [(None, "1")]
    told.watch(state(5))
    assert told.story == [(None, "1"), ("1", "5")]


def test_older_states_that_arrive_after_an_own_write_are_told_but_not_read() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.wrote(state(5))
    told.watch(state(3))
    assert told.read == "5"
    told.watch(state(5), state(7))
    assert told.read == "7"
    assert told.story == [(None, "1"), ("1", "3"), ("3", "5"), ("5", "7")]


def test_an_own_write_that_the_watch_has_overtaken_changes_nothing() -> None:
    told = Told()
    told.watch(state(9))
    told.mirror.wrote(state(5))
    assert told.read == "9"


def test_an_object_that_we_made_is_read_before_the_watch_knows_it() -> None:
    told = Told()
    told.mirror.wrote(state(5))
    assert told.read == "5" and told.story == []
    told.listed(4)
    assert told.read == "5", "a list from before it was made says nothing about it"
    told.watch(state(5))
    assert told.story == [(None, "5")]


def test_an_object_that_we_made_and_that_a_later_list_lacks_is_gone() -> None:
    told = Told()
    told.mirror.wrote(state(5))
    told.listed(6)
    assert told.read is None and told.story == []


def test_what_we_deleted_is_not_read_any_more_even_if_older_states_still_arrive() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.deleted(A)
    assert told.read is None
    told.watch(state(2))
    assert told.read is None
    told.gone(state(3))
    assert told.story == [(None, "1"), ("1", "2"), ("3", None)]


def test_what_we_deleted_is_read_again_if_finalizers_keep_it() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.deleted(A)
    told.watch(state(2, deleting=True))
    assert told.read == "2"


def test_a_new_object_of_the_name_that_we_deleted_is_read() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.deleted(A)
    told.gone(state(2))
    told.watch(state(3, uid="v"))
    assert told.read == "3"


def test_taking_the_last_finalizer_away_deletes() -> None:
    told = Told()
    told.watch(state(1, deleting=True, finalizers=["f"]))
    told.mirror.wrote(state(4, deleting=True))
    assert told.read is None
    told.watch(state(3, deleting=True, finalizers=["f"], labels={"a": "b"}))
    assert told.read is None
    told.gone(state(4, deleting=True))
    assert told.story == [(None, "1"), ("1", "3"), ("4", None)]


def test_taking_the_last_finalizer_away_deletes_although_the_answer_has_the_old_version() -> None:
    """That is what kube-apiserver answers: the object as it last was, without the finalizer."""
    told = Told()
    told.watch(state(1, deleting=True, finalizers=["f"]))
    told.mirror.wrote(state(1, deleting=True))
    assert told.read is None
    told.gone(state(2, deleting=True))
    assert told.story == [(None, "1"), ("2", None)]


def test_a_pod_with_a_grace_period_stays_although_nothing_finalizes_it() -> None:
    told = Told()
    told.watch(state(1, deleting=True, deletionGracePeriodSeconds=30))
    told.mirror.wrote(state(2, deleting=True, deletionGracePeriodSeconds=30))
    assert told.read == "2"


def test_an_object_replaced_while_nobody_looked_is_told_as_gone_and_new() -> None:
    told = Told()
    told.watch(state(1))
    told.watch(state(8, uid="v"))
    assert told.story == [(None, "1"), ("1", None), (None, "8")]


def test_an_object_deleted_while_nobody_looked_is_told_with_its_last_known_state() -> None:
    told = Told()
    told.watch(state(1), state(2, name="b"))
    told.listed(9, "b")
    assert told.story[2:] == [("1", None)]


def test_a_list_of_one_namespace_says_nothing_about_others() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.handle(Replaced("other", set(), "9"))
    assert told.read == "1"


def test_an_object_that_we_made_anew_survives_the_news_of_its_predecessors_end() -> None:
    told = Told()
    told.watch(state(1))
    told.mirror.deleted(A)
    told.mirror.wrote(state(5, uid="v"))
    told.gone(state(4))
    assert told.read == "5"
    told.watch(state(5, uid="v"))
    assert told.story == [(None, "1"), ("4", None), (None, "5")]


def test_an_answer_that_comes_after_the_watch_told_of_the_end_changes_nothing() -> None:
    """A deletion is answered with the object while whoever finalizes it may be done already."""
    told = Told()
    told.watch(state(1, finalizers=["f"]), state(2, deleting=True, finalizers=["f"]))
    told.gone(state(3, deleting=True))
    told.mirror.wrote(state(2, deleting=True, finalizers=["f"]))
    assert told.read is None
    told.mirror.wrote(state(5, uid="v"))
    assert told.read == "5", "what is made after that is another object"


def test_a_late_answer_to_a_deletion_leaves_a_new_object_of_the_same_name_alone() -> None:
    told = Told()
    told.watch(state(1))
    told.gone(state(2))
    told.watch(state(3, uid="v"))
    told.mirror.deleted(A, "u")
    assert told.read == "3"


def test_only_the_last_ends_are_remembered() -> None:
    told = Told()
    for number in range(5000):
        told.gone(state(number, name=f"n{number}"))
    assert len(told.mirror._ends) < 5000


NAMES = st.sampled_from("ab")


class MirrorMachine(RuleBasedStateMachine):
    """A server with its watch and its answers behind it; this process and others write. Whatever comes in whichever
    order, readers never go back, and once all has come, readers and handlers know exactly what the server has."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.objects: dict[str, Snapshot] = {}
        self.stream: list[Delta] = []
        self.answers: list[Callable[[], None]] = []
        self.mirror = Mirror(Store(), self.hear)
        self.known: dict[str, Snapshot] = {}
        self.read: dict[str, int] = {}
        self.dead: set[str] = set()  # uids of what this process has seen and deleted, and is gone

    def hear(self, old: Snapshot | None, new: Snapshot | None, initial: bool) -> None:
        name = (old or new).name  # type: ignore[union-attr]
        before = self.known.pop(name, None)
        assert (old is None) == (before is None), "the story has a gap"
        if old is not None and before is not None:
            assert old.uid == before.uid
            assert new is None or old.resource_version == before.resource_version
        if new is not None:
            self.known[name] = new

    def write(self, name: str, *, ours: bool, deleting: bool = False, finalizers: bool | None = None) -> None:
        self.version += 1
        old = self.objects.get(name)
        kept = finalizers if finalizers is not None else old is not None and "fin" in old.labels
        new = state(
            self.version,
            name=name,
            uid=old.uid if old else f"u{self.version}",
            deleting=deleting or (old is not None and old.deleting),
            labels={"fin": "1"} if kept else {},
            finalizers=["f"] if kept else [],
        )
        if new.finished():
            del self.objects[name]
            self.stream.append(Delta(new, gone=True))
        else:
            self.objects[name] = new
            self.stream.append(Delta(new))
        if ours:
            self.answers.append(lambda: self.mirror.wrote(new))

    @rule(name=NAMES, ours=st.booleans(), finalizers=st.booleans())
    def create_or_change(self, name: str, ours: bool, finalizers: bool) -> None:
        old = self.objects.get(name)
        if old is not None and old.deleting and finalizers:
            finalizers = "fin" in old.labels  # none may be added any more
        self.write(name, ours=ours, finalizers=finalizers)

    @precondition(lambda self: self.objects)
    @rule(ours=st.booleans(), data=st.data())
    def delete(self, ours: bool, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.objects)))
        old = self.objects[name]
        if "fin" in old.labels:
            if not old.deleting:
                self.write(name, ours=False, deleting=True)
        else:
            self.version += 1
            del self.objects[name]
            last = state(self.version, name=name, uid=old.uid)
            self.stream.append(Delta(last, gone=True))
        if ours:
            self.answers.append(lambda: self.deleted(old))

    def deleted(self, old: Snapshot) -> None:
        seen = self.mirror.store.get(old.key)
        self.mirror.deleted(old.key, old.uid)
        if "fin" not in old.labels and seen is not None and seen.uid == old.uid:
            self.dead.add(old.uid)

    @precondition(lambda self: self.answers)
    @rule()
    def answer(self) -> None:
        self.answers.pop(0)()

    @precondition(lambda self: self.stream)
    @rule()
    def watch(self) -> None:
        self.mirror.handle(self.stream.pop(0))

    @rule()
    def list_again(self) -> None:
        """The watch breaks: what it still had is lost, the present state is told instead."""
        self.stream.clear()
        for one in self.objects.values():
            self.mirror.handle(Delta(one))
        self.mirror.handle(Replaced("", {one.key for one in self.objects.values()}, str(self.version)))

    @invariant()
    def readers_never_go_back(self) -> None:
        for one in self.mirror.store:
            version = int(one.resource_version)
            assert version >= self.read.get(one.name, 0)
            self.read[one.name] = version
            assert one.uid not in self.dead

    def teardown(self) -> None:
        while self.stream:
            self.watch()
        while self.answers:
            self.answer()
        expected = {name: one.resource_version for name, one in self.objects.items()}
        assert {one.name: one.resource_version for one in self.mirror.store} == expected
        assert {name: one.resource_version for name, one in self.known.items()} == expected
        assert not self.mirror._told and not self.mirror._deleted, "nothing is kept for ever"


MirrorMachine.TestCase.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
TestMirrorInvariants = MirrorMachine.TestCase
