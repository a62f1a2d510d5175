"""A management plane that fixtures share: all controllers, in a namespace of an environment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kapstan.cluster.management import ManagementPlane, management_plane
from kapstan.testing import Environment


@asynccontextmanager
async def plane_in(env: Environment, namespace: str, folder: Path) -> AsyncIterator[ManagementPlane]:
    """All controllers look after a namespace inside the block, which may end in another task than it began in."""
    started: asyncio.Future[ManagementPlane] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()

    async def run() -> None:
        try:
            async with management_plane(folder, config=env.config, namespaces=(namespace,)) as plane:
                started.set_result(plane)
                await stop.wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    running = asyncio.create_task(run())
    yield await started
    stop.set()
    await running
