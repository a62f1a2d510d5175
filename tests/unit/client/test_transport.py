"""Requests over a real connection: authenticated, repeated where it is safe, refused in plain words."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from kapstan import __version__
from kapstan.client import connections
from kapstan.client.config import Config, Impersonation
from kapstan.client.retry import RetryPolicy
from kapstan.client.transport import Request, Transport, user_agent
from kapstan.machinery import pki
from kapstan.machinery.errors import (
    APIError,
    ConfigError,
    ConnectionFailed,
    InternalError,
    NotFound,
    TooManyRequests,
    Unauthorized,
)

from .conftest import Naps, Server, status

Make = Callable[..., Transport]
GET = Request(method="GET", path="/x", what="get Thing x", idempotent=True)
POST = Request(method="POST", path="/x", what="create Thing x", body=b"{}")


async def cut(request: web.Request) -> web.StreamResponse:
    """Ends the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def test_an_answer_comes_back(server: Server, transport_to: Make) -> None:
    await server.start()
    transport = transport_to(server.config())
    request = Request(method="PATCH", path="/a/b?c=d", body=b'{"x":1}', content_type="application/merge-patch+json")
    answer = await transport.send(request)
    assert (answer.status, bytes(answer.body)) == (200, b'{"path": "/a/b?c=d"}')
    assert answer.header("content-type").startswith("application/json")
    assert server.bodies == [b'{"x":1}']
    headers = server.requests[0].headers
    assert headers["content-type"] == "application/merge-patch+json"
    assert headers["accept"] == "application/json"
    assert "accept-encoding" not in headers  # compressing for loopback is a waste


async def test_a_path_of_the_server_stays_in_front(server: Server, transport_to: Make) -> None:
    await server.start()
    await transport_to(server.config(server=f"{server.url}/k8s/clusters/c-1")).send(GET)
    assert server.requests[0].path == "/k8s/clusters/c-1/x"


async def test_who_we_are_is_said(server: Server, transport_to: Make) -> None:
    await server.start()
    who = Impersonation(user="jane", uid="7", groups=("dev", "ops"), extra={"example.org/scope": ("a",)})
    await transport_to(server.config(token="abc", impersonate=who)).send(GET)
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer abc"
    assert headers["impersonate-user"] == "jane"
    assert headers["impersonate-uid"] == "7"
    assert headers.getall("impersonate-group") == ["dev", "ops"]
    assert headers["impersonate-extra-example.org%2Fscope"] == "a"
    assert re.fullmatch(rf"\S+/v0.0.0 \(\w+/\w+\) kapstan/{re.escape(__version__)}", headers["user-agent"])


def test_the_user_agent_names_the_program() -> None:
    assert user_agent("demo", "1.2").startswith("demo/1.2 (")


async def test_a_client_certificate_is_presented_and_renewed(
    server: Server, transport_to: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates in files are read again, and new connections use the new one."""
    await server.start(client_ca=server.ca.cert_pem)

    def rotate(name: str) -> None:
        pair = server.ca.issue(name)
        (tmp_path / "c").write_bytes(pair.cert_pem)
        (tmp_path / "k").write_bytes(pair.key_pem)

    def seen() -> str:
        transport = server.requests[-1].transport
        assert transport is not None
        return str(transport.get_extra_info("peercert")["subject"][-1][0][1])

    rotate("first")
    transport = transport_to(server.config(cert_file=str(tmp_path / "c"), key_file=str(tmp_path / "k")))
    await transport.send(GET)
    assert seen() == "first"
    rotate("second")
    await transport.send(GET)
    assert seen() == "first"
    monkeypatch.setattr("kapstan.client.credentials.REREAD_SECONDS", 0.0)
    server.answers(status(401, "Unauthorized"), server.ok)
    await transport.send(GET)
    assert seen() == "second"


async def test_only_the_clusters_own_authority_is_trusted(
    server: Server, transport_to: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the system trusts the server's authority: another cluster's authority was named."""
    await server.start()
    (tmp_path / "system.pem").write_bytes(server.ca.cert_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    assert (await transport_to(server.config(ca=b"")).send(GET)).status == 200
    with pytest.raises(ConnectionFailed, match="signed by an unknown authority"):
        await transport_to(server.config(ca=pki.new_ca("other").cert_pem)).send(GET)
    assert (await transport_to(server.config(ca=b"")).send(GET)).status == 200  # the environment is as it was


async def test_a_certificate_can_be_left_unchecked(server: Server, transport_to: Make) -> None:
    await server.start()
    assert (await transport_to(server.config(ca=b"", insecure=True)).send(GET)).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_name_in_the_certificate_may_differ_from_the_address(
    server: Server, transport_to: Make, host: str
) -> None:
    certificate = server.ca.issue("s", dns_names=["api.test"], usages=[pki.Usage.SERVER])
    await server.start(certificate=certificate)
    url = f"https://{host}:{server.port}/prefix"
    with pytest.raises(ConnectionFailed, match="its certificate cannot be trusted: certificate not valid for name"):
        await transport_to(server.config(server=url)).send(GET)
    assert (await transport_to(server.config(server=url, server_name="api.test")).send(GET)).status == 200
    assert server.requests[0].path == "/prefix/x"


async def test_a_proxy_is_used(server: Server, transport_to: Make) -> None:
    """The proxy is asked to connect to the API server; it sees nothing of what passes through."""
    await server.start()
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer), return_exceptions=True)

    listener = await asyncio.start_server(proxy, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    transport = transport_to(server.config(proxy_url=f"http://me:pw@127.0.0.1:{port}"))
    assert (await transport.send(GET)).status == 200
    assert asked[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n".encode())
    assert b"roxy-" in asked[0]
    await transport.close()
    listener.close()
    await listener.wait_closed()


async def test_proxies_of_the_environment_are_not_used_for_loopback(
    server: Server, transport_to: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.start()
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert (await transport_to(server.config()).send(GET)).status == 200


def test_a_proxy_and_another_name_cannot_be_combined() -> None:
    config = Config(server="https://1.2.3.4", server_name="a", proxy_url="http://p", source="kubeconfig /k")
    with pytest.raises(ConfigError, match="kubeconfig /k: tls-server-name and proxy-url cannot be combined"):
        Transport(config)


@pytest.mark.parametrize("code", [429, 503])
async def test_a_server_that_asks_to_wait_is_obeyed(server: Server, transport_to: Make, naps: Naps, code: int) -> None:
    await server.start()
    server.answers(status(code, "TooManyRequests", Retry_After="2"), status(code, "x", Retry_After="1"), server.ok)
    await transport_to(server.config()).send(POST)
    assert server.bodies == [b"{}"] * 3
    assert 2.0 <= naps.taken[0] <= 2.4
    assert 1.0 <= naps.taken[1] <= 1.2


async def test_patience_ends(server: Server, transport_to: Make, naps: Naps) -> None:
    await server.start()
    server.answers(status(429, "TooManyRequests", "too many", Retry_After="1"))
    with pytest.raises(TooManyRequests, match="create Thing x: too many"):
        await transport_to(server.config()).send(POST)
    assert len(server.requests) == 11
    server.requests.clear()
    server.answers(status(429, "TooManyRequests", Retry_After="3600"))
    with pytest.raises(TooManyRequests):
        await transport_to(server.config()).send(POST)
    assert len(server.requests) == 1


async def test_a_refusal_without_retry_after_is_final(server: Server, transport_to: Make) -> None:
    await server.start()
    server.answers(status(429, "TooManyRequests"))
    with pytest.raises(TooManyRequests):
        await transport_to(server.config()).send(GET)
    server.answers(status(429, "TooManyRequests", Retry_After="1"))
    with pytest.raises(TooManyRequests):
        await transport_to(server.config()).send(Request(method="POST", path="/x", retry=False))
    assert len(server.requests) == 2


async def test_other_server_errors_are_repeated_only_where_that_is_harmless(server: Server, transport_to: Make) -> None:
    await server.start()
    transport = transport_to(server.config())
    server.answers(status(500, "ServerTimeout", Retry_After="1"), server.ok)
    assert (await transport.send(GET)).status == 200
    server.answers(status(500, "InternalError", "broken", Retry_After="1"), server.ok)
    with pytest.raises(InternalError, match="create Thing x: broken"):
        await transport.send(POST)


async def test_a_cut_connection_is_repeated_only_where_that_is_harmless(
    server: Server, transport_to: Make, naps: Naps
) -> None:
    await server.start()
    transport = transport_to(server.config())
    server.answers(cut, cut, cut, server.ok)
    assert (await transport.send(GET)).status == 200
    assert naps.taken[0] == 0.0
    assert 0.08 <= naps.taken[1] <= 0.12
    assert 0.16 <= naps.taken[2] <= 0.24
    server.requests.clear()
    server.answers(cut)
    lost = f"no answer from {server.url}: the connection was lost before the answer was complete"
    with pytest.raises(ConnectionFailed, match=f"create Thing x: {lost}"):
        await transport.send(POST)
    assert len(server.requests) == 1
    with pytest.raises(ConnectionFailed, match=f"get Thing x: {lost}"):
        await transport.send(GET)
    assert len(server.requests) == 6


async def test_what_never_left_is_repeated_whatever_it_is(server: Server, transport_to: Make) -> None:
    """The API server restarts: the first attempts are refused, then it is there again."""
    await server.start()
    await server.stop()
    attempts = 0

    async def restart(seconds: float) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 3:
            await server.start()

    transport = Transport(server.config(), sleep=restart)
    try:
        assert (await transport.send(POST)).status == 200
    finally:
        await transport.close()
    assert attempts == 3


async def test_a_connection_that_died_between_requests_is_replaced(server: Server, transport_to: Make) -> None:
    await server.start()
    transport = transport_to(server.config())
    await transport.send(POST)
    await server.stop()
    await server.start()
    assert (await transport.send(POST)).status == 200


async def test_why_there_is_no_answer(server: Server, transport_to: Make) -> None:
    policy = RetryPolicy(lost=0)

    async def why(config: Config) -> str:
        with pytest.raises(ConnectionFailed) as caught:
            await transport_to(config, policy=policy).send(GET)
        return str(caught.value).removeprefix("get Thing x: no answer from ")

    assert (
        await why(Config(server="https://127.0.0.1:1"))
        == "https://127.0.0.1:1: connection refused; is it running, and is this its address?"
    )
    assert await why(Config(server="https://no.such.host.invalid")) == (
        "https://no.such.host.invalid: its host name cannot be resolved"
    )
    short = server.ca.issue("s", ip_addresses=["127.0.0.1"], usages=[pki.Usage.SERVER], validity=timedelta(minutes=1))
    await server.start(certificate=short)
    assert await why(server.config()) == f"{server.url}: its certificate has expired"
    await server.stop()
    await server.start(certificate=server.ca)
    assert "its certificate is that of an authority itself" in await why(server.config())
    await server.stop()
    await server.start(tls=False)
    assert "it does not speak TLS" in await why(server.config())


async def test_a_slow_answer_is_given_up(server: Server, transport_to: Make) -> None:
    await server.start()
    ended = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        await ended.wait()
        return web.Response()

    server.handler = hang
    request = Request(method="GET", path="/x", what="get Thing x", timeout=0.2, idempotent=True)
    with pytest.raises(ConnectionFailed, match=r"it did not answer within 0.2 s"):
        await transport_to(server.config()).send(request)
    with pytest.raises(ConnectionFailed, match=r"it did not answer within 0.2 s"):
        await transport_to(server.config()).open(request)
    ended.set()


async def test_refusals_keep_the_servers_status(server: Server, transport_to: Make) -> None:
    await server.start()
    server.answers(status(404, "NotFound", 'things "x" not found'))
    with pytest.raises(NotFound) as caught:
        await transport_to(server.config()).send(GET)
    assert str(caught.value) == 'get Thing x: things "x" not found'
    assert caught.value.status.reason == "NotFound"

    async def proxy(request: web.Request) -> web.StreamResponse:
        return web.Response(status=502, text="<html>Bad Gateway</html>")

    server.handler = proxy
    with pytest.raises(APIError, match="get Thing x: <html>Bad Gateway</html>") as other:
        await transport_to(server.config()).send(GET)
    assert other.value.status.code == 502


async def test_a_token_file_is_read_again_when_the_token_is_refused(
    server: Server, transport_to: Make, tmp_path: Path
) -> None:
    await server.start()
    token = tmp_path / "token"
    token.write_text("old\n")

    async def picky(request: web.Request) -> web.StreamResponse:
        if request.headers["authorization"] == "Bearer new":
            return await server.ok(request)
        return await status(401, "Unauthorized", "Unauthorized")(request)

    server.handler = picky
    transport = transport_to(server.config(token_file=str(token)))
    with pytest.raises(Unauthorized):
        await transport.send(GET)
    assert len(server.requests) == 1  # the token was the same: asking again would be of no use
    token.write_text("new")
    assert (await transport.send(POST)).status == 200


async def test_attempts_are_observed(server: Server, transport_to: Make) -> None:
    await server.start()
    seen: list[tuple[str, str, str]] = []

    def observer(method: str, host: str, code: str, seconds: float) -> None:
        seen.append((method, host, code))
        assert seconds > 0

    transport = transport_to(server.config(), observer=observer)
    server.answers(cut, status(429, "x", Retry_After="1"), server.ok)
    await transport.send(GET)
    assert seen == [("GET", f"127.0.0.1:{server.port}", code) for code in ("<error>", "429", "200")]


async def test_warnings_are_logged_once(server: Server, transport_to: Make, caplog: pytest.LogCaptureFixture) -> None:
    await server.start()

    async def warn(request: web.Request) -> web.StreamResponse:
        answer = web.json_response({})
        answer.headers.add("Warning", '299 - "v1beta1 is \\"old\\""')
        answer.headers.add("Warning", '299 - "unknown field \\"spec.x\\"", 299 - "third"')
        return answer

    server.handler = warn
    transport = transport_to(server.config())
    with caplog.at_level(logging.WARNING, "kapstan.client"):
        await transport.send(GET)
        await transport.send(GET)
    assert caplog.messages == ['v1beta1 is "old"', 'unknown field "spec.x"', "third"]


async def test_our_own_limit_is_kept(server: Server, transport_to: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    await server.start()
    transport = transport_to(server.config(qps=1000.0, burst=1))
    for _ in range(3):
        assert (await transport.send(GET)).status == 200


async def test_a_stream_gives_lines_as_they_come(server: Server, transport_to: Make) -> None:
    await server.start()
    steps: asyncio.Queue[bytes] = asyncio.Queue()

    async def stream(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while data := await steps.get():
            await answer.write(data)
        return answer

    server.handler = stream
    opened = await transport_to(server.config()).open(GET)
    steps.put_nowait(b"one\ntw")
    assert await opened.line() == b"one"
    reading = asyncio.create_task(opened.line())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    steps.put_nowait(b"o\n\nthree")
    assert await opened.line() == b"two"
    assert await opened.line() == b""
    steps.put_nowait(b"")
    assert await opened.line() == b"three"
    assert await opened.line() is None
    await opened.close()


async def test_a_stream_that_breaks_says_so(server: Server, transport_to: Make) -> None:
    await server.start()

    async def stream(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"one\n")
        await asyncio.sleep(0.05)
        return await cut(request)

    server.handler = stream
    opened = await transport_to(server.config()).open(GET)
    assert await opened.line() == b"one"
    with pytest.raises(ConnectionFailed, match=f"get Thing x: the stream from {server.url} broke"):
        await opened.line()


async def test_a_refused_stream_is_an_error(server: Server, transport_to: Make) -> None:
    await server.start()
    server.answers(status(429, "x", Retry_After="1"), status(404, "NotFound", "nothing here"))
    transport = transport_to(server.config())
    with pytest.raises(NotFound, match="get Thing x: nothing here"):
        await transport.open(GET)
    (lane,) = transport._connections._lanes
    assert lane.streams == 0


async def endless(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b"one\n")
    await asyncio.Event().wait()
    return answer


@pytest.mark.parametrize("how", ["stream", "transport"])
async def test_closing_wakes_whoever_waits_for_a_line(server: Server, transport_to: Make, how: str) -> None:
    await server.start()
    server.handler = endless
    transport = transport_to(server.config())
    opened = await transport.open(GET)
    assert await opened.line() == b"one"
    reading = asyncio.create_task(opened.line())
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await (opened if how == "stream" else transport).close()
        assert await reading is None
    assert await opened.line() is None
    assert not reading.cancelled()


async def test_a_reader_that_is_cancelled_while_its_stream_closes_stays_cancelled(
    server: Server, transport_to: Make
) -> None:
    await server.start()
    server.handler = endless
    opened = await transport_to(server.config()).open(GET)
    assert await opened.line() == b"one"
    reading = asyncio.create_task(opened.line())
    await asyncio.sleep(0)
    reading.cancel()
    async with asyncio.timeout(10):
        await opened.close()
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_streams_share_connections_but_not_too_many_on_one(
    server: Server, transport_to: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "STREAMS_PER_LANE", 2)
    await server.start()
    transport = transport_to(server.config())
    lanes = [await transport._connections.lane(b"") for _ in range(5)]
    assert len({id(lane.http) for lane in lanes}) == 3
    lanes[1].leave()
    assert await transport._connections.lane(b"") is lanes[0]


async def test_a_forgotten_stream_gives_its_place_back(server: Server, transport_to: Make) -> None:
    await server.start()
    transport = transport_to(server.config())
    opened = await transport.open(GET)
    (lane,) = transport._connections._lanes
    assert lane.streams == 1
    del opened
    gc.collect()
    assert lane.streams == 0


async def test_a_server_that_demands_a_certificate(server: Server, transport_to: Make) -> None:
    await server.start(client_ca=server.ca.cert_pem, require=True)
    transport = transport_to(server.config(), policy=RetryPolicy(lost=0))
    with pytest.raises(ConnectionFailed):
        await transport.send(GET)
    pair = server.ca.issue("me")
    assert (await transport_to(server.config(cert=pair.cert_pem, key=pair.key_pem)).send(GET)).status == 200
