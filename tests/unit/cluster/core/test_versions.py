"""Versions of Kubernetes: read, compared, counted."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kapstan.cluster.api.core.common import VersionCount
from kapstan.cluster.core.versions import Version, compare, parse, parse_strict, total


def version(text: str) -> Version:
    found = parse(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "strict", "tolerant"),
    [
        ("v1.36.0", True, True),
        ("1.36.0", True, True),
        ("v1.36.0-rc.1+build.7", True, True),
        ("v1.36", False, True),
        ("v01.36.0", False, True),
        ("latest", False, False),
        ("v1.36.0-", False, False),
        ("", False, False),
    ],
)
def test_versions_are_read(text: str, strict: bool, tolerant: bool) -> None:
    assert (parse_strict(text) is not None) is strict
    assert (parse(text) is not None) is tolerant


def test_a_version_is_written_as_it_was_read() -> None:
    assert str(version("v1.36.0-rc.1+build.7")) == "1.36.0-rc.1+build.7"


def test_versions_are_ordered_as_the_standard_says() -> None:
    ascending = ["1.35.9", "1.36.0-alpha", "1.36.0-alpha.1", "1.36.0-alpha.2", "1.36.0-alpha.10", "1.36.0-alpha.beta"]
    ascending += ["1.36.0-beta", "1.36.0", "1.36.1", "2.0.0"]
    for older, newer in pairwise(ascending):
        assert compare(version(older), version(newer)) < 0 < compare(version(newer), version(older))


def test_build_metadata_and_pre_releases_may_not_count() -> None:
    assert compare(version("1.36.0+a"), version("1.36.0+b")) == 0
    assert compare(version("1.36.0-rc.1"), version("1.36.0"), pre_releases=False) == 0


def test_counts_are_added_up_the_oldest_version_first() -> None:
    counts = [("v1.36.0", 2), ("v1.35.1", 1), ("v1.36.0", 3), ("v1.36.0+2", 1), ("v1.36.0+10", 1), ("odd", 1)]
    added = total(VersionCount(version=text, replicas=replicas) for text, replicas in counts)
    assert [(count.version, count.replicas) for count in added] == [
        ("v1.35.1", 1),
        ("v1.36.0", 5),
        ("v1.36.0+2", 1),
        ("v1.36.0+10", 1),
        ("odd", 1),
    ]
