"""Namespaces that something needs."""

from __future__ import annotations

from contextlib import suppress

from kapstan.client import Client
from kapstan.k8s.core_v1 import Namespace
from kapstan.machinery.errors import AlreadyExists
from kapstan.machinery.meta import ObjectMeta

__all__ = ("ensure_namespace",)


async def ensure_namespace(client: Client, name: str) -> None:
    """Have a namespace, whoever makes it."""
    if await client.find(Namespace, name) is None:
        with suppress(AlreadyExists):
            await client.create(Namespace(metadata=ObjectMeta(name=name)))
