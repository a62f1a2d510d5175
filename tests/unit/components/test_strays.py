"""Processes that nobody wrote down are found by what they write into."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kapstan.components.process import Command, Process
from kapstan.components.strays import find_strays

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what processes write into")

COMMAND = Command((sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"))


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    process = Process("etcd", COMMAND, tmp_path / "data" / "c1")
    await process.start()
    yield process
    await process.stop(grace=0)


def strays(root: Path) -> list[int]:
    found = find_strays(root)
    for handle in found:
        handle.close()
    return [handle.identity.pid for handle in found]


def test_what_is_written_down_is_none(process: Process, tmp_path: Path) -> None:
    assert strays(tmp_path / "data") == []


def test_what_is_not_written_down_is_one(process: Process, tmp_path: Path) -> None:
    """Its manager was killed between the start and the pid file."""
    (tmp_path / "data" / "c1" / "run" / "etcd.pid").unlink()

    assert strays(tmp_path / "data") == [process.pid]
    assert strays(tmp_path / "other") == []


def test_one_whose_folder_is_gone_is_found(process: Process, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "data" / "c1")

    assert strays(tmp_path / "data") == [process.pid]


def test_a_folder_may_have_another_name(process: Process, tmp_path: Path) -> None:
    """The system tells where a file really is."""
    (tmp_path / "data" / "c1" / "run" / "etcd.pid").unlink()
    (tmp_path / "other").symlink_to(tmp_path / "data")

    assert strays(tmp_path / "other") == [process.pid]


def test_logs_of_others_may_be_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a container's own folder right below the root, for instance."""
    monkeypatch.setattr("os.readlink", lambda path: "/logs/program.log")

    assert strays(tmp_path) == []
