"""The recorded answers of the real implementation, which the unit tests compare with, are what it answers.

To record anew, after a change of the questions or of the oracle's libraries:

    KAPSTAN_RECORD_VECTORS=1 pytest tests/integration/machinery/test_vectors.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest
from tests.integration.programs import Oracle

from ...unit.machinery.apply.answers import comparable
from .questions import QUESTIONS

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

VECTORS = Path(__file__).parents[2] / "unit/machinery/apply/vectors"
RECORD = bool(os.environ.get("KAPSTAN_RECORD_VECTORS"))


@pytest.mark.parametrize("about", QUESTIONS)
def test_recorded_answers_are_those_of_the_real_one(oracle: Oracle, about: str) -> None:
    path = VECTORS / f"{about}.json"
    if RECORD:
        path.write_text("[\n" + ",\n".join(recorded(oracle, about)) + "\n]\n")
    for op, args, answer in json.loads(path.read_text()):
        assert comparable(op, args, oracle.ask({"op": op, "args": args})) == comparable(op, args, answer)


def recorded(oracle: Oracle, about: str) -> list[str]:
    """Questions with their answers, one a line, until there are enough of them."""
    lines: list[str] = []
    seed = 0
    size = 200_000 if about.startswith("managers") else 40_000
    while sum(map(len, lines)) < size:
        for op, args, answer in QUESTIONS[about](oracle, Random(f"{about} {seed}")):
            if not answer.get("panic"):
                lines.append(json.dumps([op, args, answer], separators=(",", ":")))
        seed += 1
    return lines
