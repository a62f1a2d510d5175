"""`kapstan cluster describe`: a cluster's objects as a tree, how each is, and what it waits for."""

from __future__ import annotations

import click

from kapstan.cli import run
from kapstan.cli.cluster.session import connected, existing, named_cluster
from kapstan.cli.examples import examples

__all__ = ("describe",)


@click.command(epilog=examples("kapstan cluster describe demo", "watch kapstan cluster describe demo"))
@named_cluster
def describe(name: str, namespace: str, kubeconfig: str, context: str) -> None:
    """Show the objects of cluster NAME as a tree, how each of them is, and what is waited for."""
    run(_describe(name, namespace, kubeconfig, context))


async def _describe(name: str, namespace: str, kubeconfig: str, context: str) -> None:
    from kapstan.cli.cluster.drawing import console, draw
    from kapstan.cluster.management.tree import load_tree

    async with connected(kubeconfig, context) as client:
        tree = await load_tree(client, await existing(client, name, namespace))
    draw(console(), tree)
