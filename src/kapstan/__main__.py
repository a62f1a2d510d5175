"""The command line's first step: nothing is imported before an interruption is expected."""

from __future__ import annotations

import sys

__all__ = ("main",)


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly, also while it is still being read in."""
    try:
        from kapstan.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell says it of a program that was interrupted


if __name__ == "__main__":
    main()
