"""Timing: how long a simulated step takes, and by how much that differs from one object to the next."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kapstan.machinery.meta import Int32
from kapstan.machinery.model import Model

__all__ = ("Timing",)


class Timing(Model):
    """How long a step takes."""

    delay_seconds: Annotated[Int32, Meta(ge=0, le=86400)] | None = None
    """How long it takes. No time if absent."""
    jitter_percent: Annotated[Int32, Meta(ge=0, le=100)] | None = None
    """By how much it may take longer or shorter. Always the same for the same object."""
