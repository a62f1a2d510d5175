"""HTTP on the wire: what is read as a request, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.http.wire import BadHead, ChunkedBody, parse_head, response_head


def test_a_head_is_read() -> None:
    head = parse_head(b"GET /api/v1/pods%20x?watch=1&a=b HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a:  2 \r\nEmpty:")
    assert (head.method, head.path, head.query) == ("GET", "/api/v1/pods x", "watch=1&a=b")
    assert (head.headers.get("HOST"), head.headers.get("x-A"), head.headers.get("missing")) == ("h", "1", "")
    assert ("x-a", "2") in head.headers.items()
    assert "empty" in head.headers
    assert (head.keep_alive, head.length, head.chunked) == (True, 0, False)


@pytest.mark.parametrize(
    ("text", "keep_alive"),
    [
        ("GET / HTTP/1.1\r\nConnection: close", False),
        ("GET / HTTP/1.1\r\nConnection: keep-alive", True),
        ("GET / HTTP/1.0", False),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive", True),
        ("GET http://host/path HTTP/1.1", True),
    ],
)
def test_whether_the_connection_stays(text: str, keep_alive: bool) -> None:
    assert parse_head(text.encode()).keep_alive is keep_alive


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", 400),
        ("GET", 400),
        ("GET / HTTP/2.0", 400),
        ("GET  / HTTP/1.1", 400),
        ("GET / HTTP/1.1 ", 400),
        ("GET \x01 HTTP/1.1", 400),
        ("GET ftp://x/ HTTP/1.1", 400),
        ("G@T / HTTP/1.1", 400),
        ("GET / HTTP/1.1\r\nno colon", 400),
        ("GET / HTTP/1.1\r\n folded: x", 400),
        ("GET / HTTP/1.1\r\nname : x", 400),
        ("GET / HTTP/1.1\r\nx: a\x00b", 400),
        ("GET / HTTP/1.1\r\nx: a\nb: c", 400),
        ("POST / HTTP/1.1\r\nContent-Length: -1", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1, 1", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked", 501),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked", 501),
    ],
)
def test_what_is_not_clearly_one_request_is_refused(text: str, status: int) -> None:
    with pytest.raises(BadHead) as refused:
        parse_head(text.encode("latin-1"))
    assert refused.value.status == status


@given(st.binary(max_size=200))
def test_nothing_else_can_happen_to_a_head(data: bytes) -> None:
    try:
        parse_head(data)
    except BadHead:
        pass


def chunked(parts: list[bytes]) -> bytes:
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts if part) + b"0\r\nTrailer: x\r\n\r\n"


@given(parts=st.lists(st.binary(min_size=1, max_size=50), max_size=5), cuts=st.lists(st.integers(1, 20), min_size=1))
def test_a_chunked_body_is_read_however_it_arrives(parts: list[bytes], cuts: list[int]) -> None:
    data, reader, buffer, found = chunked(parts) + b"NEXT", ChunkedBody(), bytearray(), None
    position = step = 0
    while found is None and position < len(data):
        size = cuts[step % len(cuts)]
        buffer += data[position : position + size]
        position, step = position + size, step + 1
        found = reader.feed(buffer, 1000)
    assert found == b"".join(parts)
    assert bytes(buffer) + data[position:] == b"NEXT", "what follows is left for the next request"


@pytest.mark.parametrize(
    "data", [b"x\r\n", b"-1\r\n", b"3\r\nabcd\r\n", b"1\r\naXY", b"fffffffff\r\n", b"\r\n", b"1" * 5000]
)
def test_a_malformed_chunked_body_is_refused(data: bytes) -> None:
    with pytest.raises(BadHead):
        ChunkedBody().feed(bytearray(data), 1000)


def test_a_chunked_body_that_is_too_large_is_refused() -> None:
    with pytest.raises(BadHead) as refused:
        ChunkedBody().feed(bytearray(b"7d1\r\n"), 2000)
    assert refused.value.status == 413


@given(st.binary(max_size=100))
def test_nothing_else_can_happen_to_a_chunked_body(data: bytes) -> None:
    try:
        ChunkedBody().feed(bytearray(data), 50)
    except BadHead:
        pass


def test_a_response_head() -> None:
    text = response_head(404, [("A", "1"), ("B", "ü")], keep_alive=False).decode()
    first, date, *rest = text.split("\r\n")
    assert first == "HTTP/1.1 404 Not Found"
    assert date.startswith("Date: ") and date.endswith(" GMT")
    assert rest == ["A: 1", "B: ü", "Connection: close", "", ""]
