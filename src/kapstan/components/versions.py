"""Versions: ask a program which one it is.

A program that does not answer within seconds, or not with a version, has none, and is passed over like one that is
not there: `PATH` holds wrappers and scripts under these names too.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from kapstan.components.releases import KUBERNETES, project_of

__all__ = ("same_version", "version_of")

_ARGUMENTS = {
    "kubectl": ("version", "--client"),
    "kubeadm": ("version", "-o", "short"),
    "etcdctl": ("version",),
    "etcdutl": ("version",),
    "helm": ("version", "--short"),
}
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:-[\w.-]+)?)")
_PATIENCE = 5.0


async def version_of(path: Path, program: str) -> str | None:
    """What the program at a path says that it is, like `v1.36.3`."""
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            *_ARGUMENTS.get(program, ("--version",)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_PATIENCE):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    found = _VERSION.search(said.decode(errors="replace"))
    return f"v{found[1]}" if found else None


def same_version(program: str, found: str | None, wanted: str) -> bool:
    """Whether a version will do: the very one of a Kubernetes program, the same minor of etcd and helm."""
    if found is None:
        return False
    if project_of(program) is KUBERNETES:
        return found == wanted
    return found.split(".")[:2] == wanted.split(".")[:2]
