"""Pid files: which process was started for what, so that a manager which starts again finds its processes.

A pid alone proves nothing, since the system gives it to somebody else once the process is gone. The time at which
the process started (and the boot it started in) makes it unique; the digest of its command tells whether it still
runs what is wanted. Nothing but the standard library is imported here: `guard` has to start fast.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ("Identity", "identify", "is_alive", "read", "write")


@dataclass(frozen=True)
class Identity:
    """One process, for as long as the machine runs."""

    pid: int
    started: str
    command: str


def identify(pid: int, command: str) -> Identity | None:
    """The process that has this pid now, or None if there is none or it only waits to be reaped."""
    started = _started(pid)
    return Identity(pid, started, command) if started else None


def is_alive(identity: Identity) -> bool:
    """Whether this very process still runs."""
    return _started(identity.pid) == identity.started


def read(path: Path) -> Identity | None:
    """The process that a pid file names; None if there is no file or it is damaged."""
    try:
        return Identity(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def write(path: Path, identity: Identity) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        json.dump(asdict(identity), file)
    Path(file.name).replace(path)


def _started(pid: int) -> str | None:
    """When a process started, in a form that no other process with its pid will ever have."""
    if not Path("/proc/self/stat").exists():
        return _started_by_ps(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything, even spaces and brackets
    state, ticks = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}/{ticks}"


def _started_by_ps(pid: int) -> str | None:
    """The same where there is no /proc, to the second."""
    said = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return said[1].strip() if len(said) == 2 and not said[0].startswith("Z") else None
