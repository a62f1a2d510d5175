"""Definitions of custom kinds: installed, and done when the API serves every one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from kapstan.client.client import Client
from kapstan.client.errors import NoKindMatch
from kapstan.client.interface import metadata_of
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.machinery.errors import NotFound
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("install",)

Document: TypeAlias = Mapping[str, Any]


async def install(client: Client, definitions: Iterable[Document]) -> None:
    """Have the API serve these CustomResourceDefinitions; what is there already and differs is brought up to date."""
    wanted = list(definitions)
    for definition in wanted:
        await client.apply(dict(definition), force=True)
    for definition in wanted:
        await _established(client, definition["metadata"]["name"])
        for kind in _kinds(definition["spec"]):
            await _served(client, kind)


async def _established(client: Client, name: str) -> None:
    async with client.watch(CustomResourceDefinition, fields={"metadata.name": name}) as events:
        async for event in events:
            if event.type in ("ADDED", "MODIFIED") and _is_established(event.object):
                return


def _is_established(definition: CustomResourceDefinition) -> bool:
    return any(one.type == "Established" and one.status == "True" for one in definition.status.conditions)


def _kinds(spec: Document) -> list[GroupVersionKind]:
    served = [version["name"] for version in spec["versions"] if version["served"]]
    return [GroupVersionKind(spec["group"], version, spec["names"]["kind"]) for version in served]


async def _served(client: Client, kind: GroupVersionKind) -> None:
    """Established is not yet served: a real API server takes a moment more to install its handlers."""
    while True:
        try:
            await client.list(metadata_of(kind), limit=1)
            return
        except (NotFound, NoKindMatch):
            await asyncio.sleep(0.02)  # there is nothing to watch: the handler is simply not there yet
