"""What fuzzing begins with, and changes of it at random: the server has an answer to each, and fails on none."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests.fuzz.targets import TARGETS, Fuzzed


@pytest.fixture(scope="module")
def server() -> Iterator[Fuzzed]:
    server = Fuzzed()
    yield server
    server.close()


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_make_the_server_fail(server: Fuzzed, name: str) -> None:
    chance = random.Random(name)  # the same in every run
    target = TARGETS[name]
    for seed in target.seeds:
        server(target, seed)
        for _ in range(300):
            server(target, changed(seed, chance))


def changed(data: bytes, chance: random.Random) -> bytes:
    """Some bytes gone, doubled, or become others."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(changed) + 1)
        end = min(len(changed), start + chance.randint(0, 6))
        piece = chance.choice([b"", changed[start:end] * 2, chance.randbytes(2), chance.choice(PIECES)])
        changed[start:end] = piece
    return bytes(changed)


PIECES = [b"{", b"}", b"[", b'"', b"null", b"\x00", b"\xff", b"-", b"1e999", b"$", b"~", b"/", b"(", b")", b"'", b"&*a"]
