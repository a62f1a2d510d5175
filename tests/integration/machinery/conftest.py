"""Fixtures of the comparisons with the real implementation."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from .oracle import Oracle, build
from .questions import prepare


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    if shutil.which("go") is None:
        pytest.skip("the oracle is a Go program, and there is no go command here")
    with Oracle(build()) as running:
        prepare(running)
        yield running
