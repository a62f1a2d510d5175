"""The guide to the first cluster, followed to the letter: its blocks are pasted into terminals."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.integration.scaffold.test_tutorial import FENCE, Block, Terminal, shows

from kapstan.components import assets

GUIDE = Path(__file__).parents[4] / "docs/start/clusters.md"


def blocks() -> Iterator[Block]:
    """The blocks of the guide but the one that installs kapstan, which is this checkout here."""
    found = [match.groups() for match in FENCE.finditer(GUIDE.read_text())]
    assert sum(info == "install" for _, info, _ in found) == 1
    for position, (language, info, body) in enumerate(found):
        if language == "sh" and info != "install":
            after = found[position + 1] if position + 1 < len(found) else ("", "", "")
            yield Block(body, info.removeprefix("terminal="), after[2] if after[0] == "text" else "")


@pytest.mark.real
async def test_the_guide_works_as_it_is_written(tmp_path: Path) -> None:
    """`real` because it needs a kubectl; the API server is the embedded one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").symlink_to((await assets.find_all(["kubectl"]))["kubectl"])
    environment = os.environ | {
        "HOME": str(tmp_path),
        "KAPSTAN_DATA": str(tmp_path / "data"),
        "PATH": f"{tmp_path}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    environment.pop("KUBECONFIG", None)
    first = Terminal("first", tmp_path, environment)
    async with AsyncExitStack() as others:
        for commands, terminal, printed in blocks():
            if terminal:
                other = Terminal(terminal, tmp_path, environment)
                await others.enter_async_context(other.running(commands, printed))
            else:
                output = await first.paste(commands)
                assert shows(output, printed), f"{commands}\nprinted\n{output}"
