"""Runnables: started at their stage, ended with patience."""

from __future__ import annotations

import asyncio

import pytest

from kapstan.runtime.runnables import Runnable, Runnables, runnable_of


class Recorder:
    """A set of runnables that note what happens to them."""

    def __init__(self) -> None:
        self.story: list[str] = []
        self.runnables = Runnables()

    def make(self, name: str, *, elected: bool = True, patience: float | None = None, warm: bool = False) -> Runnable:
        stopping = asyncio.Event()

        async def run() -> None:
            self.story.append(f"{name} runs")
            try:
                await stopping.wait()
                await asyncio.sleep(patience or 0)
                self.story.append(f"{name} done")
            except asyncio.CancelledError:
                self.story.append(f"{name} cancelled")
                raise

        async def warm_up() -> None:
            self.story.append(f"{name} warms up")
            await asyncio.Event().wait()

        return Runnable(
            name=name,
            run=run,
            stop=None if patience is None else stopping.set,
            needs_leader_election=elected,
            warm_up=warm_up if warm else None,
        )

    async def run(self, *stages: str, timeout: float = 30) -> None:
        async def opening() -> None:
            for stage in stages:
                self.runnables.open(stage)  # type: ignore[arg-type]

        await self.runnables.run(opening, timeout)


async def test_each_starts_at_its_stage() -> None:
    recorder = Recorder()
    recorder.runnables.add(recorder.make("elected", patience=0))
    recorder.runnables.add(recorder.make("always", elected=False, patience=0))
    running = asyncio.ensure_future(recorder.run("always"))
    await asyncio.sleep(1)
    assert recorder.story == ["always runs"]
    recorder.runnables.open("elected")
    recorder.runnables.add(recorder.make("late", patience=0))
    await asyncio.sleep(1)
    assert recorder.story == ["always runs", "elected runs", "late runs"]
    recorder.runnables.stop()
    await running


async def test_a_standby_warms_up_before_it_is_elected() -> None:
    recorder = Recorder()
    recorder.runnables.add(recorder.make("warm", patience=0, warm=True))
    running = asyncio.ensure_future(recorder.run("always"))
    await asyncio.sleep(1)
    assert recorder.story == ["warm warms up"]
    recorder.runnables.open("elected")
    await asyncio.sleep(1)
    recorder.runnables.stop()
    await running
    assert recorder.story == ["warm warms up", "warm runs", "warm done"]


async def test_what_can_stop_may_finish_and_what_cannot_is_cancelled() -> None:
    recorder = Recorder()
    recorder.runnables.add(recorder.make("patient", patience=10))
    recorder.runnables.add(recorder.make("plain"))
    running = asyncio.ensure_future(recorder.run("always", "elected"))
    await asyncio.sleep(1)
    recorder.runnables.stop()
    await running
    assert recorder.story == ["patient runs", "plain runs", "plain cancelled", "patient done"]


async def test_the_deadline_ends_what_takes_too_long(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    recorder.runnables.add(recorder.make("slow", patience=1000))
    running = asyncio.ensure_future(recorder.run("always", "elected", timeout=30))
    await asyncio.sleep(1)
    before = asyncio.get_running_loop().time()
    recorder.runnables.stop()
    await running
    assert asyncio.get_running_loop().time() - before == pytest.approx(30, abs=1)
    assert recorder.story == ["slow runs", "slow cancelled"]
    assert "did not finish within 30 s: slow" in caplog.text


@pytest.mark.parametrize(("timeout", "story"), [(0, "slow cancelled"), (-1, "slow done")])
async def test_no_patience_and_endless_patience(timeout: float, story: str) -> None:
    recorder = Recorder()
    recorder.runnables.add(recorder.make("slow", patience=100_000))
    running = asyncio.ensure_future(recorder.run("always", "elected", timeout=timeout))
    await asyncio.sleep(1)
    recorder.runnables.stop()
    await running
    assert recorder.story[-1] == story


async def test_one_that_fails_ends_the_others_in_order(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    recorder.runnables.add(recorder.make("patient", patience=10))

    async def fails() -> None:
        await asyncio.sleep(5)
        raise ConnectionError("no route")

    recorder.runnables.add(runnable_of(fails))
    await recorder.run("always", "elected")
    assert recorder.story == ["patient runs", "patient done"]
    assert [str(failure) for failure in recorder.runnables.failures] == ["no route"]
    assert "no route" in caplog.text


async def test_a_failure_inside_a_group_is_said_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(inner())

    async def inner() -> None:
        raise ConnectionError("caches not synced within 120 s")

    recorder = Recorder()
    recorder.runnables.add(runnable_of(fails))
    await recorder.run("always", "elected")
    assert "has failed: caches not synced within 120 s" in caplog.text


async def test_what_can_be_run() -> None:
    class Server:
        needs_leader_election = False

        async def run(self) -> None: ...

        def stop(self) -> None: ...

    async def function() -> None: ...

    made = runnable_of(Server())
    assert (made.name.rpartition(".")[2], made.needs_leader_election, made.stop is not None) == ("Server", False, True)
    assert runnable_of(function).needs_leader_election
    with pytest.raises(TypeError, match="a manager cannot run 3"):
        runnable_of(3)
