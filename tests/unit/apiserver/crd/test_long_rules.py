"""Rules of custom kinds that take long hold up nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapstan.apiserver.bootstrap import new_cluster
from kapstan.machinery.errors import Invalid

NUMBERS = 200


def definition() -> dict[str, Any]:
    numbers = {
        "type": "array",
        "maxItems": NUMBERS,
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x + y < 100))", "message": "too much"}],
    }
    schema = {"type": "object", "properties": {"numbers": numbers}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "sums.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Sum", "plural": "sums"},
            "scope": "Cluster",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def test_others_have_their_turns_while_an_object_is_validated() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as tasks:
        cluster = await new_cluster("test", tasks=tasks)
        await cluster.api.create(definition())
        sums = {"apiVersion": "example.com/v1", "kind": "Sum", "metadata": {"name": "a"}, "numbers": [1] * NUMBERS}
        counting = tasks.create_task(count())
        await cluster.api.create(sums)
        assert turns > 5
        sums = {**sums, "metadata": {"name": "b"}, "numbers": [*([1] * (NUMBERS - 1)), 99]}
        with pytest.raises(Invalid, match="too much"):
            await cluster.api.create(sums)
        counting.cancel()
