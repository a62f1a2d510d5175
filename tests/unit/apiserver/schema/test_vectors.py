"""Our replies against what Kubernetes' own libraries answered.

The vectors are our questions and the answers that `tools/oracles/crdschema` gave; the integration suite asks again and
holds them to it. To add one, write a line with its question alone and run the suite in
`tests/integration/apiserver/schema` with KAPSTAN_RECORD=1.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .replies import reply

VECTORS = Path(__file__).parent / "vectors"


@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_we_reply_what_kubernetes_answers(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        vector = json.loads(line)
        assert reply(vector["question"]) == vector["answer"], f"line {number}: {line}"
