"""Random cases for comparisons: always the same few, or ten times as many new ones with KAPSTAN_EXPLORE=10."""

from __future__ import annotations

import os
import random

from hypothesis import HealthCheck, settings

__all__ = ("EXPLORE", "examples", "new_seed")

EXPLORE = int(os.environ.get("KAPSTAN_EXPLORE") or 0)


def examples(count: int) -> settings:
    """So many examples of a Hypothesis test."""
    return settings(
        max_examples=count * max(EXPLORE, 1),
        derandomize=not EXPLORE,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


def new_seed() -> int:
    """For what makes its random cases elsewhere."""
    return random.randrange(1 << 40) if EXPLORE else 4
