"""What tests of connections share."""

from __future__ import annotations

from tests.goodbyes import goodbyes as goodbyes
