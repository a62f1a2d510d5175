"""What tests of connections share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest


@pytest.fixture(autouse=True)
async def goodbyes() -> AsyncIterator[None]:
    """A TLS connection ends when each side has heard the other's goodbye: let the loop hear the last ones."""
    yield
    await asyncio.sleep(0.05)
