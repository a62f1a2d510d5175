"""Waiting for a cluster, with progress: what has been reached and when, and what is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from kapstan.cli.values import duration
from kapstan.client import Client
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.management.following import follow, milestones_of, steps_of, waits_for
from kapstan.components.progress import ConsoleReporter, Reporter
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey

__all__ = ("wait_options", "wait_until", "wait_until_gone")

F = TypeVar("F", bound=Callable[..., Any])


def wait_options(command: F) -> F:
    """Options of a command that can wait: --wait, --timeout."""
    wait = click.option("--wait", is_flag=True, help="Wait until it is done, and show how far it is.")
    timeout = click.option(
        "--timeout",
        type=duration,
        metavar="TIME",
        default="10m",
        show_default=True,
        help="With --wait: how long at most.",
    )
    return wait(timeout(command))


class TookTooLong(KapstanError):
    """What was waited for did not happen in time."""


async def wait_until(
    client: Client,
    cluster: Cluster,
    reached: Callable[[Cluster], bool],
    *,
    title: str,
    timeout: float,
    new: bool = False,
) -> None:
    """Wait until a cluster is as it should be, and say what it reaches on the way; of a new one, from the beginning."""
    reporter = ConsoleReporter()
    last, told = cluster, set() if new else {milestone.text for milestone in milestones_of(cluster)}
    try:
        async with asyncio.timeout(timeout):
            with reporter.step(title) as step:
                async for state in follow(client, cluster.key):
                    if state is None:
                        raise KapstanError(f"cluster {cluster.key} was deleted meanwhile")
                    last = state
                    _tell(reporter, state, told)
                    step.update(*steps_of(state), waits_for(state))
                    if reached(state):
                        return
    except TimeoutError:
        raise TookTooLong(_late(f"cluster {cluster.key} is not as it should be", timeout, waits_for(last))) from None


async def wait_until_gone(client: Client, cluster: ObjectKey, *, timeout: float) -> None:
    """Wait until a cluster and all that belonged to it are gone."""
    waiting = ""
    try:
        async with asyncio.timeout(timeout):
            with ConsoleReporter().step(f"Deleting cluster {cluster}") as step:
                async for state in follow(client, cluster):
                    waiting = waits_for(state) if state is not None else ""
                    step.update(0, None, waiting)
    except TimeoutError:
        raise TookTooLong(_late(f"cluster {cluster} is still there", timeout, waiting)) from None


def _tell(reporter: Reporter, cluster: Cluster, told: set[str]) -> None:
    """Say once what has been reached."""
    for milestone in milestones_of(cluster):
        if milestone.text not in told:
            told.add(milestone.text)
            reporter.line(f"  {milestone.text}{_after(milestone.at, cluster.metadata.creation_timestamp)}")


def _after(at: datetime, since: datetime | None) -> str:
    seconds = (at - since).total_seconds() if since is not None else 0
    return f" after {seconds:.0f} s" if seconds >= 1 else ""


def _late(what: str, timeout: float, waiting: str) -> str:
    return f"{what} after {timeout:g} s" + (f"; it waits for {waiting}" if waiting else "")
