"""Download: published programs, each checked against its published SHA-256 before it can be run.

The layout is that of the official places (dl.k8s.io, etcd's releases, get.helm.sh); a variable for each project names
a mirror of the same layout, or `off`. Whatever makes a download impossible ends quickly with `Unavailable`, so that a
machine without network goes on to build. A checksum that does not match stops everything: that is no bad luck to
work around.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from kapstan.components.cache import install, scratch
from kapstan.components.progress import Reporter, Step
from kapstan.components.releases import Project, machine
from kapstan.machinery.errors import KapstanError

__all__ = ("ChecksumMismatch", "Unavailable", "download")

_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=3, sock_connect=3, sock_read=30)
_CHUNK = 1 << 20


class Unavailable(KapstanError):
    """There is no download to be had: no network, a mirror switched off, or nothing published."""


class ChecksumMismatch(KapstanError):
    """A file arrived that is not the one that was published."""


async def download(project: Project, programs: Sequence[str], version: str, folder: Path, reporter: Reporter) -> None:
    """Bring programs of one project in its version into a folder."""
    base = (os.environ.get(project.mirror_variable) or project.address).rstrip("/")
    if base == "off":
        raise Unavailable(f"downloads of {project.title} are switched off ({project.mirror_variable}=off)")
    if not base.startswith(("http://", "https://")):
        raise KapstanError(f"{project.mirror_variable} is {base!r}; it takes an http(s) address, or off")
    system, architecture = machine()
    async with aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=True) as session:
        source = _Source(session, base)
        if project.name == "kubernetes":
            for program in programs:
                path = f"{version}/bin/{system}/{architecture}/{program}"
                await source.program(path, folder / program, reporter)
        elif project.name == "etcd":
            archive = f"etcd-{version}-{system}-{architecture}.tar.gz"
            await source.archive(f"{version}/{archive}", f"{version}/SHA256SUMS", programs, folder, reporter)
        else:
            archive = f"{project.name}-{version}-{system}-{architecture}.tar.gz"
            await source.archive(archive, f"{archive}.sha256sum", programs, folder, reporter)


class _Source:
    """One place to download from."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self._base = base

    async def program(self, path: str, target: Path, reporter: Reporter) -> None:
        """A program that is published as a file of its own, with its checksum beside it."""
        checksum = _checksum(await self._text(f"{path}.sha256"), path)
        with scratch(target.parent) as work:
            await self._file(path, work / target.name, checksum, reporter)
            install(work / target.name, target)

    async def archive(
        self, path: str, sums_path: str, programs: Sequence[str], folder: Path, reporter: Reporter
    ) -> None:
        """Programs that are published together in one archive."""
        checksum = _checksum(await self._text(sums_path), path)
        with scratch(folder) as work:
            packed = work / "archive.tar.gz"
            await self._file(path, packed, checksum, reporter)
            await asyncio.to_thread(_unpack, packed, programs, work)
            for program in programs:
                install(work / program, folder / program)

    async def _text(self, path: str) -> str:
        async with self._get(path) as response:
            self._check(response)
            return await response.text()

    async def _file(self, path: str, target: Path, checksum: str, reporter: Reporter) -> None:
        url = f"{self._base}/{path}"
        with reporter.step(f"Downloading {path.rpartition('/')[2]}") as step:
            async with self._get(path) as response:
                self._check(response)
                digest = await _save(response, target, step)
        if digest != checksum:
            raise ChecksumMismatch(
                f"{url} has SHA-256 {digest}, published is {checksum}; nothing was installed. "
                "Try again; if it stays so, the mirror is damaged or not to be trusted"
            )

    def _get(self, path: str) -> _Answer:
        return _Answer(self._session, f"{self._base}/{path}")

    def _check(self, response: aiohttp.ClientResponse) -> None:
        if response.status == 404:
            raise Unavailable(f"{response.url} is not published")
        if response.status != 200:
            raise Unavailable(f"{response.url} answers {response.status} {response.reason}")


class _Answer:
    """A GET whose network errors come out as `Unavailable`, whether they strike at the start or halfway."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._request = session.get(url)
        self._host = urlsplit(url).netloc

    async def __aenter__(self) -> aiohttp.ClientResponse:
        try:
            return await self._request.__aenter__()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"{self._host} cannot be reached ({_reason(error)})") from error

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        await self._request.__aexit__(None, None, None)
        if isinstance(error, aiohttp.ClientError | TimeoutError):
            raise Unavailable(f"the download from {self._host} broke off ({_reason(error)})") from error


async def _save(response: aiohttp.ClientResponse, target: Path, step: Step) -> str:
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as file:
        async for chunk in response.content.iter_chunked(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
            done += len(chunk)
            step.update(done, response.content_length, f"{done / 1e6:.0f} MB")
    return digest.hexdigest()


def _checksum(text: str, path: str) -> str:
    """The digest of a file: the only word of a `.sha256`, or the line of a list that ends with the file's name."""
    name = path.rpartition("/")[2]
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for words in lines:
        if len(words) == 1 or words[-1].lstrip("*").rpartition("/")[2] == name:
            return words[0].lower()
    raise Unavailable(f"no checksum is published for {path}")


def _unpack(packed: Path, programs: Sequence[str], folder: Path) -> None:
    """Take the wanted programs out of an archive by their names; where the archive would put them does not matter."""
    wanted = set(programs)
    with tarfile.open(packed) as archive:
        for member in archive:
            name = member.name.rpartition("/")[2]
            source = archive.extractfile(member) if member.isfile() and name in wanted else None
            if source is None:
                continue
            with source, (folder / name).open("wb") as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)
            wanted.discard(name)
    if wanted:
        raise Unavailable(f"the archive has no {', '.join(sorted(wanted))}")


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno or 0  # asyncio words a refused connection as "Connect call failed"
        return os.strerror(number) if number > 0 else error.os_error.strerror or str(error.os_error)
    return str(error) or type(error).__name__
