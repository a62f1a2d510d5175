"""What other people's clients need before they can run: built or installed once, and kept in the cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import kopf_python

from kapstan.components.cache import cache_root

__all__ = ("go_client", "python_with_clients")

HERE = Path(__file__).parent


def go_client() -> Path:
    """Our program in Go, built if its source has changed."""
    source = HERE / "goclient"
    digest = hashlib.sha256()
    for file in sorted(source.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    with _alone() as cache:
        binary = cache / f"goclient-{digest.hexdigest()[:16]}"
        if not binary.exists():
            assert shutil.which("go"), "clients in Go are built with Go, which is not on PATH: https://go.dev/dl"
            unfinished = binary.with_suffix(".new")
            subprocess.run(["go", "build", "-trimpath", "-o", unfinished, "."], cwd=source, check=True)
            unfinished.rename(binary)
    return binary


def python_with_clients() -> Path:
    """A Python that has kopf and the official client, which are too heavy for our own environment."""
    with _alone():
        return kopf_python()


@contextmanager
def _alone() -> Iterator[Path]:
    """Our folder in the cache, with no other test process building into it."""
    folder = cache_root() / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
