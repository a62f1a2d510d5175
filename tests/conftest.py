"""Settings of all tests.

Hypothesis tries the same cases in every run, so that a run says something about the change and not about chance, and
judges nothing by time: machines that run tests are busy. `KAPSTAN_EXPLORE=1` tries new cases.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady",
    deadline=None,
    derandomize=not os.environ.get("KAPSTAN_EXPLORE"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")
