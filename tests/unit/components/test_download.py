"""Downloads come from a server on this machine that has the layout of the official ones."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from kapstan.components import assets
from kapstan.components.download import ChecksumMismatch, Unavailable, download
from kapstan.components.releases import DEFAULT_VERSION, ETCD, HELM, KUBERNETES
from kapstan.components.releases import machine as this_machine
from kapstan.machinery.errors import KapstanError

from .conftest import Machine, Recorder

SYSTEM, ARCHITECTURE = this_machine()
PROGRAM = b"#!/bin/sh\necho downloaded\n"
KUBECTL = f"/{DEFAULT_VERSION}/bin/{SYSTEM}/{ARCHITECTURE}/kubectl"


class Mirror:
    """What is published, by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut_short: set[str] = set()
        self.address = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = self.files.get(request.path)
        if body is None:
            raise web.HTTPNotFound
        if request.path not in self.cut_short:
            return web.Response(body=body)
        response = web.StreamResponse(headers={"Content-Length": str(len(body))})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        assert request.transport is not None
        request.transport.abort()
        return response


@pytest.fixture
async def mirror(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Mirror]:
    mirror = Mirror()
    app = web.Application()
    app.router.add_get("/{path:.*}", mirror.answer)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    mirror.address = f"http://{host}:{port}"
    for project in (KUBERNETES, ETCD, HELM):
        monkeypatch.setenv(project.mirror_variable, f"{mirror.address}/")
    yield mirror
    await runner.cleanup()


def archive(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(f"some-folder/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


async def test_a_program_with_the_right_checksum_is_installed(mirror: Mirror, machine: Machine) -> None:
    mirror.files = {KUBECTL: PROGRAM, f"{KUBECTL}.sha256": digest(PROGRAM)}

    found = await assets.fetch(["kubectl"])

    assert found["kubectl"].path == machine.cached(DEFAULT_VERSION) / "kubectl"
    assert found["kubectl"].path.read_bytes() == PROGRAM
    assert found["kubectl"].path.stat().st_mode & 0o777 == 0o755


async def test_progress_ends_at_the_size_of_the_file(mirror: Mirror, machine: Machine, recorder: Recorder) -> None:
    mirror.files = {KUBECTL: PROGRAM, f"{KUBECTL}.sha256": digest(PROGRAM)}

    await assets.fetch(["kubectl"], reporter=recorder)

    assert recorder.steps == ["Downloading kubectl"]
    assert recorder.updates[-1] == (len(PROGRAM), len(PROGRAM))


async def test_a_wrong_checksum_stops_everything(mirror: Mirror, machine: Machine) -> None:
    """It is not worked around by a build, and nothing stays behind that could be run."""
    mirror.files = {KUBECTL: PROGRAM, f"{KUBECTL}.sha256": digest(b"another")}

    with pytest.raises(ChecksumMismatch, match=f"kubectl has SHA-256 {digest(PROGRAM).decode()}, published is"):
        await assets.fetch(["kubectl"])

    assert [file.name for file in machine.cached(DEFAULT_VERSION).iterdir()] == [".lock"]


async def test_without_a_published_checksum_nothing_is_downloaded(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBECTL: PROGRAM}

    with pytest.raises(Unavailable, match=r"kubectl.sha256 is not published"):
        await download(KUBERNETES, ["kubectl"], DEFAULT_VERSION, tmp_path, Recorder())


async def test_a_download_that_breaks_off_is_unavailable(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBECTL: PROGRAM * 100, f"{KUBECTL}.sha256": digest(PROGRAM * 100)}
    mirror.cut_short = {KUBECTL}

    with pytest.raises(Unavailable, match="broke off"):
        await download(KUBERNETES, ["kubectl"], DEFAULT_VERSION, tmp_path / "target", Recorder())

    assert list((tmp_path / "target").iterdir()) == []


async def test_etcd_is_taken_out_of_its_archive(mirror: Mirror, machine: Machine) -> None:
    name = f"etcd-{ETCD.pinned}-{SYSTEM}-{ARCHITECTURE}.tar.gz"
    packed = archive(etcd=PROGRAM, etcdctl=PROGRAM, README=b"read me")
    sums = digest(b"x") + b"  etcd-other.tar.gz\n" + digest(packed) + b"  " + name.encode() + b"\n"
    mirror.files = {f"/{ETCD.pinned}/{name}": packed, f"/{ETCD.pinned}/SHA256SUMS": sums}

    found = await assets.fetch(["etcd", "etcdctl"])

    assert {asset.path.read_bytes() for asset in found.values()} == {PROGRAM}
    assert {file.name for file in machine.cached(DEFAULT_VERSION).iterdir()} == {".lock", "etcd", "etcdctl"}


async def test_an_archive_with_a_wrong_checksum_is_not_opened(mirror: Mirror, tmp_path: Path) -> None:
    name = f"helm-{HELM.pinned}-{SYSTEM}-{ARCHITECTURE}.tar.gz"
    mirror.files = {f"/{name}": archive(helm=PROGRAM), f"/{name}.sha256sum": digest(b"x") + b"  " + name.encode()}

    assert HELM.pinned is not None
    with pytest.raises(ChecksumMismatch):
        await download(HELM, ["helm"], HELM.pinned, tmp_path / "target", Recorder())

    assert list((tmp_path / "target").iterdir()) == []


async def test_an_archive_without_the_program_is_unavailable(mirror: Mirror, tmp_path: Path) -> None:
    name = f"helm-{HELM.pinned}-{SYSTEM}-{ARCHITECTURE}.tar.gz"
    packed = archive(README=b"read me")
    mirror.files = {f"/{name}": packed, f"/{name}.sha256sum": digest(packed) + b"  " + name.encode()}

    assert HELM.pinned is not None
    with pytest.raises(Unavailable, match="the archive has no helm"):
        await download(HELM, ["helm"], HELM.pinned, tmp_path, Recorder())


async def test_when_nobody_listens_the_build_is_next(
    mirror: Mirror, machine: Machine, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAPSTAN_KUBE_MIRROR", "http://127.0.0.1:1")

    with pytest.raises(assets.MissingAsset, match="Go is not installed"):
        await assets.fetch(["kubectl"], reporter=recorder)

    assert recorder.lines == [
        f"Kubernetes {DEFAULT_VERSION} is built from source, since 127.0.0.1:1 cannot be reached (Connection refused)."
    ]


async def test_a_mirror_that_is_no_address_is_an_error(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAPSTAN_KUBE_MIRROR", "mirror.example")

    with pytest.raises(KapstanError, match=r"KAPSTAN_KUBE_MIRROR is 'mirror.example'; it takes an http\(s\) address"):
        await download(KUBERNETES, ["kubectl"], DEFAULT_VERSION, tmp_path, Recorder())
