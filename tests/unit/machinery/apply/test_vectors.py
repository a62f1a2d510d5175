"""Our answers to questions whose answers by the real implementation were recorded."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from .answers import answer, comparable

VECTORS = sorted((Path(__file__).parent / "vectors").glob("*.json"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_we_answer_as_the_real_one_did(path: Path) -> None:
    """And we change nothing of what we were given."""
    questions = json.loads(path.read_text())
    assert questions
    for op, args, theirs in questions:
        before = copy.deepcopy(args)
        ours = answer(op, args)
        assert args == before
        assert comparable(op, args, ours) == comparable(op, args, theirs)
