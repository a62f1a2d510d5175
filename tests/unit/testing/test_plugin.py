"""The pytest plugin, in a project that knows nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFIGURATION = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
TEST = "async def test_it(env): assert env.name in ('embedded', 'real')\n"


def run(folder: Path, *arguments: str, configuration: str = CONFIGURATION) -> tuple[int, str]:
    (folder / "pytest.ini").write_text(configuration)
    (folder / "test_it.py").write_text(TEST)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "--basetemp", str(folder / "tmp")]
    done = subprocess.run([*argv, *arguments], cwd=folder, env=clean, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_test_runs_on_the_embedded_server_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    code, said = run(tmp_path, "-v")
    assert (code, "test_it[embedded] PASSED" in said, "real" in said.replace("kapstan", "")) == (0, True, False), said


@pytest.mark.parametrize(
    ("arguments", "more"),
    [(["--kapstan-environments=embedded,real"], ""), ([], "kapstan_environments = embedded real\n")],
)
def test_it_runs_on_each_server_that_is_asked_for(tmp_path: Path, arguments: list[str], more: str) -> None:
    _, said = run(tmp_path, "--collect-only", "-q", *arguments, configuration=CONFIGURATION + more)
    assert said.splitlines()[:2] == ["test_it.py::test_it[embedded]", "test_it.py::test_it[real]"]
    _, said = run(tmp_path, "--collect-only", "-q", "-m", "not real", *arguments, configuration=CONFIGURATION + more)
    assert said.splitlines()[0] == "test_it.py::test_it[embedded]" and "[real]" not in said


def test_a_server_that_there_is_not_is_named(tmp_path: Path) -> None:
    code, said = run(tmp_path, "--kapstan-environments=kind")
    assert code != 0 and "kapstan_environments: 'kind' is none of embedded, real" in said
