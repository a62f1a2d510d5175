"""Warnings of the API server: each is logged once, one that is expected never."""

from __future__ import annotations

import pytest

from kapstan.client.warnings import WarningLog


def test_a_warning_is_logged_once_and_an_expected_one_never(caplog: pytest.LogCaptureFixture) -> None:
    warnings = WarningLog()
    warnings.expect("v1 Endpoints is deprecated")
    warnings.hear(['299 - "v1 Endpoints is deprecated"', '299 - "beware"', '299 - "beware"'])
    assert caplog.messages == ["beware"]
