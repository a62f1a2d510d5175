"""What the scaffold refuses, in a sentence for a person."""

from __future__ import annotations

from kapstan.machinery.errors import KapstanError

__all__ = ("ScaffoldError",)


class ScaffoldError(KapstanError):
    """That cannot be scaffolded; the text says why and what to do. Nothing was written."""
