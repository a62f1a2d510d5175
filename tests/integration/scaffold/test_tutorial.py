"""The tutorial works as it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.guide import follow, shows

TUTORIAL = Path(__file__).parents[3] / "docs/start/tutorial.md"


@pytest.mark.parametrize(
    ("output", "expected", "shown"),
    [
        ("NAME    AGE\nhome    5s\n", "NAME AGE\nhome …", True),
        ("home    5s\nNAME    AGE\n", "NAME AGE\nhome …", False),
        ("3 passed in 2 s", "… passed in …", True),
        ("3 failed in 2 s", "… passed in …", False),
        ("anything", "", True),
    ],
)
def test_what_is_printed_is_compared(output: str, expected: str, shown: bool) -> None:
    assert shows(output, expected) is shown


@pytest.mark.timeout(600)
async def test_the_tutorial_works_as_it_is_written(new_project: Callable[[str], Any]) -> None:
    """In this checkout's virtual environment instead of new ones: that takes minutes, and the package index."""
    project = new_project("tutorial")
    (project.folder / "bin").mkdir()
    (project.folder / "bin/kubectl").symlink_to(project.environment["KUBECTL"])
    environment = project.environment | {
        "VENV": "",
        "ARGS": "--health-probe-bind-address=127.0.0.1:0",  # other tests may run operators now
        "PATH": f"{project.folder}/bin:{project.environment['PATH']}",
    }
    await follow(TUTORIAL, project.folder, environment)
