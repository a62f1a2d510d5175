"""The server is there at once because it loads little: what most clusters never use is loaded when they use it."""

from __future__ import annotations

import subprocess
import sys

LATER = {"aiohttp", "pyreqwest", "rich", "prometheus_client", "kapstan.client", "kapstan.runtime", "kapstan.k8s"}
LATER |= {"kapstan.apiserver.schema.cel.evaluate", "kapstan.apiserver.schema.structural"}


def test_a_server_starts_without_what_it_may_never_need() -> None:
    program = (
        "import asyncio, sys\n"
        "from kapstan.apiserver.server import EmbeddedServer\n"
        "async def main():\n"
        "    async with EmbeddedServer() as server:\n"
        "        server.kubeconfig()\n"
        "asyncio.run(main())\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert LATER & set(done.stdout.split()) == set()
