"""Handle: hold on to a running process, ours or one that an earlier manager started.

On Linux a handle is a pidfd, which names this process even if its pid is given to another: a signal can never hit a
stranger, and the end of the process is an event, not something to poll for. Elsewhere the pid file's identity is
checked instead.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal

from kapstan.components import pidfile
from kapstan.components.pidfile import Identity

__all__ = ("Handle", "hold")

_HAS_PIDFD = hasattr(os, "pidfd_open")
_POLL_INTERVAL = 0.1


def hold(identity: Identity) -> Handle | None:
    """A handle of a process that is still the one that is meant, else None."""
    if not _HAS_PIDFD:
        return Handle(identity, None) if pidfile.is_alive(identity) else None
    try:
        descriptor = os.pidfd_open(identity.pid)
    except OSError:
        return None
    if not pidfile.is_alive(identity):  # asked after the process is held: from here on it cannot become another
        os.close(descriptor)
        return None
    return Handle(identity, descriptor)


class Handle:
    """A process that was alive when it was taken hold of."""

    def __init__(self, identity: Identity, descriptor: int | None) -> None:
        self.identity = identity
        self._descriptor = descriptor
        self._exit_code: int | None = None
        self._reaped = False

    @property
    def alive(self) -> bool:
        if self._descriptor is None:
            return pidfile.is_alive(self.identity)
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return not poll.poll(0)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; to a process that has gone it is not an error."""
        try:
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            elif pidfile.is_alive(self.identity):
                os.kill(self.identity.pid, number)
        except ProcessLookupError:
            return

    async def exited(self) -> int | None:
        """Wait for the end; the exit code, or None if the process is not a child of ours."""
        if self._descriptor is None:
            await _gone(self.identity)
        else:
            await _readable(self._descriptor)
        return self._reap()

    def close(self) -> None:
        """Let go of the process. It goes on."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _reap(self) -> int | None:
        if not self._reaped:
            self._reaped = True
            try:
                _, status = os.waitpid(self.identity.pid, 0)
                self._exit_code = os.waitstatus_to_exitcode(status)
            except ChildProcessError:
                self._exit_code = None
        return self._exit_code


async def _gone(identity: Identity) -> None:
    while True:
        if not pidfile.is_alive(identity):
            return
        await asyncio.sleep(_POLL_INTERVAL)


async def _readable(descriptor: int) -> None:
    """Wait until a descriptor is readable. A copy is watched, since a loop allows one watcher for each number."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    copy = os.dup(descriptor)
    loop.add_reader(copy, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_reader(copy)
        os.close(copy)
