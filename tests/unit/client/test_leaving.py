"""The end of a program that has used the client: whatever the HTTP library's threads do, it is an ordinary one."""

from __future__ import annotations

import subprocess
import sys

# A thread that Python knows nothing of enters the interpreter, and takes its time to get out again.
_VISITED = """
import ctypes, os, threading, time
import kapstan.client.connections

inside = threading.Event()

@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def visit(_):
    inside.set()
    time.sleep(0.3)
    os.write(1, b"left")

thread = ctypes.c_ulong()
ctypes.CDLL(None).pthread_create(ctypes.byref(thread), None, visit, None)
inside.wait()
"""

# The threads of the HTTP library get in and out only when the main one rests, so they are often inside at the end.
_REFUSED = """
import asyncio, sys
from kapstan.client import Client, Config, RetryPolicy
from kapstan.k8s.core_v1 import Pod
from kapstan.machinery.errors import ConnectionFailed

async def main():
    async with Client(Config(server="https://127.0.0.1:1"), retry=RetryPolicy(lost=0)) as client:
        await client.list(Pod)

sys.setswitchinterval(10)
try:
    asyncio.run(main())
except ConnectionFailed:
    pass
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_the_interpreter_waits_for_threads_that_are_inside() -> None:
    result = ended(_VISITED)
    assert (result.returncode, result.stdout) == (0, "left"), result.stderr


def test_a_program_ends_well_after_a_refused_connection() -> None:
    for _ in range(5):
        result = ended(_REFUSED)
        assert result.returncode == 0, result.stderr
