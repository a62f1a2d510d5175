"""Writer: the one thread that writes to a database, and its group commit.

It takes every job that waits and runs them in one transaction; then the event loop hears, in order, that they are done.
If a transaction fails (the disk is full), its jobs fail and so do those that were queued behind it, because they
may build on what was not written; jobs submitted after the failure has been told get a fresh start.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

__all__ = ("Job", "Writer")

logger = logging.getLogger(__name__)
_BATCH = 4096


class Job(Protocol):
    """Something to write."""

    def run(self, connection: sqlite3.Connection) -> None:
        """In the writer's thread, inside the transaction."""

    def done(self) -> None:
        """On the event loop, after the commit."""

    def failed(self, error: Exception) -> None:
        """On the event loop: nothing was written."""


class Writer:
    """Runs jobs in order, many in one transaction."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[tuple[int, Job] | None] = queue.SimpleQueue()
        self._outstanding: deque[Job] = deque()
        self._generation = 0  # of jobs submitted now; those of a failed generation are not run any more
        self._failed_generation = -1  # the thread's
        self.ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name=f"writer {name}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        self._outstanding.append(job)
        self._jobs.put((self._generation, job))

    async def stop(self) -> None:
        """Write what waits, then end."""
        self._jobs.put(None)
        await asyncio.shield(self.ended)  # the thread ends, whether somebody waits for it or not
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            batch, stopping = self._take()
            jobs = [job for generation, job in batch if generation > self._failed_generation]
            if jobs:
                error = self._write(jobs)
                if error is not None:
                    self._failed_generation = batch[-1][0]
                self._loop.call_soon_threadsafe(self._tell, jobs, error)
        self._connection.close()
        self._loop.call_soon_threadsafe(self.ended.set_result, None)

    def _take(self) -> tuple[list[tuple[int, Job]], bool]:
        """Wait for a job, then take all that wait."""
        item = self._jobs.get()
        batch: list[tuple[int, Job]] = []
        while item is not None:
            batch.append(item)
            if len(batch) >= _BATCH or self._jobs.empty():
                return batch, False
            item = self._jobs.get()
        return batch, True

    def _write(self, jobs: Sequence[Job]) -> Exception | None:
        connection = self._connection
        try:
            connection.execute("BEGIN")
            for job in jobs:
                job.run(connection)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - told to everyone who waits
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return error
        return None

    def _tell(self, jobs: Sequence[Job], error: Exception | None) -> None:
        if error is None:
            for job in jobs:
                self._outstanding.popleft()
                job.done()
            return
        logger.error("the database could not be written: %s", error)
        self._generation += 1
        failed, self._outstanding = self._outstanding, deque()
        for job in failed:
            job.failed(error)
