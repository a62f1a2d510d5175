"""Connections: several requests on one, clients that dawdle, vanish or talk nonsense."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kapstan.apiserver.credentials import Credentials
from kapstan.apiserver.http import connection as connections
from kapstan.apiserver.http.tls import server_context
from kapstan.apiserver.server import EmbeddedServer
from kapstan.machinery.pki import new_ca, new_signing_key

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Wire:
    """A connection to the server on which anything can be written."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, bytes]:
        async with asyncio.timeout(5):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            return int(head.split(b" ")[1]), await self.reader.readexactly(int(length.split(b":")[1]))

    async def rest(self) -> bytes:
        async with asyncio.timeout(5):
            return await self.reader.read()


@pytest.fixture
async def wire(server: EmbeddedServer, admin: Any) -> AsyncIterator[Wire]:
    context = admin.session.connector._ssl
    reader, writer = await asyncio.open_connection(server.endpoint.host, server.endpoint.port, ssl=context)
    yield Wire(reader, writer)
    writer.close()


def post(body: bytes, extra: str = "") -> bytes:
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


async def test_requests_follow_each_other_even_without_waiting(wire: Wire) -> None:
    bodies = [json.dumps({"metadata": {"name": name}}).encode() for name in "ab"]
    await wire.send(post(bodies[0]) + post(bodies[1]) + b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [(await wire.answer())[0] for _ in range(3)] == [201, 201, 200]


async def test_a_request_may_come_byte_by_byte(wire: Wire) -> None:
    for byte in post(b'{"metadata":{"name":"a"}}'):
        await wire.send(bytes((byte,)))
    assert (await wire.answer())[0] == 201


async def test_a_chunked_request(wire: Wire) -> None:
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    await wire.send(head + b'9\r\n{"metadat\r\n' + b'10\r\na":{"name":"a"}}\r\n0\r\n\r\n')
    assert (await wire.answer())[0] == 201


async def test_whoever_expects_it_is_told_to_continue(wire: Wire) -> None:
    body = b'{"metadata":{"name":"a"}}'
    await wire.send(
        post(b"", "").replace(b"Content-Length: 0", b"Content-Length: %d\r\nExpect: 100-continue" % len(body))
    )
    async with asyncio.timeout(5):
        assert await wire.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await wire.send(body)
    assert (await wire.answer())[0] == 201


async def test_a_body_that_nobody_wanted_does_not_become_the_next_request(wire: Wire) -> None:
    body = b"DELETE /everything HTTP/1.1\r\n\r\n"
    await wire.send(b"GET /version HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await wire.send(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert [(await wire.answer())[0] for _ in range(2)] == [200, 200]
    assert await wire.rest() == b""


async def test_a_head_has_no_body(wire: Wire) -> None:
    await wire.send(b"HEAD /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await wire.rest()
    assert answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"\x16\x03\x01nonsense\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000, b"431")],
)
async def test_nonsense_is_answered_and_ends_the_connection(wire: Wire, data: bytes, status: bytes) -> None:
    await wire.send(data)
    answer = await wire.rest()
    assert answer.split(b" ")[1] == status


async def test_who_dawdles_over_a_head_is_cut_off(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_TIMEOUT", 0.05)
    await wire.send(b"GET / HT")
    assert await wire.rest() == b""


async def test_who_dawdles_over_a_body_is_told_so(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_BODY_TIMEOUT", 0.05)
    await wire.send(post(b"{}").replace(b"Content-Length: 2", b"Content-Length: 20"))
    status, body = await wire.answer()
    assert (status, json.loads(body)["reason"]) == (504, "Timeout")


async def test_who_says_nothing_is_cut_off(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.05)
    await wire.send(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await wire.answer())[0] == 200
    assert await wire.rest() == b""


async def test_a_watch_ends_with_its_client(server: EmbeddedServer, wire: Wire) -> None:
    await wire.send(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(5):
        await wire.reader.readuntil(b"\r\n\r\n")
        assert server.cluster.watches._closers
        wire.writer.close()
        await wire.writer.wait_closed()
        while server.cluster.watches._closers:  # noqa: ASYNC110 - the server hears of it some turns later
            await asyncio.sleep(0.001)


async def test_watchers_that_do_not_read_cost_little_and_are_cut_off_in_the_end(
    server: EmbeddedServer, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsent = [0]
    write = connections.Connection.write

    def recorded(connection: connections.Connection, data: bytes) -> None:
        write(connection, data)
        if connection._transport is not None:
            unsent.append(connection._transport.get_write_buffer_size())

    monkeypatch.setattr(connections.Connection, "write", recorded)
    limits = server.cluster.storage._history.limits
    server.cluster.storage._history.limits = msgspec.structs.replace(limits, bytes=4 << 20)
    await wire.send(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(60):
        await wire.reader.readuntil(b"\r\n\r\n")
        wire.reader._transport.pause_reading()  # type: ignore[attr-defined]
        number = 0
        while server.cluster.watches._closers:
            metadata = {"name": f"a{number}", "namespace": "default"}
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "x" * 200_000}}
            await server.cluster.api.create(document)
            await asyncio.sleep(0)
            number += 1
    assert max(unsent) < 200_000, "less than one of the objects"


async def test_a_slow_reader_of_a_watch_gets_all_of_it(server: EmbeddedServer, wire: Wire) -> None:
    for number in range(40):
        metadata = {"name": f"a{number:02}", "namespace": "default"}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "x" * 200_000}}
        await server.cluster.api.create(document)
    url = f"{CONFIG_MAPS}?watch=1&timeoutSeconds=60&resourceVersion=0"
    await wire.send(f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(30):
        await wire.reader.readuntil(b"\r\n\r\n")
        got = b""
        while got.count(b"\n") < 40:
            size = int(await wire.reader.readline(), 16)
            got += (await wire.reader.readexactly(size + 2))[:-2]
    found = [json.loads(line)["object"]["metadata"]["name"] for line in got.splitlines()]
    assert found == [f"a{number:02}" for number in range(40)]


async def test_the_end_of_the_server_is_the_end_of_the_stream(tmp_path: Path) -> None:
    server = EmbeddedServer()
    await server.__aenter__()
    authority = server.cluster.credentials.ca.cert_pem.decode()
    context = ssl.create_default_context(cadata=authority)
    pair = server.cluster.credentials.client("a", ("system:masters",))
    (tmp_path / "c.pem").write_bytes(pair.cert_pem + pair.key_pem)
    context.load_cert_chain(tmp_path / "c.pem")
    reader, writer = await asyncio.open_connection(server.endpoint.host, server.endpoint.port, ssl=context)
    writer.write(f"GET {CONFIG_MAPS}?watch=1&resourceVersion=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(5):
        await reader.readuntil(b"\r\n\r\n")
        await server.__aexit__()
        assert (await reader.read()).endswith(b"0\r\n\r\n")
    writer.close()


async def test_a_client_of_another_authority_gets_no_further_than_the_handshake(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    pair = new_ca("other").issue("intruder", organizations=["system:masters"])
    (tmp_path / "c.pem").write_bytes(pair.cert_pem + pair.key_pem)
    context = ssl.create_default_context(cadata=server.cluster.credentials.ca.cert_pem.decode())
    context.load_cert_chain(tmp_path / "c.pem")
    reader, writer = await asyncio.open_connection(server.endpoint.host, server.endpoint.port, ssl=context)
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
    try:
        async with asyncio.timeout(5):
            assert await reader.read() == b""
    except (ssl.SSLError, ConnectionError):
        pass
    writer.close()


def test_it_works_on_uvloop() -> None:
    """Whose transports and protocols are none of asyncio's classes."""
    uvloop = pytest.importorskip("uvloop", reason="there is no uvloop for this platform")

    async def ask() -> bytes:
        async with EmbeddedServer() as server:
            context = ssl.create_default_context(cadata=server.cluster.credentials.ca.cert_pem.decode())
            reader, writer = await asyncio.open_connection(server.endpoint.host, server.endpoint.port, ssl=context)
            writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            async with asyncio.timeout(5):
                answer = await reader.read()
            writer.close()
            return answer

    assert uvloop.run(ask()).startswith(b"HTTP/1.1 200 OK")


async def test_who_speaks_no_tls_is_turned_away(server: EmbeddedServer) -> None:
    reader, writer = await asyncio.open_connection(server.endpoint.host, server.endpoint.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(5):
        try:
            assert b"HTTP/1.1" not in await reader.read()
        except ConnectionError:
            pass
    writer.close()


def test_the_key_of_the_server_is_on_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python reads keys from files only; that file is gone when the context is there."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    server_context(Credentials(new_ca("x"), new_signing_key()), ("127.0.0.1",))
    assert list(tmp_path.iterdir()) == []
