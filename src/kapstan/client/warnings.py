"""Warnings of the API server: each text is logged once, however often it comes."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

__all__ = ("WarningLog",)

logger = logging.getLogger("kapstan.client.warnings")

_REMEMBERED = 1000
# RFC 7234: code, agent, quoted text; several may share a line. Kubernetes uses code 299 only.
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class WarningLog:
    """Logs what it has not logged before."""

    def __init__(self) -> None:
        self._heard: set[str] = set()
        self._expected: set[str] = set()

    def expect(self, text: str) -> None:
        """Do not log this one: whoever causes it knows."""
        self._expected.add(text)

    def hear(self, headers: Iterable[str]) -> None:
        """Take the `Warning` headers of an answer."""
        for header in headers:
            for quoted in _WARNING.findall(header):
                self._log(_ESCAPED.sub(r"\1", quoted))

    def _log(self, text: str) -> None:
        if text in self._heard or text in self._expected:
            return
        if len(self._heard) >= _REMEMBERED:  # better to repeat oneself than to grow for ever
            self._heard.clear()
        self._heard.add(text)
        logger.warning("%s", text)
