"""`make demo`: an API server, an operator and an object, on this machine, with nothing but Python."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

from rich.console import Console

from kapstan.k8s.apps_v1 import Deployment
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import ObjectMeta
from kapstan.testing import Environment, embedded
from samples.quickstart.memcached import Memcached, MemcachedReconciler, MemcachedSpec

console = Console(highlight=False, soft_wrap=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    console.print(f"[green]✓[/green] {what} [dim]({(time.perf_counter() - started) * 1000:.0f} ms)[/dim]")


async def demo() -> None:
    async with AsyncExitStack() as stack:
        with step("a Kubernetes API server is running in this process"):
            env = await stack.enter_async_context(embedded())
        with step("it serves Memcached, whose definition was made from a Python type"):
            await env.install(Memcached)
        with step("an operator is running"):
            await stack.enter_async_context(env.run(MemcachedReconciler()))
        await show(env)


async def show(env: Environment) -> None:
    sample = Memcached(metadata=ObjectMeta(name="sample", namespace="default"), spec=MemcachedSpec(size=2))
    with step("somebody asked for a Memcached of two instances, and the operator made its Deployment"):
        created = await env.client.create(sample)
        await env.eventually(Deployment, "sample", "default", lambda found: found.spec.replicas == 2)
    with step("scaled to three"):
        await env.client.scale(created, replicas=3)
        await env.eventually(Deployment, "sample", "default", lambda found: found.spec.replicas == 3)
    with step("somebody edited the Deployment by hand, and the operator put it right"):
        deployment = await env.client.get(Deployment, "sample", "default")
        await env.client.scale(deployment, replicas=7)
        await env.eventually(Deployment, "sample", "default", lambda found: found.spec.replicas == 3)
    with step("a Memcached of nine instances was refused by its schema"):
        try:
            await env.client.create(
                Memcached(metadata=ObjectMeta(name="huge", namespace="default"), spec=MemcachedSpec(size=9))
            )
        except Invalid as refusal:
            told = refusal.causes[0].message
    console.print(f"  [dim]{told}[/dim]")
    found = await env.eventually(Memcached, "sample", "default", lambda memcached: memcached.status.conditions)
    console.print("\n[bold]kubectl get memcached sample -o yaml[/bold] would say:\n")
    found.metadata.managed_fields = []
    console.print(to_yaml(found))
    with step("deleted, and its Deployment with it"):
        await env.client.delete(found)
        await env.gone(Deployment, "sample", "default")
    console.print("\nThe operator is samples/quickstart/memcached.py. An API server of your own: kapstan apiserver")


if __name__ == "__main__":
    asyncio.run(demo())
