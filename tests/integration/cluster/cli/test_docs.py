"""The guide to the first cluster works as it is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.integration.guide import follow

from kapstan.components import assets

GUIDE = Path(__file__).parents[4] / "docs/start/clusters.md"


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
    await follow(GUIDE, tmp_path, environment)
