"""What a watch makes of the bytes that a server sends."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.client.errors import UnexpectedAnswer
from kapstan.client.splitting import Documents
from kapstan.client.stream import Stream
from kapstan.client.watch import RawWatch

NODE = {"metadata": {"name": "n", "annotations": {"odd": 'a "quoted } brace {\\'}}}


async def watched(chunks: Iterable[bytes]) -> list[tuple[str, object]]:
    """The events that a watch of such a stream gives."""
    rest = iter(chunks)

    async def read() -> bytes | None:
        return next(rest, None)

    async def end() -> None:
        pass

    async def open() -> Stream:
        return Stream(read, end, release=lambda: None, what="watch Node", server="test")

    return [(event.type, json.loads(bytes(event.object))) async for event in RawWatch(open, "watch Node")]


@pytest.mark.parametrize(("indent", "end"), [(None, "\n"), (1, "\n"), (1, ""), (0, "\n\n")])
@given(number=st.integers(0, 6), size=st.integers(1, 64))
async def test_events_are_told_apart_indented_or_not(indent: int | None, end: str, number: int, size: int) -> None:
    """API servers send one a line; the simulated clusters of Cluster API indent them, and end no line between them."""
    sent = [("ADDED", NODE | {"number": at}) for at in range(number)]
    text = "".join(json.dumps({"type": type, "object": obj}, indent=indent) + end for type, obj in sent).encode()
    assert await watched(text[at : at + size] for at in range(0, len(text), size)) == sent


async def test_a_stream_that_ends_within_an_indented_event_is_an_error() -> None:
    text = json.dumps({"type": "ADDED", "object": NODE}, indent=1).encode()
    with pytest.raises(UnexpectedAnswer, match="not an event: Input data was truncated"):
        await watched([text[:-1]])


async def test_an_indented_event_is_told_at_once() -> None:
    """Not only when the next one comes: that may be in an hour."""
    text = json.dumps({"type": "ADDED", "object": NODE}, indent=1).encode()
    assert list(Documents().feed(text)) == [text]
