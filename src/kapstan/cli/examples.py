"""Examples: what the help of every command ends with."""

from __future__ import annotations

__all__ = ("examples",)


def examples(*lines: str) -> str:
    """The examples of a command, as the end of its help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
