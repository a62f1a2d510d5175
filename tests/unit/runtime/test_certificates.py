"""Serving certificates from files."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from kapstan.machinery.errors import ConfigError
from kapstan.machinery.pki import Usage, new_ca
from kapstan.runtime.background import background
from kapstan.runtime.certificates import CertificateFiles
from kapstan.runtime.httpserver import Answer, HTTPServer, Query
from kapstan.runtime.metrics import Registry

AUTHORITY = new_ca("test")


def write(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    pair = AUTHORITY.issue(name, dns_names=[name], usages=[Usage.SERVER])
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair.cert_pem)
    key.write_bytes(pair.key_pem)
    return certificate, key


async def served_name(port: int) -> str:
    context = ssl.create_default_context(cadata=AUTHORITY.cert_pem.decode())
    context.check_hostname = False
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    certificate = writer.get_extra_info("peercert")
    writer.close()
    return str(certificate["subjectAltName"][0][1])


async def hello(query: Query) -> Answer:
    return Answer(b"hello")


async def test_a_certificate_that_changes_on_disk_is_served_from_then_on(tmp_path: Path) -> None:
    registry = Registry()
    files = CertificateFiles(*write(tmp_path, "before"), what="test", metrics=registry)
    files.load()
    server = HTTPServer(("127.0.0.1", 0), hello, tls=files.context)
    await server.start()
    assert await served_name(server.port) == "before"
    write(tmp_path, "after")
    files.load()
    assert await served_name(server.port) == "after"
    assert registry.value("certwatcher_read_certificate_total") == 2
    await server.close()


async def test_changes_are_looked_for_and_rubbish_is_survived(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()
    certificate, key = write(tmp_path)
    files = CertificateFiles(certificate, key, what="test", metrics=registry)
    files.load()
    async with background(files.run()):
        key.write_bytes(b"half a ke")
        await asyncio.sleep(25)
        assert registry.value("certwatcher_read_certificate_errors_total") == 2
        assert "do not fit" in caplog.text
        write(tmp_path, "later")
        with caplog.at_level("INFO"):
            await asyncio.sleep(10)
        assert "has changed and is used" in caplog.text


def test_a_missing_certificate_is_said_with_what_to_do(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key", what="webhook")
    with pytest.raises(
        ConfigError, match=r"the webhook certificate cannot be read: .*tls\.crt: No such file.*mount it"
    ):
        files.load()


def test_a_key_that_belongs_to_another_certificate_is_said(tmp_path: Path) -> None:
    certificate, key = write(tmp_path)
    key.write_bytes(AUTHORITY.issue("other").key_pem)
    with pytest.raises(ConfigError, match="do not fit"):
        CertificateFiles(certificate, key, what="webhook").load()
