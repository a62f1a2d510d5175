"""`make demo`: from nothing to a cluster in which something runs, and back to nothing."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

DEMO = [sys.executable, "-c", "from kapstan.cli import main; main()", "demo"]


async def started(tmp_path: Path, *arguments: str, output: int = asyncio.subprocess.PIPE) -> asyncio.subprocess.Process:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200"}
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
