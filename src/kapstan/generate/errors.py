"""What generators refuse, in a sentence for a person."""

from __future__ import annotations

from kapstan.machinery.errors import KapstanError

__all__ = ("GenerateError",)


class GenerateError(KapstanError, ValueError):
    """Nothing can be generated from that; the text says where it is wrong and what to do."""
