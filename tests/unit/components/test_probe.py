"""Probes answer with a reason, whatever the server does."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kapstan.components.certificates import Certificates, Names, load_or_issue
from kapstan.components.ports import free_ports
from kapstan.components.probe import HTTPSProbe
from kapstan.machinery.errors import KapstanError

Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def pki(tmp_path: Path) -> Certificates:
    return load_or_issue(tmp_path, Names())


@asynccontextmanager
async def serving(folder: Path, connection: Connection) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
    server = await asyncio.start_server(connection, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def answering(answer: bytes) -> Connection:
    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    return connection


def probe(folder: Path, port: int, *, ca: str = "ca.crt") -> HTTPSProbe:
    client = (folder / "admin.crt", folder / "admin.key")
    return HTTPSProbe("127.0.0.1", port, "/readyz", ca_file=folder / ca, client=client)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nok", None, id="ready"),
        pytest.param(
            b"HTTP/1.1 500 Oh\r\n\r\n[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed",
            "/readyz says 500: [-]etcd failed: reason withheld",
            id="the failed checks are named",
        ),
        pytest.param(b"HTTP/1.1 401 Who\r\n\r\n", "/readyz says 401: nothing", id="no body"),
        pytest.param(b"nonsense nonsense\r\n\r\n", "it cannot be asked", id="not HTTP"),
        pytest.param(b"", "it cannot be asked", id="hangs up"),
    ],
)
async def test_what_a_server_answers(pki: Certificates, tmp_path: Path, answer: bytes, expected: str | None) -> None:
    async with serving(tmp_path, answering(answer)) as port:
        reason = await probe(tmp_path, port)()

    assert reason == expected or (expected and reason and reason.startswith(expected))


async def test_nobody_there(pki: Certificates, tmp_path: Path) -> None:
    (port,) = free_ports(1)

    reason = await probe(tmp_path, port)()

    assert reason is not None
    assert reason.startswith("it cannot be asked")


async def test_a_server_of_another_authority_is_not_believed(pki: Certificates, tmp_path: Path) -> None:
    async with serving(tmp_path, answering(b"HTTP/1.1 200 OK\r\n\r\nok")) as port:
        reason = await probe(tmp_path, port, ca="etcd/ca.crt")()

    assert reason is not None
    assert "CERTIFICATE_VERIFY_FAILED" in reason


async def test_a_server_that_says_nothing_is_given_up(
    pki: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kapstan.components.probe._TIMEOUT", 0.2)
    over = asyncio.Event()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    async with serving(tmp_path, connection) as port:
        assert await probe(tmp_path, port)() == "it does not answer"
        over.set()


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(5)

    assert len(set(ports)) == 5


async def test_a_port_that_is_taken_is_not_free() -> None:
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as server:
        taken = server.sockets[0].getsockname()[1]

        with pytest.raises(KapstanError, match=f"no free port on 127.0.0.1 between {taken} and {taken}"):
            free_ports(1, ports=range(taken, taken + 1))
