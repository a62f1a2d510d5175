"""Programs that are not ours, run as people run them: arguments, a kubeconfig, what they say and how they end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from kapstan.apiserver.server import EmbeddedServer
from kapstan.components import assets
from kapstan.machinery.codec import to_yaml

__all__ = ("Program", "Said", "kubeconfig_of", "program", "served", "write_private")

_PATIENCE = 120.0  # seconds; a machine that is busy with other tests is slow, a program that hangs does not end


class Said(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str


class Program:
    """A program and whom it talks to. It sees nothing of the machine's own configuration."""

    def __init__(self, argv: Sequence[str | Path], kubeconfig: Path, **environment: str) -> None:
        self.argv = [str(part) for part in argv]
        self.kubeconfig = kubeconfig
        home = kubeconfig.parent
        self.environment = {"KUBECONFIG": str(kubeconfig), "HOME": str(home), "PATH": os.environ["PATH"], **environment}

    def __call__(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Said:
        """Run it to its end, whatever that is."""
        done = subprocess.run(
            [*self.argv, *arguments],
            input=stdin,
            env={**self.environment, **(env or {})},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
        """Run it; it must succeed. What it printed."""
        said = self(*arguments, stdin=stdin, env=env)
        assert said.code == 0, f"{' '.join(arguments)}: {said}"
        return said.out

    def fails(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
        """Run it; it must fail. What it complained about."""
        said = self(*arguments, stdin=stdin, env=env)
        assert said.code != 0, f"{' '.join(arguments)}: {said}"
        return said.err

    def until(self, *arguments: str) -> str:
        """Run it again and again, until it succeeds. What it printed."""
        deadline = time.monotonic() + _PATIENCE
        while (said := self(*arguments)).code != 0:
            assert time.monotonic() < deadline, f"{' '.join(arguments)}: {said}"
        return said.out

    @contextmanager
    def running(self, *arguments: str, log: Path) -> Iterator[subprocess.Popen[str]]:
        """Run it inside the block; its standard output can be read, the rest is in the log."""
        with log.open("ab") as file:
            process = subprocess.Popen(
                [*self.argv, *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=file, text=True
            )
        with process:
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def write_private(path: Path, content: str | bytes) -> Path:
    """A file for its owner only."""
    path.touch(mode=0o600)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@contextmanager
def served(**options: Any) -> Iterator[EmbeddedServer]:
    """An embedded server in a thread of its own: the test may wait for programs that talk to it."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="embedded API server")
    thread.start()
    server = EmbeddedServer(**options)
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(60)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def kubeconfig_of(server: EmbeddedServer, folder: Path, user: str = "", *groups: str) -> Path:
    """A kubeconfig file: the administrator's, or a user's."""
    content = server.endpoint.kubeconfig(user, groups) if user else server.kubeconfig()
    return write_private(folder / f"{user or 'admin'}.conf", to_yaml(content))


def program(name: str) -> Path:
    """A real program, which `make kube` has brought here."""
    with ThreadPoolExecutor(1) as thread:  # a loop may be running in this one
        return thread.submit(asyncio.run, assets.find_all([name])).result()[name]
