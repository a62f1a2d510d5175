"""The folder that `KUBEBUILDER_ASSETS` names: programs called `kube-apiserver`, `etcd` and `kubectl`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from kapstan.machinery.errors import ConfigError

__all__ = ("MARK", "write")

MARK = "# made by: kapstan envtest"
"""By its second line a program is known to be none of the real ones."""

_MISSING = "kubectl is not on this machine: kapstan kube fetch --component kubectl, then kapstan envtest again"


def write(folder: Path, *, kubectl: Path | None = None, controllers: bool = True) -> None:
    """Make the folder and its programs, for the Python that runs now; what is there already is replaced."""
    start = [sys.executable, "-m", "kapstan.apiserver.envtest", *([] if controllers else ["--no-controllers"])]
    programs = {name: f'exec {shlex.join([*start, name])} "$@"' for name in ("kube-apiserver", "etcd")}
    programs["kubectl"] = f'exec {shlex.quote(str(kubectl))} "$@"' if kubectl else f"echo {_MISSING!r} >&2\nexit 1"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, command in programs.items():
            _write_program(folder / name, f"#!/bin/sh\n{MARK}\n{command}\n")
    except OSError as error:
        raise ConfigError(f"cannot write {error.filename or folder}: {error.strerror or error}") from error


def _write_program(path: Path, text: str) -> None:
    """Whole or not at all: a suite may be starting the one that is replaced."""
    if path.exists() and MARK not in path.read_text(errors="replace").splitlines()[1:2]:
        raise ConfigError(f"{path} is there already, and kapstan envtest did not make it: name another folder")
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.chmod(0o755)
    temporary.replace(path)
