"""Our replies against what Kubernetes' own libraries answered.

The vectors are our questions and the answers that `tools/oracles/crdschema` gave; the integration suite asks again and
holds them to it. To add one, write a line with its question alone and run the suite in
`tests/integration/apiserver/schema` with KAPSTAN_RECORD=1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .replies import reply

VECTORS = Path(__file__).parent / "vectors"


def vectors() -> list[Any]:
    cases = []
    for path in sorted(VECTORS.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            cases.append(pytest.param(json.loads(line), id=f"{path.stem}-{number}"))
    return cases


@pytest.mark.parametrize("vector", vectors())
def test_we_reply_what_kubernetes_answers(vector: dict[str, Any]) -> None:
    assert reply(vector["question"]) == vector["answer"]
