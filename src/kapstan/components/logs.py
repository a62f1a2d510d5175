"""Logs: what a process writes goes straight into a file, so that it goes on when whoever started it is gone.

The file is opened for appending. That makes it safe to copy and cut it while the process writes, which is how it is
kept from growing without end: a process cannot be told to open another file.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from kapstan.components.files import private_folder

__all__ = ("OPEN_FLAGS", "prepare", "rotate", "tail")

OPEN_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND

_MAX_BYTES = 20 << 20
_GENERATIONS = 3
_TAIL_BYTES = 16 << 10
# From the first goroutine to the next line that etcd (JSON) or Kubernetes (klog) writes, if there is one.
_TRACE = re.compile(r"^goroutine \d+ \[.*?(?=^\{|^[IWEF]\d{4} |\Z)", re.MULTILINE | re.DOTALL)


def prepare(log: Path) -> None:
    """Make a log that only its owner can read, before a process opens it."""
    private_folder(log.parent)
    os.close(os.open(log, OPEN_FLAGS, 0o600))
    log.chmod(0o600)


def rotate(log: Path, max_bytes: int = _MAX_BYTES) -> bool:
    """Keep a log small: move what is there into `<log>.1`, the older ones up by one, once it is too big."""
    if not log.is_file() or log.stat().st_size < max_bytes:
        return False
    for generation in range(_GENERATIONS, 1, -1):
        older = _generation(log, generation - 1)
        if older.is_file():
            older.replace(_generation(log, generation))
    first = _generation(log, 1)
    shutil.copyfile(log, first)
    first.chmod(0o600)
    os.truncate(log, 0)
    return True


def tail(log: Path, lines: int = 8, *, since: int = 0) -> list[str]:
    """The last lines that were written after position `since`, without the stack traces of a Go program that panics."""
    if not log.is_file():
        return []
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _TAIL_BYTES, since if since <= end else 0))
        written = file.read().decode(errors="replace")
    return _TRACE.sub("", written).splitlines()[-lines:]


def _generation(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
