"""Fixtures of the comparisons with Kubernetes' own libraries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.programs import ORACLES, Oracle, go_program, need_go


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    need_go()
    with Oracle(go_program(ORACLES / "crdschema")) as running:
        yield running
