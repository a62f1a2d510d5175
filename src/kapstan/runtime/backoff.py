"""Back-off: how long to wait after a failure, longer after each, at random so that many processes spread out."""

from __future__ import annotations

import random

__all__ = ("Backoff",)


class Backoff:
    """Seconds to wait: doubling from `base` to `maximum`, each lengthened by up to `jitter` of itself."""

    def __init__(self, base: float = 0.8, maximum: float = 30, *, jitter: float = 1) -> None:
        self._base, self._maximum, self._jitter = base, maximum, jitter
        self.failures = 0

    def next(self) -> float:
        """The next wait, counting one more failure."""
        wait = min(self._base * 2.0 ** min(self.failures, 64), self._maximum)
        self.failures += 1
        return wait * (1 + random.random() * self._jitter)  # noqa: S311

    def reset(self) -> None:
        """It went well: the next failure is the first again."""
        self.failures = 0
