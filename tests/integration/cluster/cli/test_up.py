"""`kapstan up`: it starts, keeps what it has, stops cleanly, and says in one sentence why it cannot run."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.integration.cluster.cli.conftest import run

from kapstan.cluster.management.plane import management_plane
from kapstan.testing import Environment

_READY = b"Ctrl-C stops it."


async def started(*arguments: str, **environment: str) -> asyncio.subprocess.Process:
    """`kapstan`, in a process of its own."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kapstan",
        *arguments,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def refused(*arguments: str) -> str:
    """What a command says that cannot do what it should: one sentence, exit code 1."""
    process = await started(*arguments)
    async with asyncio.timeout(60):
        said = (await process.communicate())[0].decode()
    assert process.returncode == 1, said
    assert said.count("Error: ") == 1 and "Traceback" not in said
    return said.partition("Error: ")[2]


async def says(process: asyncio.subprocess.Process, what: bytes) -> bytes:
    """What it has said when it has said this."""
    assert process.stdout is not None
    said = b""
    async with asyncio.timeout(120):
        while what not in said:
            line = await process.stdout.readline()
            assert line, said.decode()
            said += line
    return said


@asynccontextmanager
async def up(folder: Path, *arguments: str, until: bytes = _READY) -> AsyncIterator[asyncio.subprocess.Process]:
    """A management plane in a process of its own, inside the block, which begins when it says so."""
    process = await started("up", "--data-dir", str(folder), *arguments)
    said = b""
    try:
        said = await says(process, until)
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        rest, _ = await process.communicate()
    assert process.returncode == 0, (said + rest).decode()
    assert b"Traceback" not in said + rest and b"Stopped" in rest


async def kapstan(folder: Path, *arguments: str) -> str:
    result = await run("cluster", *arguments, "--kubeconfig", str(folder / "kubeconfig"))
    assert result.exit_code == 0, result.output
    return result.stdout


async def test_what_was_there_is_there_again(tmp_path: Path) -> None:
    """Also the cluster's own objects, and its nodes, which begin anew with the manager."""
    async with up(tmp_path):
        await kapstan(tmp_path, "create", "demo", "--workers", "1", "--wait", "--timeout", "60")
        before = await kapstan(tmp_path, "kubeconfig", "demo")
    assert not (tmp_path / "kubeconfig").exists(), "nobody shall look for an API server that is gone"
    async with up(tmp_path):
        assert await kapstan(tmp_path, "kubeconfig", "demo") == before
        await kapstan(tmp_path, "scale", "demo", "--workers", "2", "--wait", "--timeout", "60")
        await kapstan(tmp_path, "delete", "demo", "--wait", "--timeout", "60")


async def test_a_folder_in_use_is_one_sentence(tmp_path: Path) -> None:
    async with management_plane(tmp_path):
        said = await refused("up", "--data-dir", str(tmp_path))
    assert " is in use by another server" in said
    assert said.endswith(": stop that one, or choose another data directory\n")


async def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = await refused("up", "--data-dir", str(tmp_path), "--port", str(port))
    why = "Address already in use; end what listens there, or choose another port"
    assert said == f"cannot listen on 127.0.0.1:{port}: {why}\n"


async def test_an_api_that_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    cluster = "{name: a, cluster: {server: 'https://127.0.0.1:1'}}"
    context = "{name: a, context: {cluster: a, user: ''}}"
    file.write_text(f"apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{cluster}]\ncontexts: [{context}]\n")
    for command in (["up", "--data-dir", str(tmp_path / "data")], ["cluster", "list"]):
        said = await refused(*command, "--kubeconfig", str(file))
        assert "https://127.0.0.1:1" in said and said.count("\n") == 1, said


async def test_without_a_management_plane_one_is_told_how_to_have_one(tmp_path: Path) -> None:
    process = await started("cluster", "list", KAPSTAN_DATA=str(tmp_path), HOME=str(tmp_path), KUBECONFIG="")
    said = (await process.communicate())[0].decode()
    assert process.returncode == 1
    assert said.startswith("Error: no management plane is running: start one with `kapstan up`")


async def test_of_two_on_one_cluster_one_works_and_the_other_takes_over(env: Environment, tmp_path: Path) -> None:
    """Also where they have only some providers in common: each has a lease."""
    here = ("--kubeconfig", str(env.write_kubeconfig(tmp_path / "kubeconfig")))
    namespace = await env.namespace()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(up(tmp_path / "first", *here, "--providers", "hosted,core"))
        waits = f"the lease kapstan-system/core.kapstan.dev is held by {socket.gethostname()}_".encode()
        second = await stack.enter_async_context(up(tmp_path / "second", *here, until=waits))
        first.send_signal(signal.SIGINT)
        await says(second, _READY)
        where = ("--namespace", namespace, "--wait", "--timeout", "120")
        for command in (("create", "demo", "--workers", "1"), ("delete", "demo")):
            await kapstan(tmp_path, *command, *where)
