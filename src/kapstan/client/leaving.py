"""Leaving: the interpreter does not end while a thread of the HTTP library is inside it.

That library works in threads of its own, which enter the interpreter for a moment to hand over what they have. The
result may be with us, and the program at its end, before the thread has got out again. CPython then ends a thread that
wants its lock, wherever it is; in Rust that aborts the process ("PyGILState_Release: thread state must be current"):
exit code 134, after all was done. So we look, as late as we can, whether somebody is still inside, and let them out.
"""

from __future__ import annotations

import sys
import threading
import time

__all__ = ("wait_for_visitors",)

_PATIENCE = 2.0  # seconds; it takes microseconds, but a busy machine may leave a thread waiting
_PAUSE = 0.001  # sleeping gives the interpreter's lock away


def wait_for_visitors() -> None:
    """Wait until no thread is inside the interpreter but those that Python has started."""
    deadline = time.monotonic() + _PATIENCE
    while _visitors() and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def _visitors() -> set[int]:
    """Every thread that is inside has a state, which this lists, also where it runs no Python code."""
    return sys._current_exceptions().keys() - {thread.ident for thread in threading.enumerate()}
