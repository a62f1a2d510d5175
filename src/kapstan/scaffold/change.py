"""Changes: from the files of a project as it was to those of the project as it shall be, on disk.

A file that the scaffold wants new and that is there with other content is a conflict: nothing at all is written. A
file that is to change is merged with what somebody made of it; where that is impossible it stays as it is, and the
change is told.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from kapstan.scaffold.errors import ScaffoldError
from kapstan.scaffold.merge import merge

__all__ = ("Outcome", "apply_change")


class Outcome(Struct):
    """What happened to files."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unmerged: dict[str, str] = field(default_factory=dict)  # the change that somebody has to make, as a diff


def apply_change(root: Path, before: Mapping[str, str], after: Mapping[str, str], *, force: bool = False) -> Outcome:
    """Bring a folder from one set of files to another. With `force` files are overwritten, whatever is in them."""
    wanted = {path: text for path, text in after.items() if force or before.get(path) != text}
    texts: dict[str, str] = {}
    conflicts: list[str] = []
    outcome = Outcome()
    for path, text in wanted.items():
        there = _read(root / path)
        if there is None or force:
            texts[path] = text
        elif there == text:
            continue
        elif path not in before:
            conflicts.append(path)
        elif (merged := merge(before[path], there, text)) is None:
            outcome.unmerged[path] = _difference(path, before[path], text)
        else:
            texts[path] = merged
    if conflicts:
        listed = "\n".join(f"  {path}" for path in conflicts)
        raise ScaffoldError(
            f"these files are there already, and nothing was written; --force overwrites them:\n{listed}"
        )
    _write(root, texts, outcome)
    return outcome


def _write(root: Path, texts: Mapping[str, str], outcome: Outcome) -> None:
    for path, text in texts.items():
        file = root / path
        there = _read(file)
        if there == text:
            continue
        (outcome.created if there is None else outcome.changed).append(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{path} cannot be read: {error}; nothing was written") from error


def _difference(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), path, path)
    return "".join(lines)
