"""Strays: processes that were started for a folder whose manager died before it could write down that it had.

Between the start of a process and its pid file there is a moment. A manager that is killed in it leaves a process that
no other manager knows: it would hold its port, and an etcd its data, for ever. It is known by what it writes into: its
output goes into a log of the folder, which nobody else opens that way.
"""

from __future__ import annotations

import os
from pathlib import Path

from kapstan.components import pidfile
from kapstan.components.handle import Handle, hold

__all__ = ("find_strays",)

_PROCESSES = Path("/proc")


def find_strays(root: Path) -> list[Handle]:
    """The processes that write into `<root>/<folder>/logs/<name>.log`, but are not in `<root>/<folder>/run/<name>.pid`.

    None where the system does not tell.
    """
    root, found = root.resolve(), []
    for entry in os.listdir(_PROCESSES) if _PROCESSES.is_dir() else ():
        log = _output(entry) if entry.isdigit() else None
        if log is None or log.parent.name != "logs" or log.suffix != ".log" or log.parent.parent.parent != root:
            continue
        known = pidfile.read(log.parents[1] / "run" / f"{log.stem}.pid")
        identity = pidfile.identify(int(entry), "")
        if identity is None or (known is not None and (known.pid, known.started) == (identity.pid, identity.started)):
            continue
        if handle := hold(identity):
            found.append(handle)
    return found


def _output(pid: str) -> Path | None:
    """The file that a process writes its output into; None if it is gone or not ours to look at."""
    try:
        return Path(os.readlink(_PROCESSES / pid / "fd" / "1").removesuffix(" (deleted)"))
    except OSError:
        return None
