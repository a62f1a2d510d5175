"""A fixture for tests with connections of their own: import it, and each test ends after its last connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

__all__ = ("goodbyes",)


@pytest.fixture(autouse=True)
async def goodbyes() -> AsyncIterator[None]:
    """A TLS connection ends when each side has heard the other's goodbye: let the loop hear the last ones."""
    yield
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    async with asyncio.timeout(60):
        while len(selector.get_map()) > 1:  # noqa: ASYNC110 - the loop's own socket stays
            await asyncio.sleep(0.01)
