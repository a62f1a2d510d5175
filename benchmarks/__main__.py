"""`python -m benchmarks [suite ...]`: run benchmark suites and print their tables.

With `--markdown FILE` the tables are appended to a file as well.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
from pathlib import Path

SUITES = {
    "runtime": "ours, controller-runtime and kopf on one kube-apiserver",
    "apiserver": "the embedded API server and kube-apiserver with etcd",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    listing = "; ".join(f"{name}: {what}" for name, what in SUITES.items())
    parser.add_argument("suites", nargs="*", help=f"which to run, all if none is named ({listing})")
    parser.add_argument("--markdown", type=Path, help="append the tables to this file")
    parser.add_argument("--objects", type=int, default=10_000, help="how many objects (default: %(default)s)")
    options = parser.parse_args()
    unknown = [name for name in options.suites if name not in SUITES]
    if unknown:
        parser.error(f"unknown suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    for name in options.suites or SUITES:
        suite = importlib.import_module(f"benchmarks.{name}")
        for report in asyncio.run(suite.run(options.objects)):
            report.show()
            if options.markdown:
                with options.markdown.open("a") as file:
                    file.write(report.markdown() + "\n")


if __name__ == "__main__":
    main()
