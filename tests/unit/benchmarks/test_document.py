"""The document of the benchmarks: a suite that is run again replaces its own section, and nothing else."""

from __future__ import annotations

from pathlib import Path

from benchmarks import apiserver
from benchmarks.document import replace_section, section_of
from benchmarks.report import Report


def test_sections_are_replaced_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    path.write_text("# Benchmarks\n\nWhat people wrote.\n")
    replace_section(path, "runtime", "## runtime\n\nfirst")
    replace_section(path, "apiserver", "## apiserver\n\nonly")
    with path.open("a") as file:
        file.write("\nThe end.\n")
    replace_section(path, "runtime", "## runtime\n\nsecond")
    text = path.read_text()
    assert "first" not in text
    assert text.startswith("# Benchmarks\n\nWhat people wrote.\n\n<!-- benchmarks: runtime -->\n## runtime\n\nsecond\n")
    assert text.index("second") < text.index("only") < text.index("The end.")
    replace_section(path, "runtime", "## runtime\n\nsecond")
    assert path.read_text() == text


def test_a_file_is_made_if_there_is_none(tmp_path: Path) -> None:
    replace_section(tmp_path / "new.md", "runtime", "text")
    assert (tmp_path / "new.md").read_text().splitlines() == [
        "<!-- benchmarks: runtime -->",
        "text",
        "<!-- end of benchmarks: runtime -->",
    ]


def test_a_section_says_what_how_and_where() -> None:
    report = Report("Speed", ["ours", "theirs"])
    report.add("requests", "1/s", {"ours": 200, "theirs": 100})
    section = section_of(apiserver, "python -m benchmarks apiserver", [report])
    assert section.startswith("## apiserver\n\nThe embedded API server and kube-apiserver")
    assert "with `python -m benchmarks apiserver`" in section and "cores" in section
    assert "| requests | 1/s | 200 | 100 (0.50×) |" in section
