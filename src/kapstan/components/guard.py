"""Guard: a small process that ends the processes of a folder when their manager is gone, however it went.

Processes outlive their manager on purpose. For a test that is wrong: when a test run is killed, its API servers must
not stay. A guard holds the reading end of a pipe whose writing end only the manager has; the system closes that with
the manager. Nothing but the standard library is imported here, so that a guard costs next to nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from kapstan.components import pidfile

__all__ = ("Guard",)


class Guard:
    """Watches over the processes whose pid files are in `<folder>/run`."""

    def __init__(self, folder: Path) -> None:
        reading, self._writing = os.pipe()
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-S", "-m", __name__, str(folder / "run")],
                {"PYTHONPATH": str(Path(__file__).parents[2])},
                file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0)],
                setsid=True,
            )
        finally:
            os.close(reading)

    def release(self) -> None:
        """End the guard, and what its processes left running."""
        os.close(self._writing)
        os.waitpid(self._pid, 0)


def main(run: Path) -> None:
    sys.stdin.buffer.read()  # ends with the manager
    for file in run.glob("*.pid"):
        identity = pidfile.read(file)
        if identity and pidfile.is_alive(identity):
            os.kill(identity.pid, signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
