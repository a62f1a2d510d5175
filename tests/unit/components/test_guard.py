"""What a killed manager leaves behind is ended by its guard."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from kapstan.components import pidfile
from kapstan.components.guard import Guard
from kapstan.components.handle import hold
from kapstan.components.process import Command, Process

COMMAND = Command((sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"))

MANAGER = """
import asyncio, signal, sys
from pathlib import Path
from kapstan.components.guard import Guard
from kapstan.components.process import Command, Process

folder = Path(sys.argv[1])
guard = Guard(folder)
asyncio.run(Process("child", Command(tuple(sys.argv[2:])), folder).start())
print("started", flush=True)
signal.pause()
"""


async def test_a_killed_manager_takes_its_processes_along(tmp_path: Path) -> None:
    manager = await asyncio.create_subprocess_exec(
        sys.executable, "-c", MANAGER, tmp_path, *COMMAND.argv, stdout=asyncio.subprocess.PIPE
    )
    assert manager.stdout is not None
    assert await manager.stdout.readline() == b"started\n"
    identity = pidfile.read(tmp_path / "run" / "child.pid")
    assert identity is not None
    child = hold(identity)
    assert child is not None

    manager.kill()

    await manager.wait()
    await child.exited()
    child.close()


async def test_a_released_guard_ends(tmp_path: Path) -> None:
    guard = Guard(tmp_path)

    guard.release()

    assert pidfile.identify(guard._pid, "") is None


async def test_a_guard_leaves_strangers_alone(tmp_path: Path) -> None:
    """A pid file that names a process by pid but not by its start is about a process that is gone."""
    process = Process("child", COMMAND, tmp_path)
    await process.start()
    identity = pidfile.read(tmp_path / "run" / "child.pid")
    assert identity is not None
    pidfile.write(tmp_path / "run" / "child.pid", pidfile.Identity(identity.pid, "another boot/1", identity.command))

    Guard(tmp_path).release()

    assert process.running
    os.kill(identity.pid, signal.SIGKILL)
    await process.wait()
    process.detach()
