"""A machine that has nothing: no programs, no network, an empty cache; tests then add what they are about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kapstan.components.progress import Step


class Recorder:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: list[str] = []
        self.updates: list[tuple[int, int | None]] = []

    def line(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        self.steps.append(title)
        yield self

    def update(self, done: int, total: int | None = None, detail: str = "") -> None:
        self.updates.append((done, total))


class Machine:
    """Folders in which to put programs."""

    def __init__(self, root: Path) -> None:
        self.cache = root / "cache"
        self.assets = root / "assets"
        self.path = root / "bin"
        for folder in (self.cache, self.assets, self.path):
            folder.mkdir()

    def program(self, folder: Path, name: str, says: str) -> Path:
        """A program that answers every question for its version in the same way."""
        return self.script(folder, name, f"echo '{says}'")

    def script(self, folder: Path, name: str, body: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return file

    def cached(self, version: str) -> Path:
        return self.cache / "kube" / version


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
    for variable in ("KAPSTAN_ASSETS", "KUBEBUILDER_ASSETS", *proxies):
        monkeypatch.delenv(variable, raising=False)
    for project in ("KUBE", "ETCD", "HELM"):
        monkeypatch.setenv(f"KAPSTAN_{project}_MIRROR", "off")
    monkeypatch.setenv("KAPSTAN_CACHE", str(machine.cache))
    monkeypatch.setenv("PATH", str(machine.path))
    return machine
