"""The recorded vectors are what Kubernetes' own libraries answer today."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.integration.programs import Oracle
from tests.unit.apiserver.schema.replies import comparable
from tests.unit.apiserver.schema.test_vectors import VECTORS

RECORD = "KAPSTAN_RECORD"


@pytest.mark.real
@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_recorded_answers_are_the_oracles(oracle: Oracle, path: Path) -> None:
    """With KAPSTAN_RECORD=1 the answers are written instead of compared."""
    recorded = [json.loads(line) for line in path.read_text().splitlines()]
    asked = [
        {"question": vector["question"], "answer": comparable(oracle.ask(vector["question"]))} for vector in recorded
    ]
    if os.environ.get(RECORD):
        lines = [json.dumps(vector, ensure_ascii=False, sort_keys=True) for vector in asked]
        path.write_text("\n".join(lines) + "\n")
    else:
        assert asked == recorded
