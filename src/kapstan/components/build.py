"""Build: the programs from source, with Go and its module proxy and nothing else.

The modules in `tools/kube` pin the default versions, checksums included. For another version the module is written
anew: `k8s.io/kubernetes` replaces its staging modules by folders of its own repository, which Go ignores in a
dependency, so each of them is replaced by the version that is published for the same release.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapstan.components.cache import install, link, scratch
from kapstan.components.progress import Reporter, Step
from kapstan.components.releases import DEFAULT_VERSION, KUBERNETES, Project
from kapstan.machinery.errors import KapstanError

__all__ = ("BuildFailed", "build")

_STAGING = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/[\w.-]+) => \./staging/", re.MULTILINE)
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_MULTICALL = "kubernetes"
_LAST_LINES = 6


class BuildFailed(KapstanError):
    """The programs could not be built; the text ends with what Go said."""


@dataclass(frozen=True)
class _Module:
    """What Go knows about a version of a module."""

    go_mod: Path
    go_version: str
    time: str
    commit: str


async def build(project: Project, programs: Sequence[str], version: str, folder: Path, reporter: Reporter) -> None:
    """Build programs of one project in its version into a folder.

    Kubernetes is one binary for all of its programs, so all of them appear, whichever were asked for.
    """
    go = _Go(_go_program(project, version))
    with scratch(folder) as work, reporter.step(f"Building {project.title} {version} from source") as step:
        source = work / "source"
        shutil.copytree(_modules_folder() / project.name, source)
        if project is KUBERNETES:
            await _build_kubernetes(go, version, source, work / _MULTICALL, step)
            install(work / _MULTICALL, folder / _MULTICALL)
            for program in project.programs:
                link(folder / _MULTICALL, program)
        else:
            ldflags = f"-s -w -X {project.version_variable}={version}" if project.version_variable else "-s -w"
            for program in programs:
                await go.build(source, project.packages[program], work / program, ldflags=ldflags, step=step)
                install(work / program, folder / program)


async def _build_kubernetes(go: _Go, version: str, source: Path, target: Path, step: Step) -> None:
    release = await go.module(f"k8s.io/kubernetes@{version}", source)
    if other := version != DEFAULT_VERSION:
        (source / "go.mod").write_text(kubernetes_go_mod(version, release.go_version, release.go_mod.read_text()))
        (source / "go.sum").unlink()
    ldflags = f"-s -w {stamp(version, release.time, release.commit)}"
    # `mod=mod` lets Go write the checksums that only the checked-in module has.
    await go.build(source, ".", target, ldflags=ldflags, flags=("-mod=mod",) if other else (), step=step)


def kubernetes_go_mod(version: str, go_version: str, upstream: str) -> str:
    """Our `go.mod` for a Kubernetes version, from that version's own: each staging module in its published version."""
    published = "v0." + version.removeprefix("v1.")
    replacements = [f"\t{module} => {module} {published}" for module in sorted(set(_STAGING.findall(upstream)))]
    lines = [
        "module kapstan.dev/tools/kube/kubernetes",
        f"go {go_version}",
        f"require k8s.io/kubernetes {version}",
        "replace (\n" + "\n".join(replacements) + "\n)",
    ]
    return "\n\n".join(lines) + "\n"


def stamp(version: str, date: str, commit: str) -> str:
    """Linker flags that tell the programs which version they are: a module knows its number but not that it is one."""
    major, minor = version.removeprefix("v").split(".")[:2]
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": commit,
        "gitTreeState": "clean",
        "buildDate": date,
    }
    return " ".join(f"-X {package}.{name}={value}" for package in _VERSION_PACKAGES for name, value in values.items())


class _Go:
    """The Go command, with the settings that make a build the same everywhere."""

    def __init__(self, program: str) -> None:
        self._program = program

    async def module(self, query: str, folder: Path) -> _Module:
        found = json.loads(await self._run(folder, "list", "-m", "-json", query))
        commit = (found.get("Origin") or {}).get("Hash", "unknown")  # a module proxy need not tell
        return _Module(Path(found["GoMod"]), found["GoVersion"], found["Time"], commit)

    async def build(
        self, folder: Path, package: str, target: Path, *, ldflags: str, step: Step, flags: Sequence[str] = ()
    ) -> None:
        total = len((await self._run(folder, "list", *flags, "-deps", package)).splitlines())
        arguments = [
            "build",
            "-v",
            "-trimpath",
            "-buildvcs=false",
            *flags,
            "-ldflags",
            ldflags,
            "-o",
            str(target),
            package,
        ]
        process = await self._start(folder, arguments, stdout=asyncio.subprocess.DEVNULL)
        try:
            last = await _follow(process, total, step)
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGINT)  # Go then removes its temporary files
                await process.wait()
        if code != 0:
            raise BuildFailed(f"go build {package} failed:\n" + "\n".join(last))

    async def _run(self, folder: Path, *arguments: str) -> str:
        process = await self._start(folder, arguments, stdout=asyncio.subprocess.PIPE)
        out, err = await process.communicate()
        if process.returncode != 0:
            said = err.decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
            raise BuildFailed(f"go {' '.join(arguments)} failed:\n" + "\n".join(said))
        return out.decode()

    async def _start(self, folder: Path, arguments: Sequence[str], *, stdout: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self._program, *arguments, cwd=folder, env=_environment(), stdout=stdout, stderr=asyncio.subprocess.PIPE
        )


async def _follow(process: asyncio.subprocess.Process, total: int, step: Step) -> list[str]:
    """Count the packages that `go build -v` names as it compiles them; its last lines."""
    assert process.stderr is not None
    last: deque[str] = deque(maxlen=_LAST_LINES)
    compiled = 0
    async for raw in process.stderr:
        line = raw.decode(errors="replace").rstrip()
        last.append(line)
        compiled += not line.startswith("go: ")
        step.update(min(compiled, total), total, line)
    return list(last)


def _environment() -> Mapping[str, str]:
    """No C compiler, no workspace file of whoever calls, no `vendor` habit of theirs."""
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GO111MODULE": "on"}


def _go_program(project: Project, version: str) -> str:
    if program := shutil.which("go"):
        return program
    raise BuildFailed(
        f"Go is not installed, so {project.title} {version} cannot be built here: install Go from https://go.dev/dl, "
        "or set KAPSTAN_ASSETS to a folder that has the programs"
    )


def _modules_folder() -> Path:
    """`tools/kube`: in a checkout at its place, in an installed package beside this module."""
    here = Path(__file__).resolve()
    for folder in (here.with_name("modules"), here.parents[3] / "tools" / "kube"):
        if (folder / "kubernetes" / "main.go").is_file():
            return folder
    raise BuildFailed("this installation of kapstan has no Go modules to build from; set KAPSTAN_ASSETS instead")
