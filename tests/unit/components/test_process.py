"""Processes, tried with small Python programs as children."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from kapstan.components import pidfile
from kapstan.components.process import Backoff, Command, Probe, Process, ProcessFailed
from kapstan.machinery.errors import KapstanError

WAITS = "print('up', flush=True); import signal; signal.pause()"
IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITS
FAST = Backoff(first=0.001, limit=0.01)


def python(code: str, **env: str) -> Command:
    return Command((sys.executable, "-S", "-E", "-c", code), env)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.005)


Make = Callable[..., Process]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes processes in one folder; what still runs at the end of the test is ended."""
    made: list[Process] = []

    def make(code: str, *, probe: Probe | None = None, backoff: Backoff | None = None) -> Process:
        process = Process("child", python(code), tmp_path, probe=probe, backoff=backoff)
        made.append(process)
        return process

    yield make
    for process in made:
        await process.stop(grace=0)


def said(process: Process, text: str) -> Callable[[], bool]:
    return lambda: process.log.is_file() and text in process.log.read_text()


def prober(process: Process, text: str = "up") -> Probe:
    async def probe() -> str | None:
        return None if said(process, text)() else f"it has not said {text!r}"

    return probe


async def ready(process: Process) -> Process:
    await process.start()
    await process.wait_ready(20, probe=prober(process))
    return process


async def test_it_runs_in_a_session_of_its_own(make: Make) -> None:
    """Ctrl-C at a terminal goes to the whole session of the manager; children are stopped in order instead."""
    process = await ready(make(WAITS))

    assert process.pid is not None
    assert os.getsid(process.pid) == process.pid


async def test_its_output_goes_into_a_log_that_only_the_owner_reads(make: Make) -> None:
    process = await ready(make("import sys; print('no', file=sys.stderr, flush=True); " + WAITS))

    assert process.log.read_text() == "no\nup\n"
    assert process.log.stat().st_mode & 0o777 == 0o600


async def test_it_does_not_inherit_what_could_be_a_secret(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_PASSWORD", "hunter2")
    process = make("import os, json; print(json.dumps(dict(os.environ)), flush=True); " + WAITS)
    process.command = Command(process.command.argv, {"GOGC": "40"})

    await ready(process)

    environment = json.loads(process.log.read_text().splitlines()[0])
    assert environment["GOGC"] == "40"
    assert "OS_PASSWORD" not in environment


async def test_ready_is_what_the_probe_says(make: Make) -> None:
    answers = iter(["not yet", "nearly", None])

    async def probe() -> str | None:
        return next(answers)

    process = make(WAITS, probe=probe)
    await process.start()
    await process.wait_ready()

    assert list(answers) == []


async def test_a_process_that_is_never_ready_is_reported_with_the_reason(make: Make) -> None:
    process = await ready(make(WAITS))

    with pytest.raises(ProcessFailed, match="child was not ready within 0 s: it has not said 'rabbit'") as caught:
        await process.wait_ready(0.1, probe=prober(process, "rabbit"))

    assert caught.value.last_lines == ["up"]


async def test_a_process_that_ends_is_reported_with_the_end_of_its_log(make: Make) -> None:
    process = make("import sys; sys.exit('listen tcp 127.0.0.1:1: bind: address already in use')")

    with pytest.raises(ProcessFailed, match=r"child ended (at once )?\(exit code 1\).*child\.log") as caught:
        await process.start()
        await process.wait_ready(20, probe=prober(process))

    assert caught.value.address_in_use


async def test_the_report_is_not_about_an_earlier_run(make: Make) -> None:
    """The log is appended to; what an earlier process said about its port must not be taken for this one's."""
    process = make("import sys; sys.exit('nothing special')")
    process.log.parent.mkdir()
    process.log.write_text("bind: address already in use\n")

    with pytest.raises(ProcessFailed) as caught:
        await process.start()
        await process.wait_ready(20, probe=prober(process))

    assert caught.value.last_lines == ["nothing special"]


async def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    process = Process("child", Command((str(tmp_path / "nowhere"),)), tmp_path)

    with pytest.raises(KapstanError, match=r"child cannot be started: .*nowhere: No such file or directory"):
        await process.start()


async def test_stop_ends_it_and_forgets_it(make: Make, tmp_path: Path) -> None:
    process = await ready(make(WAITS))
    pid = process.pid
    assert pid is not None

    await process.stop()

    assert pidfile.identify(pid, "") is None
    assert not process.running
    assert list((tmp_path / "run").iterdir()) == []


async def test_one_that_does_not_listen_is_killed(make: Make) -> None:
    process = await ready(make(IGNORES_TERM))

    await process.stop(grace=0.05)

    assert not process.running
    assert process.pid is None


async def test_stop_is_safe_at_any_time(make: Make) -> None:
    process = make(WAITS)
    await process.stop()
    await ready(process)
    await process.stop()
    await process.stop()


async def test_start_does_nothing_when_it_runs(make: Make) -> None:
    process = await ready(make(WAITS))
    pid = process.pid

    await process.start()

    assert process.pid == pid


async def test_a_new_manager_adopts_what_runs(make: Make) -> None:
    first = await ready(make(WAITS))
    pid = first.pid
    first.detach()

    second = make(WAITS)
    await second.start()

    assert second.pid == pid
    await second.stop()
    assert pidfile.identify(pid or 0, "") is None


async def test_a_new_manager_replaces_what_runs_another_command(make: Make) -> None:
    first = await ready(make(WAITS))
    pid = first.pid
    first.detach()

    second = make("print('other'); " + WAITS)
    await second.start()

    assert second.pid not in (None, pid)
    assert pidfile.identify(pid or 0, "") is None


async def test_a_pid_that_was_given_to_somebody_else_is_left_alone(make: Make, tmp_path: Path) -> None:
    """The pid file names this test, as if the system had reused the pid; it must be neither adopted nor ended."""
    process = make(WAITS)
    stranger = pidfile.Identity(os.getpid(), "another boot/1", process.command.digest)
    pidfile.write(tmp_path / "run" / "child.pid", stranger)

    await process.start()

    assert process.pid not in (None, os.getpid())


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"pid": 1}', "\x00"])
async def test_a_damaged_pid_file_is_as_none(make: Make, tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "child.pid").write_text(content)
    process = make(WAITS)

    await process.start()

    assert process.running


async def test_a_supervised_process_comes_back(make: Make) -> None:
    process = await ready(make(WAITS, backoff=FAST))
    pid = process.pid
    assert pid is not None

    async with asyncio.TaskGroup() as group:
        group.create_task(process.supervise())
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: process.restarts == 1 and process.running)
        assert process.pid != pid
        await process.stop()


async def test_an_adopted_process_comes_back_too(make: Make) -> None:
    first = await ready(make(WAITS))
    pid = first.pid
    assert pid is not None
    first.detach()
    second = make(WAITS, backoff=FAST)
    await second.start()

    async with asyncio.TaskGroup() as group:
        group.create_task(second.supervise())
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: second.restarts == 1 and second.running)
        await second.stop()


async def test_supervision_survives_a_restart(make: Make) -> None:
    process = await ready(make(WAITS, backoff=FAST))

    async with asyncio.TaskGroup() as group:
        group.create_task(process.supervise())
        before = process.pid
        await process.restart()
        after = process.pid
        assert after not in (None, before)
        assert process.restarts == 0
        os.kill(after or 0, signal.SIGKILL)
        await eventually(lambda: process.restarts == 1 and process.running)
        await process.stop()


async def test_a_process_that_fails_every_time_is_tried_again_and_again(make: Make) -> None:
    process = make("raise SystemExit(3)", backoff=FAST)

    async with asyncio.TaskGroup() as group:
        group.create_task(process.supervise())
        await eventually(lambda: process.restarts >= 3)
        await process.stop()


async def test_stop_does_not_wait_for_the_back_off(make: Make) -> None:
    process = await ready(make(WAITS, backoff=Backoff(first=3600)))

    async with asyncio.TaskGroup() as group:
        supervision = group.create_task(process.supervise())
        os.kill(process.pid or 0, signal.SIGKILL)
        await eventually(lambda: not process.running)
        await process.stop()

    assert supervision.done()
    assert process.restarts == 0


def test_back_off_doubles_up_to_its_limit() -> None:
    backoff = Backoff(first=0.5, limit=4)

    assert [backoff.delay(failures) for failures in range(5)] == [0.5, 1, 2, 4, 4]


def test_commands_differ_by_arguments_and_environment() -> None:
    digests = {
        Command(("a", "b")).digest,
        Command(("a b",)).digest,
        Command(("a", "b"), {"GOGC": "1"}).digest,
        Command(("a", "b"), {"GOGC": "2"}).digest,
    }

    assert len(digests) == 4
