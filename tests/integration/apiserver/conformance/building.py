"""`e2e.test`: Kubernetes' own end-to-end tests as a program, built once and kept beside the other programs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections import deque
from pathlib import Path

from kapstan.components.build import stamp
from kapstan.components.cache import executable, install, locked, scratch, version_folder
from kapstan.components.progress import ConsoleReporter, Reporter, Step
from kapstan.components.releases import DEFAULT_VERSION

__all__ = ("PROGRAM", "e2e_program")

PROGRAM = "e2e.test"
_MODULE = Path(__file__).parent / "e2e"
_PACKAGE = "k8s.io/kubernetes/test/e2e"
_TELL_EVERY = 5.0


async def e2e_program(reporter: Reporter | None = None) -> Path:
    """Where it is: in the folder that KAPSTAN_ASSETS names, or in the cache, into which it is built if need be."""
    if (named := os.environ.get("KAPSTAN_ASSETS")) and executable(Path(named).expanduser() / PROGRAM):
        return Path(named).expanduser() / PROGRAM
    folder = version_folder(DEFAULT_VERSION)
    reporter = reporter or ConsoleReporter()
    async with locked(folder, lambda: reporter.line(f"Waiting for another process that builds {PROGRAM} ...")):
        if not executable(folder / PROGRAM):
            await _build(folder, reporter)
    return folder / PROGRAM


async def _build(folder: Path, reporter: Reporter) -> None:
    go = shutil.which("go")
    assert go, f"{PROGRAM} is built with Go, which is not on PATH: https://go.dev/dl"
    title = f"Building {PROGRAM} {DEFAULT_VERSION} from source, which takes minutes"
    with scratch(folder) as work, reporter.step(title) as step:
        shutil.copytree(_MODULE, work / "source")
        ldflags = f"-s -w {stamp(DEFAULT_VERSION, '1970-01-01T00:00:00Z', 'unknown')}"
        # Vetting would look at each of its two thousand packages once more.
        arguments = ("test", "-c", "-vet=off", "-trimpath", "-buildvcs=false", "-ldflags", ldflags)
        process = await asyncio.create_subprocess_exec(
            *(go, *arguments, "-o", str(work / PROGRAM), _PACKAGE),
            cwd=work / "source",
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly"},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        said = await _follow(process, step)
        assert process.returncode == 0, f"{PROGRAM} cannot be built:\n" + "\n".join(said)
        install(work / PROGRAM, folder / PROGRAM)


async def _follow(process: asyncio.subprocess.Process, step: Step) -> list[str]:
    """The last lines that Go writes until it ends; while it compiles it says nothing."""
    assert process.stderr is not None
    last: deque[str] = deque(maxlen=20)
    try:
        while True:
            with contextlib.suppress(TimeoutError):
                line = await asyncio.wait_for(process.stderr.readline(), _TELL_EVERY)
                if not line:
                    break
                last.append(line.decode(errors="replace").rstrip())
            step.update(0, None, last[-1] if last else "compiling")
        await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    return list(last)
