"""The command line, on a management plane of its own or on an environment's API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.integration.cluster.plane import plane_in

from kapstan.cli import main
from kapstan.testing import Environment


class CommandLine:
    """`kapstan`, as somebody would call it beside a running management plane."""

    def __init__(self, env: Environment, kubeconfig: Path, namespace: str) -> None:
        self.env, self.kubeconfig, self.namespace = env, kubeconfig, namespace

    async def __call__(self, *arguments: str, succeeds: bool = True) -> str:
        """Run a command about clusters; what it said on standard output, or as its error."""
        where = ("--kubeconfig", str(self.kubeconfig), "--namespace", self.namespace)
        result = await run("cluster", *arguments, *where)
        assert (result.exit_code == 0) is succeeds, result.output
        if not succeeds:
            assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.exception
            return result.stderr
        return result.stdout


async def run(*arguments: str) -> Result:
    """Run a command in a thread: it has an event loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


@pytest.fixture
async def kapstan(env: Environment, tmp_path: Path) -> AsyncIterator[CommandLine]:
    """The command line, and all controllers in a namespace."""
    namespace = await env.namespace()
    async with plane_in(env, namespace, tmp_path / "plane"):
        yield CommandLine(env, env.write_kubeconfig(tmp_path / "kubeconfig"), namespace)
