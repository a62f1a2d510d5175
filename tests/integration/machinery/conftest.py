"""Fixtures of the comparisons with the real implementation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.programs import ORACLES, Oracle, go_program, need_go

from .questions import prepare


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    need_go()
    with Oracle(go_program(ORACLES / "machinery")) as running:
        prepare(running)
        yield running
