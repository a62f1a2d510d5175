"""Files: written whole or not at all, readable by their owner only, and left alone when nothing changed.

Left alone, because components reload certificates when a file changes.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ("private_folder", "write_private")


def private_folder(path: Path) -> Path:
    """A folder that nobody else can look into, made if need be, and so are those on the way to it."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Give a file this content and mode 0600."""
    private_folder(path.parent)
    if path.is_file() and path.read_bytes() == content and path.stat().st_mode & 0o777 == 0o600:
        return
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
