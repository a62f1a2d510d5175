"""The protobuf decoder against Kubernetes' own, on random objects and on damaged bodies. Needs the Go command."""

from __future__ import annotations

import base64
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.apiserver.exploring import new_seed

from kapstan.apiserver import protobuf

ORACLE = Path(__file__).resolve().parents[3] / "tools/oracles/protobuf"

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("go") is None, reason="Kubernetes' libraries are asked with the go command"),
]


def oracle(*arguments: str, stdin: bytes = b"") -> Iterator[dict[str, Any]]:
    command = ["go", "run", ".", *arguments]
    done = subprocess.run(command, cwd=ORACLE, input=stdin, stdout=subprocess.PIPE, check=True)
    for line in done.stdout.splitlines():
        # Raw JSON in an object may hold any bytes, and Go passes it on.
        yield json.loads(line.decode(errors="replace"))


@pytest.fixture(scope="module")
def seed() -> int:
    return new_seed()


def test_random_objects_decode_to_the_json_that_go_writes(seed: int) -> None:
    for case in oracle("make", str(seed), "20"):
        decoded = protobuf.decode(base64.b64decode(case["body"]))
        assert json.dumps(decoded, sort_keys=True) == json.dumps(case["json"], sort_keys=True), f"seed {seed}"


def test_damaged_bodies_that_both_accept_mean_the_same_to_both(seed: int) -> None:
    """Which ones are accepted differs: ours refuses text that is not UTF-8 and times that JSON cannot write."""
    chance = random.Random(seed)
    bodies = [base64.b64decode(case["body"]) for case in oracle("make", str(seed), "2")]
    damaged = [damage(chance.choice(bodies), chance) for _ in range(10_000)]
    answers = oracle("read", stdin=b"\n".join(map(base64.b64encode, damaged)))
    accepted = 0
    for body, answer in zip(damaged, answers, strict=True):
        try:
            decoded = protobuf.decode(body)
        except protobuf.ProtobufError:
            continue
        if "json" in answer:
            accepted += 1
            assert json.dumps(decoded, sort_keys=True) == json.dumps(answer["json"], sort_keys=True), f"seed {seed}"
        else:
            # Kinds of every group are found by their kind alone.
            assert "no kind" in answer["error"], f"seed {seed}: {answer}"
    assert accepted > 100


def damage(body: bytes, chance: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(4, len(changed))
        changed[at : at + chance.randrange(3)] = chance.choice(
            (b"", chance.randbytes(1), bytes([changed[at] ^ 1 << chance.randrange(8)]), bytes(changed[at : at + 20]))
        )
    return bytes(changed)
