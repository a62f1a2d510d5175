"""What other people's clients need before they can run: built or installed once, and kept in the cache folder."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers import kopf_python
from tests.integration.programs import alone, go_program

__all__ = ("go_client", "python_with_clients")


def go_client() -> Path:
    """Our program in Go."""
    return go_program(Path(__file__).parent / "goclient")


def python_with_clients() -> Path:
    """A Python that has kopf and the official client, which are too heavy for our own environment."""
    with alone():
        return kopf_python()
