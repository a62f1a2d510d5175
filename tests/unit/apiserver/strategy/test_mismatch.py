"""Values that do not fit: Go has words for JSON, and others for objects that were read already."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.strategy.typed import Mismatch


@pytest.mark.parametrize(
    ("value", "wanted", "words"),
    [
        ("x", "[]v1.Container", "cannot restore slice from string"),
        ({}, "[]string", "cannot restore slice from map"),
        (1, "map[string]string", "cannot restore map from int64"),
        ([], "v1.ResourceList", "cannot restore map from slice"),
        (1.5, "v1.PodSpec", "cannot restore struct from: float64"),
        (1, "string", "cannot convert int64 to string"),
        (True, "string", "unrecognized type: string"),
        (1.5, "int32", "cannot convert float64 to int32"),
        ("x", "int64", "unrecognized type: int64"),
        ("x", "bool", "unrecognized type: bool"),
    ],
)
def test_what_strategic_patches_leave_is_refused_in_other_words(value: Any, wanted: str, words: str) -> None:
    mismatch = Mismatch(value, wanted)
    assert mismatch.restoring == words
    assert str(mismatch).startswith("json: cannot unmarshal ")
