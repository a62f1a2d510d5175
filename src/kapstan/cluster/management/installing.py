"""Installing kinds: applied all at once, and done when the API serves every one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeAlias

from kapstan.client import Client, NoKindMatch
from kapstan.client.interface import metadata_of
from kapstan.generate.crd import crds_of
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource

__all__ = ("install",)

Document: TypeAlias = dict[str, Any]


async def install(client: Client, kinds: Iterable[type[Resource]]) -> None:
    """Have the API serve these kinds as they are here; what is installed already and differs is brought up to date."""
    async with asyncio.TaskGroup() as group:
        for definition in crds_of(kinds):
            group.create_task(_install(client, definition))


async def _install(client: Client, definition: Document) -> None:
    await client.apply(definition, force=True)
    name = definition["metadata"]["name"]
    async with client.watch(CustomResourceDefinition, fields={"metadata.name": name}) as events:
        async for event in events:
            if event.type in ("ADDED", "MODIFIED") and _is_established(event.object):
                break
    spec = definition["spec"]
    for version in spec["versions"]:
        await _served(client, GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"]))


def _is_established(definition: CustomResourceDefinition) -> bool:
    return any(one.type == "Established" and one.status == "True" for one in definition.status.conditions)


async def _served(client: Client, kind: GroupVersionKind) -> None:
    """Established is not yet served: a real API server takes a moment more to install its handlers."""
    while True:
        try:
            await client.list(metadata_of(kind), limit=1)
            return
        except (NotFound, NoKindMatch):
            await asyncio.sleep(0.02)  # there is nothing to watch: the handler is simply not there yet
