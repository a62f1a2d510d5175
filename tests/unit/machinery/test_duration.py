"""Duration against vectors that Go's own parser answered."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery.duration import Duration

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors" / "duration.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["in"])
def test_agrees_with_go(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(ValueError, match="not a duration"):
            Duration.parse(vector["in"])
    else:
        assert str(Duration.parse(vector["in"])) == vector["text"]


@given(st.timedeltas(min_value=timedelta(days=-1000), max_value=timedelta(days=1000)))
def test_text_round_trips(span: timedelta) -> None:
    assert Duration.parse(str(Duration.of(span))) == span
