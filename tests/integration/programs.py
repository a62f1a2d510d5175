"""Programs in Go that tests run: built when their source has changed, and kept in the cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from kapstan.components.cache import cache_root

__all__ = ("ORACLES", "Oracle", "alone", "go_program", "need_go")

ORACLES = Path(__file__).resolve().parents[2] / "tools/oracles"


def need_go() -> None:
    """Skip the test where there is no Go: its own toolchain is the only one that builds the peers."""
    if shutil.which("go") is None:
        pytest.skip("it compares with a Go program, and there is no go command here")


def go_program(source: Path, package: str = ".") -> Path:
    """The program of a folder, or of a package that its module requires."""
    digest = hashlib.sha256()
    for file in sorted(source.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    with alone() as cache:
        binary = cache / f"{source.name}-{digest.hexdigest()[:16]}"
        if not binary.exists():
            unfinished = binary.with_suffix(".new")
            command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(unfinished), package]
            subprocess.run(command, cwd=source, check=True)
            unfinished.rename(binary)
    return binary


@contextmanager
def alone() -> Iterator[Path]:
    """The tests' folder in the cache, with no other process building into it."""
    folder = cache_root() / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


class Oracle:
    """A program that answers questions over a pipe, a line of JSON each."""

    def __init__(self, binary: Path) -> None:
        self._process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Its answer. That it could not answer at all is the test's own fault."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "failure" not in answer, answer["failure"]
        return answer
