"""The recorded answers about built-in kinds are what a real kube-apiserver says today."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.unit.apiserver.strategy.asking import QUESTIONS, VECTORS, Server

from kapstan.testing.environment import Environment

RECORD = "KAPSTAN_RECORD"


@pytest.mark.real
@pytest.mark.parametrize("name", QUESTIONS)
async def test_the_recorded_answers_are_the_servers(real: Environment, name: str, tmp_path: Path) -> None:
    """With KAPSTAN_RECORD=1 the answers are written instead of compared."""
    question, server, path = QUESTIONS[name], Server(real, tmp_path), VECTORS / f"{name}.jsonl"
    try:
        answers = {case: await question.ask(server, case) for case in question.cases}
    finally:
        await server.close()
    if os.environ.get(RECORD):
        lines = [json.dumps(pair, ensure_ascii=False, sort_keys=True) for pair in answers.items()]
        path.write_text("\n".join(lines) + "\n")
    else:
        assert answers == dict(json.loads(line) for line in path.read_text().splitlines())
