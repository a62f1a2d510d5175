"""Times as meta/v1 writes them."""

from __future__ import annotations

import pytest

from kapstan.apiserver.schema.formats import times


@pytest.mark.parametrize("digits", [1, 9, 100_000])
def test_fractions_of_a_second_are_dropped(digits: int) -> None:
    assert times.to_seconds(f"2020-01-01T02:00:00.{'9' * digits}+02:00") == "2020-01-01T00:00:00Z"


def test_only_times_of_a_usual_length_are_remembered() -> None:
    """A client may send any number of long ones."""
    times.to_seconds("2020-01-01T00:00:00Z")
    before = times._to_seconds.cache_info().currsize
    times.to_seconds(f"2020-01-01T00:00:00.{'1' * 100}Z")
    assert times._to_seconds.cache_info().currsize == before
