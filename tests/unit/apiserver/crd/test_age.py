"""Ages, as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kapstan.apiserver.strategy.age import age, human_duration

DAY = 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-10, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3600, "2d1h"),
        (8 * DAY, "8d"),
        (729 * DAY, "729d"),
        (730 * DAY, "2y"),
        (731 * DAY, "2y1d"),
        (8 * 365 * DAY, "8y"),
    ],
)
def test_durations(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_ages() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert age((now - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ"), now) == "5m"
    assert age(None, now) == "<unknown>"
    assert age("yesterday", now) == "<invalid>"
