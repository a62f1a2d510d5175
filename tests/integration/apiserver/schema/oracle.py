"""Kubernetes' own libraries, asked over a pipe: `tools/oracles/crdschema`, built once and kept in the cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ("Oracle", "build")

SOURCE = Path(__file__).resolve().parents[4] / "tools/oracles/crdschema"


def build() -> Path:
    """The oracle's binary, built if its source has changed."""
    digest = hashlib.sha256()
    for source in sorted(SOURCE.iterdir()):
        digest.update(source.name.encode() + source.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kapstan/oracles"
    binary = cache / f"crdschema-{digest.hexdigest()[:16]}"
    if not binary.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = cache / f"crdschema-{os.getpid()}"
        subprocess.run(["go", "build", "-o", unfinished, "."], cwd=SOURCE, check=True)
        unfinished.rename(binary)
    return binary


class Oracle:
    """One running oracle."""

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
        """Its answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "failure" not in answer, answer["failure"]
        return answer
