"""The guide for controllers: its Python is one program, and does what the page says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kapstan.k8s.core_v1 import ConfigMap
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing.environment import Environment

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "controllers.md"


@pytest.fixture(scope="module")
def guide() -> Iterator[Any]:
    """The program, whose lines have the numbers that they have on the page."""
    text = GUIDE.read_text()
    source = ""
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines = text.count("\n", 0, block.start(1)) - source.count("\n")
        source += "\n" * lines + block[1]
    module = sys.modules["guide"] = ModuleType("guide")
    exec(compile(source, str(GUIDE), "exec"), vars(module))
    yield module
    del sys.modules["guide"]


async def test_the_operator_of_the_guide_works(env: Environment, guide: Any) -> None:
    await guide.test_greetings(env)


async def test_informers_and_queues_by_themselves(env: Environment, guide: Any) -> None:
    namespace = await env.namespace()
    before = await guide.count_texts(env.client, namespace)
    for name in ("a", "b"):
        await env.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))
    assert await guide.count_texts(env.client, namespace) == before + 2
