"""`python -m benchmarks [suite ...]`: run benchmark suites and print their tables.

With `--markdown FILE` each suite also writes its section of that file, and leaves those of the others as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
from pathlib import Path

from benchmarks.document import replace_section, section_of
from benchmarks.report import Report

SUITES = {
    "runtime": "ours, controller-runtime and kopf on one kube-apiserver",
    "apiserver": "the embedded API server and kube-apiserver with etcd",
    "hosted": "hosted control planes and the same programs started by hand",
    "cluster": "clusters from manifests to Available, and their deletion",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    listing = "; ".join(f"{name}: {what}" for name, what in SUITES.items())
    parser.add_argument("suites", nargs="*", help=f"which to run, all if none is named ({listing})")
    parser.add_argument("--markdown", type=Path, help="write the sections of these suites into this file")
    parser.add_argument("--objects", type=int, default=10_000, help="how many objects (default: %(default)s)")
    options = parser.parse_args()
    unknown = [name for name in options.suites if name not in SUITES]
    if unknown:
        parser.error(f"unknown suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    if options.objects < 1:
        parser.error(f"--objects is at least 1, got {options.objects}")
    for name in options.suites or SUITES:
        _run(name, options.objects, options.markdown)


def _run(name: str, objects: int, markdown: Path | None) -> None:
    suite = importlib.import_module(f"benchmarks.{name}")
    command = f"python -m benchmarks {name} --objects {objects}"

    async def each() -> None:
        """Each report is shown and written as soon as it is there: the next may take long."""
        reports: list[Report] = []
        async for report in suite.run(objects):
            report.show()
            reports.append(report)
            if markdown is not None:
                replace_section(markdown, name, section_of(suite, command, reports))

    asyncio.run(each())


if __name__ == "__main__":
    main()
