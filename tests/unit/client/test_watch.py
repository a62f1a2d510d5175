"""What a watch makes of the bytes that a server sends."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.client.errors import UnexpectedAnswer
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


@given(indents=st.lists(st.sampled_from([None, 0, 1]), max_size=6), size=st.integers(1, 64))
async def test_events_are_told_apart_indented_or_not(indents: list[int | None], size: int) -> None:
    """API servers send one a line; the simulated clusters of Cluster API indent them."""
    sent = [("ADDED", NODE | {"number": number}) for number in range(len(indents))]
    text = "".join(
        json.dumps({"type": type, "object": obj}, indent=indent) + "\n"
        for (type, obj), indent in zip(sent, indents, strict=True)
    ).encode()
    assert await watched(text[at : at + size] for at in range(0, len(text), size)) == sent


async def test_a_stream_that_ends_within_an_indented_event_is_an_error() -> None:
    text = json.dumps({"type": "ADDED", "object": NODE}, indent=1).encode()
    with pytest.raises(UnexpectedAnswer, match="ended in the middle of an event"):
        await watched([text[:-1]])
