"""The real clusterctl: `tools/oracles/clusterctl`, built once and kept in the cache folder."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[4] / "tools/oracles/clusterctl"
PACKAGE = "sigs.k8s.io/cluster-api/cmd/clusterctl"


def build() -> Path:
    """The program; the first time takes one or two minutes, after that nothing is done."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kapstan/oracles"
    cache.mkdir(parents=True, exist_ok=True)
    version = hashlib.sha256((SOURCE / "go.sum").read_bytes()).hexdigest()[:12]
    program = cache / f"clusterctl-{version}"
    if not program.exists():
        mine = program.with_name(f".{program.name}.{os.getpid()}")  # others may build it at the same time
        command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(mine), PACKAGE]
        subprocess.run(command, cwd=SOURCE, check=True)
        mine.replace(program)
    return program


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
