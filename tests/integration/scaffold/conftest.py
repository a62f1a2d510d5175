"""Projects that tests scaffold, and their own make."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kapstan.components import assets

BIN = Path(sys.executable).parent


class Project:
    """A scaffolded project in a folder, and what a developer does in it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    def kapstan(self, command: str) -> str:
        """Run a command of ours."""
        return self.run("kapstan", *command.split())

    def make(self, *arguments: str) -> str:
        """Run make, with the programs of this checkout's virtual environment instead of a new one."""
        return self.run("make", "VENV=", *arguments)

    def run(self, *command: str) -> str:
        """Run any command; AssertionError with its output if it fails."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}"
        return done.stdout

    @asynccontextmanager
    async def running(self, *command: str) -> AsyncIterator[None]:
        """Run a command inside the block, and end it as a shell does; it must not end by itself."""
        log = self.folder / f"{command[-1]}.log"
        with log.open("w") as output:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=self.folder, env=self.environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                yield
                assert process.returncode is None, log.read_text()
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGTERM)
                async with asyncio.timeout(90):
                    await process.wait()


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared, so that kapstan itself is read once."""
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture
async def new_project(tmp_path: Path, mypy_cache: Path) -> Callable[[str], Project]:
    """Makes an empty folder for a project of that name."""
    kubectl = (await assets.find_all(["kubectl"]))["kubectl"]
    environment = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "PYTHONPATH")}
    environment |= {
        "HOME": str(tmp_path),
        "KUBECTL": str(kubectl),
        "MYPY_CACHE_DIR": str(mypy_cache),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }

    def make(name: str) -> Project:
        folder = tmp_path / name
        folder.mkdir()
        return Project(folder, environment)

    return make
