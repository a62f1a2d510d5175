"""Guides, followed to the letter: their blocks are pasted into terminals, and print what the guide says they print."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

_FENCE = re.compile(r"^```(\w+) *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


async def follow(guide: Path, folder: Path, environment: dict[str, str]) -> None:
    """Paste every block, in order, into its terminal; what does not end goes on until the guide does."""
    first = Terminal("first", folder, environment)
    async with AsyncExitStack() as others:
        for commands, terminal, printed in blocks(guide):
            if terminal:
                other = Terminal(terminal, folder, environment)
                await others.enter_async_context(other.running(commands, printed))
            else:
                output = await first.paste(commands)
                assert shows(output, printed), f"{commands}\nprinted\n{output}"


class Block(NamedTuple):
    """A block of commands: where it is pasted ("" is the first terminal), and what is printed then."""

    commands: str
    terminal: str
    printed: str


def blocks(guide: Path) -> Iterator[Block]:
    """The blocks of a guide but the one that installs kapstan, which is this checkout here."""
    found = [match.groups() for match in _FENCE.finditer(guide.read_text())]
    installs = [body for _, info, body in found if info == "install"]
    assert len(installs) == 1 and "pip install 'kapstan[" in installs[0]
    for position, (language, info, body) in enumerate(found):
        if language == "sh" and info != "install":
            after = found[position + 1] if position + 1 < len(found) else ("", "", "")
            yield Block(body, info.removeprefix("terminal="), after[2] if after[0] == "text" else "")


class Terminal:
    """A shell that remembers its folder and its variables from one block to the next."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.state, self.log = folder / f"{name}.state", folder / f"{name}.log"
        self.state.write_text("")

    async def paste(self, commands: str) -> str:
        """Run commands to their end, each of which must succeed; what they printed."""
        script = f"set -eo pipefail\n. {self.state}\n{commands}\n{{ export -p; echo cd \"'$PWD'\"; }} > {self.state}\n"
        process = await self._start(script, asyncio.subprocess.PIPE)
        async with asyncio.timeout(200):
            output = (await process.communicate())[0].decode()
        assert process.returncode == 0, f"{commands}\n{output}"
        return output

    @asynccontextmanager
    async def running(self, commands: str, printed: str) -> AsyncIterator[None]:
        """Run commands that do not end, inside the block, which begins when they have printed what they should."""
        with self.log.open("w") as output:
            process = await self._start(f"set -e\n{commands}", output)
            try:
                await self._until(process, printed)
                yield
                assert process.returncode is None, self.log.read_text()
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGTERM)
                await process.wait()

    async def _until(self, process: asyncio.subprocess.Process, printed: str) -> None:
        try:
            async with asyncio.timeout(90):
                while not shows(self.log.read_text(), printed):
                    assert process.returncode is None, self.log.read_text()
                    await asyncio.sleep(0.05)  # a process writes: there is nothing to watch
        except TimeoutError:
            raise AssertionError(f"expected\n{printed}\nin\n{self.log.read_text()}") from None

    async def _start(self, script: str, output: Any) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            script,
            cwd=self.folder,
            env=self.environment,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )


def shows(output: str, expected: str) -> bool:
    """Whether the lines are in the output in this order. `…` is anything, and so is the width of columns."""
    lines = iter(output.splitlines())
    return all(any(_line(wanted).search(line) for line in lines) for wanted in expected.splitlines())


def _line(wanted: str) -> re.Pattern[str]:
    pattern = r"\s+".join(re.escape(word).replace("…", ".*") for word in wanted.split())
    return re.compile(pattern.replace(r"\s+.*", ".*").replace(r".*\s+", ".*"))
