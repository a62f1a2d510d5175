"""Cache: one folder for each Kubernetes version that holds the programs which were downloaded or built.

A program appears in its folder complete or not at all, and one process at a time fills a folder: the others wait for
it and then find what it made. The folder is laid out as `KUBEBUILDER_ASSETS` is, so Go tests can use it as it is.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

__all__ = ("cache_root", "executable", "install", "link", "locked", "scratch", "version_folder", "versions")

_LOCK_INTERVAL = 0.2


def cache_root() -> Path:
    """`$KAPSTAN_CACHE`, else `kapstan` in the user's cache folder."""
    if chosen := os.environ.get("KAPSTAN_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "kapstan"


def version_folder(version: str) -> Path:
    """Where the programs that go with a Kubernetes version are."""
    return cache_root() / "kube" / version


def versions() -> list[str]:
    """The Kubernetes versions of which something is cached, oldest first."""
    root = cache_root() / "kube"
    if not root.is_dir():
        return []
    found = [folder.name for folder in root.iterdir() if folder.is_dir() and folder.name.startswith("v")]
    return sorted(found, key=_numbers)


def executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder for unfinished work, on the same file system, so that what is finished can be moved into place."""
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def install(finished: Path, target: Path) -> None:
    """Put a finished program into its place, at once; a process that runs the old one keeps it."""
    finished.chmod(0o755)
    finished.replace(target)


def link(target: Path, program: str) -> None:
    """Give a multi-call binary one more name beside it."""
    with scratch(target.parent) as work:
        (work / program).symlink_to(target.name)
        (work / program).replace(target.parent / program)


@asynccontextmanager
async def locked(folder: Path, waiting: Callable[[], None]) -> AsyncIterator[None]:
    """Hold the folder alone. `waiting` is called once if another process has it; the lock ends with its process."""
    with _open_lock(folder) as lock:
        told = False
        while not _try_lock(lock.fileno()):
            if not told:
                waiting()
                told = True
            await asyncio.sleep(_LOCK_INTERVAL)
        yield


def _open_lock(folder: Path) -> IO[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / ".lock").open("w")


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _numbers(version: str) -> list[tuple[int, str]]:
    """Sorts v1.9.0 before v1.10.0, and v1.36.0-rc.1 before v1.36.0."""
    number, _, pre_release = version.lstrip("v").partition("-")
    parts = [(int(part) if part.isdigit() else 0, part) for part in number.split(".")]
    return [*parts, (0 if pre_release else 1, pre_release)]
