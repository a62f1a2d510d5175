"""Versions of Kubernetes: read, ordered, and which may follow which."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ("OLDEST", "KubernetesVersion")

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


class KubernetesVersion(NamedTuple):
    """A release. Compared as such: pre-releases come before the release, build metadata do not count."""

    major: int
    minor: int
    patch: int
    # Of the identifiers of a pre-release, numbers sort below words; a release has none and sorts above them all.
    stage: tuple[tuple[int, int, str], ...] = ((2, 0, ""),)

    @classmethod
    def parse(cls, text: str) -> KubernetesVersion:
        """`v1.36.3` or `1.36.3-rc.0`; ValueError for anything else."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a Kubernetes version; write one like v1.36.3")
        major, minor, patch = (int(part) for part in match.group(1, 2, 3))
        return cls(major, minor, patch, _stage(match[4])) if match[4] else cls(major, minor, patch)

    @property
    def line(self) -> tuple[int, int]:
        """Major and minor: what compatibility goes by."""
        return self.major, self.minor

    def __str__(self) -> str:
        words = ".".join(word if kind else str(number) for kind, number, word in self.stage)
        return f"v{self.major}.{self.minor}.{self.patch}" + (f"-{words}" if words else "")


def _stage(text: str) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in text.split("."))


# Flags, tenant objects and join were checked with the releases from here on.
OLDEST = KubernetesVersion(1, 34, 0, _stage("0"))
