"""Output: generated files, written only where they differ, or compared with what is there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

__all__ = ("stale", "write_files")


def write_files(files: Mapping[Path, str]) -> list[Path]:
    """Write what differs from what is there; the files that were written."""
    changed = [path for path, text in files.items() if _current(path) != text]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    return changed


def stale(files: Mapping[Path, str]) -> str:
    """How what is there differs from what it should be, as a diff; empty if it does not."""
    parts: list[str] = []
    for path, text in files.items():
        before = (_current(path) or "").splitlines(keepends=True)
        parts += difflib.unified_diff(before, text.splitlines(keepends=True), str(path), f"{path} (generated)")
    return "".join(parts)


def _current(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
