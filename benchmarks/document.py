"""Document: a Markdown file with one section for each suite. A suite that is run again replaces only its own."""

from __future__ import annotations

import inspect
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from benchmarks.report import Report

__all__ = ("replace_section", "section_of")


def section_of(suite: ModuleType, command: str, reports: Iterable[Report]) -> str:
    """What a suite has measured, with what it is about, how to run it again, and where it ran."""
    about = inspect.cleandoc(suite.__doc__ or "")
    when = datetime.now(UTC).date().isoformat()
    return "\n".join(
        [
            f"## {_name(suite)}\n",
            f"{about}\n",
            "In brackets: the other's number as a multiple of ours.\n",
            f"Measured on {when} on {machine()}, with `{command}`.\n",
            *(report.markdown() for report in reports),
        ]
    )


def replace_section(path: Path, name: str, text: str) -> None:
    """Put a section where the file has it already, or at the end."""
    begin, end = f"<!-- benchmarks: {name} -->", f"<!-- end of benchmarks: {name} -->"
    document = path.read_text() if path.exists() else ""
    section = f"{begin}\n{text.strip()}\n{end}"
    before, found, rest = document.partition(begin)
    if found:
        document = before + section + rest.partition(end)[2]
    else:
        document = f"{document.rstrip()}\n\n{section}\n".lstrip()
    path.write_text(document)


def machine() -> str:
    """Where this runs, in few words."""
    return f"{os.cpu_count()} cores ({_processor()}), {platform.system()}, Python {platform.python_version()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _name(suite: ModuleType) -> str:
    return suite.__name__.rpartition(".")[2]
