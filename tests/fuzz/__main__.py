"""`python -m tests.fuzz TARGET [--seconds N]`: let atheris look for bytes that the server fails on.

It needs `pip install atheris`. What it finds interesting is kept in `.fuzz/TARGET`, and so goes on from there; bytes
that make the server fail are written to a file that the last line names, which `--replay FILE` tries again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", metavar="TARGET", help="what to fuzz; an unknown name lists them")
    parser.add_argument("--seconds", type=int, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="only try these bytes")
    options = parser.parse_args()
    with _instrumented() if options.replay is None else nullcontext():
        from tests.fuzz.targets import TARGETS, Fuzzed
    if options.target not in TARGETS:
        parser.error(f"there is no target {options.target!r}; there are {', '.join(TARGETS)}")
    target, server = TARGETS[options.target], Fuzzed()
    if options.replay is not None:
        server(target, options.replay.read_bytes())
        return
    corpus = Path(".fuzz", options.target)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    _fuzz(lambda data: server(target, data), corpus, options.seconds)


def _instrumented() -> AbstractContextManager[None]:
    """What is imported inside tells the fuzzer which way it went."""
    try:
        import atheris
    except ImportError:
        sys.exit("the fuzzer is missing: pip install atheris")
    instrumented: AbstractContextManager[None] = atheris.instrument_imports(include=["kapstan"])
    return instrumented


def _fuzz(run: Callable[[bytes], None], corpus: Path, seconds: int) -> None:
    import atheris

    limits = [f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=10", "-max_len=4096"]
    atheris.Setup([sys.argv[0], str(corpus), *limits], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
