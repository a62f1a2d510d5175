"""Assets: where the Kubernetes programs are, and how they come to be there.

In this order: a folder that somebody names (`KAPSTAN_ASSETS`, `KUBEBUILDER_ASSETS`), `PATH`, the cache folder, a
download, a build. `find` takes what is there and never touches the network; `fetch` goes all the way. A program on
`PATH` has to be of the version that is asked for. A folder that somebody names is taken at its word, unless a version
is asked for explicitly: tests of upgrades need both the old and the new.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kapstan.apiserver.envtest.assets import MARK
from kapstan.components import cache
from kapstan.components.build import BuildFailed, build
from kapstan.components.progress import QuietReporter, Reporter
from kapstan.components.releases import (
    DEFAULT_PROGRAMS,
    DEFAULT_VERSION,
    Project,
    by_project,
    check_version,
    project_of,
)
from kapstan.components.versions import same_version, version_of
from kapstan.machinery.errors import ConfigError, KapstanError

__all__ = ("Asset", "MissingAsset", "Source", "fetch", "fetch_command", "find", "find_all", "rebuild")


class Source(StrEnum):
    """Where a program was found."""

    KAPSTAN_ASSETS = "KAPSTAN_ASSETS"
    KUBEBUILDER_ASSETS = "KUBEBUILDER_ASSETS"
    PATH = "PATH"
    CACHE = "cache"


@dataclass(frozen=True)
class Asset:
    """A program that can be run."""

    program: str
    path: Path
    source: Source


class MissingAsset(KapstanError):
    """A program is not on this machine."""


async def find(program: str, version: str | None = None) -> Asset | None:
    """A program that is already here, or None. Without a version, the default one."""
    wanted = check_version(version or DEFAULT_VERSION)
    for asset in _named_by_somebody(program):
        if version is None or await _is(asset, wanted):
            return asset
    if on_path := shutil.which(program):
        asset = Asset(program, Path(on_path), Source.PATH)
        if await _is(asset, wanted):
            return asset
    cached = cache.version_folder(wanted) / program
    return Asset(program, cached, Source.CACHE) if cache.executable(cached) else None


async def find_all(programs: Iterable[str], version: str | None = None) -> dict[str, Path]:
    """The paths of programs that have to be here; raises `MissingAsset` with the command that brings them."""
    found = {program: await find(program, version) for program in programs}
    if missing := [program for program, asset in found.items() if asset is None]:
        names = [f"{program} {project_of(program).version(version or DEFAULT_VERSION)}" for program in missing]
        raise MissingAsset(
            f"{' and '.join(names)} cannot be found on this machine: "
            f"run `{fetch_command(missing, version)}`, or set KAPSTAN_ASSETS to a folder that has them"
        )
    return {program: asset.path for program, asset in found.items() if asset is not None}


async def fetch(
    programs: Sequence[str] = DEFAULT_PROGRAMS, version: str | None = None, *, reporter: Reporter | None = None
) -> dict[str, Asset]:
    """Have programs at hand, whatever it takes."""
    reporter = reporter or QuietReporter()
    found = await _find_each(programs, version)
    if len(found) == len(set(programs)):
        return found
    async with _alone(version, reporter) as (wanted, folder):
        found = await _find_each(programs, version)
        for project, missing in by_project([program for program in programs if program not in found]):
            await _obtain(project, missing, wanted, folder, reporter)
    return await _find_each(programs, version)


async def rebuild(
    programs: Sequence[str] = DEFAULT_PROGRAMS, version: str | None = None, *, reporter: Reporter | None = None
) -> dict[str, Asset]:
    """Build programs from source into the cache folder, whatever is there already."""
    reporter = reporter or QuietReporter()
    async with _alone(version, reporter) as (wanted, folder):
        for project, group in by_project(programs):
            await build(project, group, project.version(wanted), folder, reporter)
    return {program: Asset(program, folder / program, Source.CACHE) for program in programs}


@asynccontextmanager
async def _alone(version: str | None, reporter: Reporter) -> AsyncIterator[tuple[str, Path]]:
    """The cache folder of a version, with nobody else filling it."""
    wanted = check_version(version or DEFAULT_VERSION)
    folder = cache.version_folder(wanted)
    async with cache.locked(folder, lambda: reporter.line(f"Waiting for another kapstan that fetches {wanted} ...")):
        yield wanted, folder


async def _obtain(project: Project, programs: Sequence[str], kubernetes: str, folder: Path, reporter: Reporter) -> None:
    from kapstan.components.download import Unavailable, download  # an HTTP client that `find` does not need

    version = project.version(kubernetes)
    try:
        await download(project, programs, version, folder, reporter)
    except Unavailable as unavailable:
        reporter.line(f"{project.title} {version} is built from source, since {unavailable}.")
        try:
            await build(project, programs, version, folder, reporter)
        except BuildFailed as failed:
            raise MissingAsset(
                f"{project.title} {version} cannot be downloaded ({unavailable}), and {failed}"
            ) from failed


async def _find_each(programs: Sequence[str], version: str | None) -> dict[str, Asset]:
    found = {program: await find(program, version) for program in programs}
    return {program: asset for program, asset in found.items() if asset is not None}


def fetch_command(programs: Sequence[str] = (), version: str | None = None) -> str:
    """What a person types to have programs at hand."""
    words = ["kapstan kube fetch"]
    if version:
        words.append(f"--version {version}")
    if not set(programs) <= set(DEFAULT_PROGRAMS):
        words += [f"--component {program}" for program in programs]
    return " ".join(words)


async def _is(asset: Asset, kubernetes: str) -> bool:
    wanted = project_of(asset.program).version(kubernetes)
    return same_version(asset.program, await version_of(asset.path, asset.program), wanted)


def _named_by_somebody(program: str) -> list[Asset]:
    project_of(program)
    named = []
    for source in (Source.KAPSTAN_ASSETS, Source.KUBEBUILDER_ASSETS):
        if not (value := os.environ.get(source)):
            continue
        folder = Path(value).expanduser()
        if not folder.is_dir():
            raise ConfigError(f"{source} is {value!r}, which is not a folder; name the one that holds the programs")
        if cache.executable(folder / program) and not _is_shim(folder / program):
            named.append(Asset(program, folder / program, source))
    return named


def _is_shim(path: Path) -> bool:
    """Whether it is one of `kapstan envtest`, behind which is the embedded server and not what its name says."""
    with path.open("rb") as file:
        return file.read(256).splitlines()[1:2] == [MARK.encode()]
