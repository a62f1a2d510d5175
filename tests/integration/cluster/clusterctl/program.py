"""The real clusterctl, of the version that `tools/oracles/clusterctl` requires."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.integration.programs import ORACLES, go_program


def build() -> Path:
    """The program; the first time takes one or two minutes, after that nothing is done."""
    return go_program(ORACLES / "clusterctl", "sigs.k8s.io/cluster-api/cmd/clusterctl")


class Clusterctl:
    """clusterctl, with a kubeconfig. It asks nobody but the API servers."""

    def __init__(self, program: Path, home: Path) -> None:
        self._program = program
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
            "NO_COLOR": "1",
        }

    async def __call__(self, *arguments: str | Path) -> str:
        """What it prints; an AssertionError with what it complains about."""
        process = await asyncio.create_subprocess_exec(
            self._program,
            *map(str, arguments),
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, f"clusterctl {' '.join(map(str, arguments))}:\n{err.decode()}"
        return out.decode()
