"""How much memory an idle logical cluster takes: prints kB each."""

from __future__ import annotations

import asyncio
import gc
import sys

from benchmarks.processes import resident_of
from kapstan.apiserver.server import Server


async def main(count: int) -> None:
    async with Server() as server:
        for number in range(10):
            await server.add(await server.new_cluster(f"first-{number}"))
        gc.collect()
        before = resident_of()
        for number in range(count):
            await server.add(await server.new_cluster(f"cluster-{number}"))
        gc.collect()
        print((resident_of() - before) * 1024 / count)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
