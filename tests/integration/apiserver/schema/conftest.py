"""Fixtures of the comparisons with Kubernetes' own libraries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from .oracle import Oracle, build


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    if shutil.which("go") is None:
        pytest.skip("the oracle is a Go program, and there is no go command here")
    with Oracle(build()) as running:
        yield running
