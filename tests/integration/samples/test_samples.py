"""The samples: what the scaffold made, finished, with everything that is generated up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kapstan.scaffold.project import load
from kapstan.scaffold.tree import project_files

ROOT = Path(__file__).parents[3]
# What was written by hand on top of the scaffold.
EDITED = {
    "memcached": {"README.md", "tests/controller/test_memcached.py"},
    "bar": {
        "README.md",
        "config/samples/samplecontroller_v1alpha1_bar.yaml",
        "src/bar_operator/api/v1alpha1/bar.py",
        "src/bar_operator/controller/bar.py",
        "src/bar_operator/main.py",
        "src/bar_operator/webhook/v1alpha1/bar.py",
        "tests/controller/test_bar.py",
        "tests/webhook/v1alpha1/test_bar.py",
    },
}


@pytest.fixture(params=EDITED)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = ROOT / "samples" / request.param
    return found


def run(folder: Path, *command: str) -> str:
    """Run a command of a sample; AssertionError with its output if it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": "src"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    assert done.returncode == 0, f"{folder.name}: {' '.join(command)}:\n{done.stdout}"
    return done.stdout


def test_manifests_are_up_to_date(folder: Path) -> None:
    run(folder, "kapstan", "generate", "manifests", load(folder).repo, "--check")


def test_the_clientset_of_bar_is_up_to_date() -> None:
    package = "bar_operator"
    run(
        ROOT / "samples/bar",
        "kapstan",
        "generate",
        "clientset",
        f"{package}.api",
        "-o",
        f"src/{package}/clientset",
        "--check",
    )


def test_everything_else_is_as_the_scaffold_makes_it_today(folder: Path) -> None:
    """To bring a sample up to date, scaffold it anew and keep what is in EDITED."""
    made = project_files(load(folder))
    different = {path for path, text in made.items() if (folder / path).read_text() != text}
    assert different <= EDITED[folder.name]


@pytest.mark.real
@pytest.mark.timeout(600)
def test_a_sample_passes_its_own_checks_on_both_environments(folder: Path) -> None:
    run(folder, "make", "VENV=", "lint")
    assert " passed" in run(folder, "pytest", "--kapstan-environments=embedded,real", "-p", "no:cacheprovider")
