"""Built-in kinds, as a real kube-apiserver answers: defaults, refusals, warnings, changes and tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.apiserver.strategy.asking import QUESTIONS, VECTORS, Server, bare

from kapstan.testing.environment import Environment


@pytest.mark.parametrize("name", QUESTIONS)
async def test_answers_are_those_of_a_real_server(embedded: Environment, name: str, tmp_path: Path) -> None:
    recorded = dict(json.loads(line) for line in (VECTORS / f"{name}.jsonl").read_text().splitlines())
    question, server = QUESTIONS[name], Server(bare(embedded), tmp_path)
    try:
        answers = {case: await question.ask(server, case) for case in question.cases}
    finally:
        await server.close()
    assert {case: answer for case, answer in answers.items() if answer != recorded.get(case)} == {}
    assert answers.keys() == recorded.keys()
