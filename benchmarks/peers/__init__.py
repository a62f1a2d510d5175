"""The peers' programs, built when they are first measured and kept in the cache folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ("controller_runtime", "kopf_python", "load_program")

HERE = Path(__file__).parent
KOPF = ["kopf==1.45.2", "kubernetes==37.0.2", "uvloop"]


def _cache() -> Path:
    folder = Path(os.environ.get("KAPSTAN_CACHE") or Path.home() / ".cache" / "kapstan") / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def controller_runtime() -> Path:
    """The operator in Go."""
    return _built("controllerruntime")


def load_program() -> Path:
    """The load, in Go as well, so that it is not what is measured."""
    return _built("load")


def _built(name: str) -> Path:
    """A Go program. Go's own cache makes a second build a matter of seconds."""
    if shutil.which("go") is None:
        raise SystemExit(f"The peer {name} is built with Go, which was not found on PATH.")
    target = _cache() / name
    subprocess.run(["go", "build", "-o", str(target), "."], cwd=HERE / name, check=True)
    return target


def kopf_python() -> Path:
    """A Python of its own that has kopf: our own environment does not need it."""
    folder = _cache() / "kopf"
    python = folder / "bin" / "python"
    if not (folder / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *KOPF], check=True)
        (folder / ".installed").touch()
    return python
