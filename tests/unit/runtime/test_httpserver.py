"""The small HTTP server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest

from kapstan.machinery.errors import ConfigError
from kapstan.runtime.certificates import self_signed_context
from kapstan.runtime.httpserver import Answer, HTTPServer, Query, bind_address


async def handler(query: Query) -> Answer:
    if query.path == "/broken":
        raise KeyError("secret detail")
    if query.path == "/echo me":
        return Answer(f"{query.parameters} {query.headers.get('x-test')}".encode())
    return Answer(b"hello\n") if query.path == "/" else Answer(b"nothing\n", 404)


@pytest.fixture
async def server() -> AsyncIterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), handler)
    await server.start()
    yield server
    await server.close()


async def exchange(server: HTTPServer, *requests: str, tls: ssl.SSLContext | None = None) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
    for request in requests:
        writer.write(request.replace("\n", "\r\n").encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def test_a_page_is_served(server: HTTPServer) -> None:
    answer = await exchange(server, "GET / HTTP/1.1\nHost: x\nConnection: close\n\n")
    assert answer.startswith("HTTP/1.1 200 OK\r\n") and answer.endswith("\r\n\r\nhello\n")


async def test_connections_stay_open_for_more(server: HTTPServer) -> None:
    answer = await exchange(server, "GET / HTTP/1.1\n\n", "GET /x HTTP/1.1\nConnection: close\n\n")
    assert answer.count("HTTP/1.1") == 2 and "404 Not Found" in answer


async def test_head_has_no_body(server: HTTPServer) -> None:
    answer = await exchange(server, "HEAD / HTTP/1.1\nConnection: close\n\n")
    assert "Content-Length: 6" in answer and answer.endswith("\r\n\r\n")


async def test_other_methods_are_refused(server: HTTPServer) -> None:
    answer = await exchange(server, "POST / HTTP/1.1\nContent-Length: 5\n\nhello")
    assert answer.startswith("HTTP/1.1 405") and "Connection: close" in answer


async def test_paths_queries_and_headers_arrive(server: HTTPServer) -> None:
    answer = await exchange(server, "GET /echo%20me?verbose&a=1 HTTP/1.1\nX-Test: yes\nConnection: close\n\n")
    assert answer.endswith("{'verbose': [''], 'a': ['1']} yes")


async def test_a_mistake_is_500_without_details(server: HTTPServer, caplog: pytest.LogCaptureFixture) -> None:
    answer = await exchange(server, "GET /broken HTTP/1.1\nConnection: close\n\n")
    assert answer.startswith("HTTP/1.1 500") and "secret detail" not in answer
    assert "secret detail" in caplog.text


async def test_garbage_and_endless_headers_end_the_connection_only(server: HTTPServer) -> None:
    assert "HTTP/1.1 405" in await exchange(server, "garbage\n\n")
    assert await exchange(server, "GET / HTTP/1.1\n" + "X: y\n" * 10_000) == ""
    assert "hello" in await exchange(server, "GET / HTTP/1.1\nConnection: close\n\n")


async def test_tls_with_a_certificate_of_its_own() -> None:
    server = HTTPServer(("127.0.0.1", 0), handler, tls=self_signed_context())
    await server.start()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    assert "hello" in await exchange(server, "GET / HTTP/1.1\nConnection: close\n\n", tls=trusting)
    await server.close()


async def test_an_address_in_use_is_said(server: HTTPServer) -> None:
    with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1:"):
        await HTTPServer(("127.0.0.1", server.port), handler).start()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8081", ("", 8081)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:80", ("::1", 80)),
        ("0", None),
        ("", None),
    ],
)
def test_addresses(text: str, address: tuple[str, int] | None) -> None:
    assert bind_address(text) == address


@pytest.mark.parametrize("text", ["8081", "host", "host:", ":http", ":99999"])
def test_what_is_no_address_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="no address to listen on"):
        bind_address(text)
