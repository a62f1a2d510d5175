"""The guide to the embedded API server works as it is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.integration.guide import follow

from kapstan.components import assets

GUIDE = Path(__file__).parents[4] / "docs/guides/api-server.md"


@pytest.mark.real
async def test_the_guide_works_as_it_is_written(tmp_path: Path) -> None:
    """`real` because it needs a kubectl; the API server is the embedded one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").symlink_to((await assets.find_all(["kubectl"]))["kubectl"])
    path = f"{tmp_path}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"HOME": str(tmp_path), "PATH": path}
    environment.pop("KUBECONFIG", None)
    await follow(GUIDE, tmp_path, environment)
