"""The guide to testing is a project of somebody else: it runs where only the package is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs/guides/testing.md"
BLOCK = re.compile(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]  # installing takes a while on a slow line


def project(folder: Path) -> Path:
    """The files that the guide shows; blocks of the same name follow each other."""
    folder.mkdir()
    for name, content in BLOCK.findall(GUIDE.read_text()):
        with (folder / name).open("a") as file:
            file.write(content + "\n\n")
    return folder


def run(*argv: str | Path, cwd: Path, **environment: str) -> str:
    """A command that must succeed. It knows nothing of this checkout."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    done = subprocess.run(
        [str(part) for part in argv], cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{argv}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a virtual environment with `kapstan[testing]`, from a wheel of this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    run(sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    (wheel,) = folder.glob("kapstan-*.whl")
    python = folder / "venv/bin/python"
    run(python, *pip, "install", "-c", ROOT / "constraints.txt", f"{wheel}[testing]", cwd=folder)
    return python.parent


def test_the_guide_is_a_project_whose_tests_pass_on_both_servers(installed: Path, tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    said = run(
        *(installed / "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"),
        *("--kapstan-environments=embedded,real", "--basetemp", tmp_path / "basetemp"),
        cwd=folder,
    )
    assert "9 passed" in said, said
    assert run(installed / "python", "script.py", cwd=folder) == "0 pages on the embedded API server\n"
