"""`make demo`: from nothing to a cluster in which something runs, and back to nothing."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

DEMO = [sys.executable, "-m", "kapstan", "demo"]


async def started(
    tmp_path: Path, *arguments: str, output: int = asyncio.subprocess.PIPE, **variables: str
) -> asyncio.subprocess.Process:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200", **variables}
    return await asyncio.create_subprocess_exec(
        *DEMO, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=environment
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--simulated"], "The control plane is simulated", id="simulated"),
        pytest.param([], "The control plane is Kubernetes' own", id="real", marks=pytest.mark.real),
    ],
)
async def test_it_ends_by_itself_where_nobody_looks(tmp_path: Path, arguments: list[str], said: str) -> None:
    process = await started(tmp_path, *arguments)
    output, errors = await process.communicate()
    text = output.decode()

    assert process.returncode == 0, errors.decode()
    assert said in text
    for line in ("Cluster/demo", "ControlPlane - HostedControlPlane/demo", "MachineDeployment/demo-md-0"):
        assert any(found.lstrip("├─└│ ").startswith(line) and "Available: True" in found for found in text.splitlines())
    assert text.count("Running   10.128.") == 3
    assert "Cluster available" in text
    assert list(tmp_path.iterdir()) == []


async def test_in_a_terminal_it_goes_on_until_control_c(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = await started(tmp_path, "--simulated", output=theirs)
    os.close(theirs)
    seen = b""
    while b"kapstan cluster scale demo" not in seen:
        seen += await asyncio.to_thread(os.read, ours, 65536)
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 0
    os.close(ours)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "moment"),
    [
        (["--simulated"], b"Starting the API server"),
        (["--simulated"], b"Starting controllers"),
        (["--simulated"], b"Infrastructure ready"),
        pytest.param([], b"Infrastructure ready", id="real", marks=pytest.mark.real),
    ],
)
async def test_control_c_at_any_moment_leaves_nothing(tmp_path: Path, arguments: list[str], moment: bytes) -> None:
    process = await started(tmp_path, *arguments)
    assert process.stderr is not None
    while moment not in (line := await process.stderr.readline()):
        assert line, "it ended"
    process.send_signal(signal.SIGINT)
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert output.decode().endswith("Stopped; nothing is left behind.\n")
    assert list(tmp_path.iterdir()) == []
    assert running(tmp_path) == []


async def test_without_kubernetes_it_is_simulated_and_says_so(tmp_path: Path) -> None:
    """What somebody sees who has Python and nothing else."""
    nothing, folder = tmp_path / "nothing", tmp_path / "tmp"
    for path in (nothing, folder):
        path.mkdir()
    process = await started(
        folder, KAPSTAN_CACHE=str(nothing), PATH=str(nothing), KAPSTAN_ASSETS="", KUBEBUILDER_ASSETS=""
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert output.decode().startswith(
        "The control plane is simulated; `make demo REAL=1` gets Kubernetes' own programs"
    )
    assert list(nothing.iterdir()) == []


def running(folder: Path) -> list[str]:
    """The commands of processes that have to do with a folder."""
    commands = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            commands.append(file.read_text().replace("\0", " "))
    return [command for command in commands if str(folder) in command]
