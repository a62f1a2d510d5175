"""Versions of Kubernetes are read and ordered as releases are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.controlplane.hosted.version import KubernetesVersion

parse = KubernetesVersion.parse


@pytest.mark.parametrize(
    "ordered",
    [
        ["v1.34.9", "v1.35.0-alpha.0", "v1.35.0-alpha.2", "v1.35.0-alpha.10", "v1.35.0-beta.0", "v1.35.0-rc.1"],
        ["v1.35.0-rc.1", "v1.35.0", "v1.35.1", "v1.35.10", "v1.36.0", "v2.0.0"],
        ["v1.35.0-1", "v1.35.0-1.2", "v1.35.0-alpha"],
    ],
)
def test_versions_are_ordered(ordered: list[str]) -> None:
    assert sorted(ordered, key=parse) == ordered


def test_build_metadata_and_a_missing_v_do_not_count() -> None:
    assert parse("1.36.3+k3s1") == parse("v1.36.3")


@pytest.mark.parametrize("text", ["", "v1", "1.36", "v1.36.x", "latest", "v1.36.3-", "v1.36.3 "])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write one like v1\.36\.3"):
        parse(text)


@given(st.from_regex(r"v[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(-(alpha|rc)\.[1-9][0-9]?)?", fullmatch=True))
def test_what_is_written_reads_the_same(text: str) -> None:
    assert parse(str(parse(text))) == parse(text)
