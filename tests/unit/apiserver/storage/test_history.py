"""The bounds of the event history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.storage.history import History, HistoryLimits
from kapstan.apiserver.storage.interface import Event, Record
from kapstan.machinery.gvk import GroupResource

PODS = GroupResource("", "pods")


def event(revision: int, *, size: int = 10, time: float = 0.0) -> Event:
    return Event("ADDED", Record(PODS, "a/x", revision, b"x" * size), None, time)


def test_age_bounds_the_history() -> None:
    history = History(0, HistoryLimits(seconds=100), clock=lambda: 250.0)
    for revision, time in enumerate((0.0, 100.0, 200.0), start=1):
        history.append(event(revision, time=time))
    assert [found.revision for found in history.trim()] == [1, 2]
    assert history.floor == 2
    assert [found.revision for found in history.since(2)] == [3]


def test_size_bounds_the_history() -> None:
    history = History(0, HistoryLimits(bytes=25), clock=lambda: 0.0)
    for revision in (1, 2, 3, 4):
        history.append(event(revision))
    assert history.overfull
    assert [found.revision for found in history.trim()] == [1, 2]
    assert not history.overfull


@given(
    revisions=st.lists(st.integers(1, 5), max_size=40),
    limit=st.integers(0, 10),
    asked=st.integers(0, 100),
)
def test_what_is_kept_is_exactly_what_follows_the_floor(revisions: list[int], limit: int, asked: int) -> None:
    """Revisions may have gaps: a write that failed used one up."""
    history = History(0, HistoryLimits(events=limit), clock=lambda: 0.0)
    written: list[int] = []
    for step in revisions:
        written.append((written[-1] if written else 0) + step)
        history.append(event(written[-1]))
    history.trim()
    assert len(history) == min(limit, len(written))
    if asked >= history.floor:
        assert [found.revision for found in history.since(asked)] == [
            revision for revision in written if revision > asked
        ]
