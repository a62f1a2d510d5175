"""Versions of Kubernetes: read, compared, counted.

They are semantic versions with a leading `v`. Build metadata (`v1.36.0+build.2`) says nothing about order in the
standard, but distributions use it for one: numbers in it are compared, texts are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cmp_to_key
from typing import NamedTuple

from kapstan.cluster.api.core.common import VersionCount
from kapstan.cluster.api.core.machine import Machine

__all__ = ("Version", "compare", "counted", "parse", "parse_strict", "running_version", "total")

_NUMBER = r"(?:0|[1-9]\d*)"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_REST = rf"(?:-(?P<pre>{_IDENTIFIERS}))?(?:\+(?P<build>{_IDENTIFIERS}))?"
_STRICT = re.compile(rf"v?(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER}){_REST}")
_TOLERANT = re.compile(rf"\s*v?(?P<major>\d+)(?:\.(?P<minor>\d+))?(?:\.(?P<patch>\d+))?{_REST}\s*")


class Version(NamedTuple):
    """A semantic version."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    def __str__(self) -> str:
        pre = f"-{'.'.join(self.pre)}" if self.pre else ""
        build = f"+{'.'.join(self.build)}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}{build}"


def parse_strict(text: str) -> Version | None:
    """A version that is written as it should be, with or without its `v`; None if it is not."""
    return _version(_STRICT.fullmatch(text))


def parse(text: str) -> Version | None:
    """A version, also where minor or patch are left out."""
    return _version(_TOLERANT.fullmatch(text))


def _version(match: re.Match[str] | None) -> Version | None:
    if match is None:
        return None
    pre, build = match["pre"], match["build"]
    return Version(
        int(match["major"]),
        int(match["minor"] or 0),
        int(match["patch"] or 0),
        tuple(pre.split(".")) if pre else (),
        tuple(build.split(".")) if build else (),
    )


def compare(one: Version, other: Version, *, pre_releases: bool = True) -> int:
    """Negative, zero or positive as the first is older, of no known order, or newer. Build metadata does not count."""
    if one[:3] != other[:3]:
        return -1 if one[:3] < other[:3] else 1
    if not pre_releases or one.pre == other.pre:
        return 0
    if not one.pre or not other.pre:
        return 1 if not one.pre else -1  # a release is newer than what led to it
    return -1 if _ranks(one.pre) < _ranks(other.pre) else 1


def _ranks(identifiers: Iterable[str]) -> list[tuple[bool, int, str]]:
    """Numbers before texts, by their value."""
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in identifiers]


# --- Counting ---------------------------------------------------------------------------------------------------------


def running_version(machine: Machine) -> str:
    """What a machine runs, as its node says; before it has one, what it shall run."""
    info = machine.status.node_info
    return (info.kubelet_version if info is not None else "") or machine.spec.version or ""


def counted(machines: Iterable[Machine]) -> list[VersionCount]:
    """How many machines run which version, the oldest first."""
    by_age = sorted(machines, key=lambda machine: (str(machine.metadata.creation_timestamp), machine.name))
    return total(VersionCount(version=running_version(machine), replicas=1) for machine in by_age)


def total(counts: Iterable[VersionCount]) -> list[VersionCount]:
    """Counts of the same version added up, the oldest version first; where the order is not known, as given."""
    replicas: dict[str, int] = {}
    for count in counts:
        if count.version:
            replicas[count.version] = replicas.get(count.version, 0) + (count.replicas or 0)
    ordered = sorted(replicas, key=cmp_to_key(_by_age))
    return [VersionCount(version=version, replicas=replicas[version] or None) for version in ordered]


def _by_age(one: str, other: str) -> int:
    first, second = parse(one), parse(other)
    if first is None or second is None:
        return (first is None) - (second is None) or (one > other) - (one < other)
    return compare(first, second) or _compare_builds(first.build, second.build)


def _compare_builds(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    for first, second in zip(one, other, strict=False):
        if first == second:
            continue
        if not first.isdecimal() and not second.isdecimal():
            return 0  # a commit, perhaps: nobody knows
        return -1 if _ranks([first]) < _ranks([second]) else 1
    return len(one) - len(other)
