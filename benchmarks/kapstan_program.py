"""Our program that the benchmarks measure: the same modes and the same lines as the peers'."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from benchmarks.items import Item
from kapstan.runtime.builder import new_controller_managed_by
from kapstan.runtime.manager import Manager
from kapstan.runtime.reconcile import Reconciler

STARTED = time.monotonic()


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


class ItemReconciler(Reconciler[Item]):
    """Does what its mode says."""

    def __init__(self, mode: str, total: int) -> None:
        self.mode, self.total = mode, total
        self.first = self.cpu = 0.0
        self.count = 0
        self.samples: list[float] = []

    async def reconcile(self, item: Item) -> None:
        if self.mode == "latency":
            self.sample(item)
            return
        if self.mode == "write" and item.status.observed_generation == item.metadata.generation:
            return  # written before
        if not self.first:
            self.first, self.cpu = time.monotonic(), time.process_time()
        if self.mode == "write":
            async with self.status(item) as status:
                status.observed_generation = item.metadata.generation
                status.size = item.spec.size
        self.count += 1
        if self.count == self.total:
            seconds, cpu = time.monotonic() - self.first, time.process_time() - self.cpu
            say(event="done", reconciles=self.count, seconds=seconds, cpu=cpu)

    def sample(self, item: Item) -> None:
        sent = item.metadata.annotations.get("bench.kapstan.dev/sent")
        if sent is None:
            return
        self.samples.append((time.monotonic_ns() - int(sent)) / 1e6)
        if len(self.samples) == self.total:
            self.samples.sort()
            middle, high = self.samples[self.total // 2], self.samples[self.total * 99 // 100]
            say(event="latency", p50=middle, p99=high)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="sync")
    parser.add_argument("--total", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    manager = Manager()
    if options.mode == "sync":
        manager.informers.shared(Item)
    else:
        builder = new_controller_managed_by(manager).for_(Item)
        builder = builder.with_options(max_concurrent_reconciles=options.workers)
        builder.complete(ItemReconciler(options.mode, options.total))

    async def synced() -> None:
        await manager.informers.wait_synced()
        say(event="synced", seconds=time.monotonic() - STARTED)

    manager.add(synced)
    manager.run()


if __name__ == "__main__":
    main()
