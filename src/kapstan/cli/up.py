"""`kapstan up`: the management plane, in one process."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapstan.cli.plane import data_folder

if TYPE_CHECKING:
    from kapstan.runtime.manager import Manager

__all__ = ("log_to_terminal", "up")

_ELECTION = 5.0  # seconds that an election may take if nobody else works

_EXAMPLES = """\b
Examples:
  kapstan up
  kapstan up --data-dir ./data --port 6443
  kapstan up --kubeconfig ~/.kube/config --context management
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where everything is kept between runs.  [default: KAPSTAN_DATA, ~/.local/share/kapstan]",
)
@click.option("--bind-address", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the API server.  [default: any that is free]",
)
@click.option("--kubeconfig", default="", metavar="FILE", help="Run the controllers on this cluster instead.")
@click.option("--context", default="", metavar="NAME", help="With --kubeconfig: its context.")
@click.option(
    "--providers", metavar="NAMES", default="", help="Run only these: core, hosted, simulated.  [default: all]"
)
@click.option("-v", "--verbose", is_flag=True, help="Show what controllers do.")
def up(
    data_dir: Path | None,
    bind_address: str,
    port: int,
    kubeconfig: str,
    context: str,
    providers: str,
    verbose: bool,
) -> None:
    """Run a management plane: an API server with all kinds, and all controllers, in this process.

    With fewer --providers, others do the rest, such as Cluster API's own in Go: they meet in the API only.
    On a cluster of its own choice (--kubeconfig) one of several works, and the others wait to take over.
    Ctrl-C stops it; everything is kept, and is there again the next time.
    """
    if context and not kubeconfig:
        raise click.UsageError("--context goes with --kubeconfig: name the kubeconfig that has the context.")
    log_to_terminal(verbose=verbose)
    from kapstan.runtime.process import collect_rarely, new_event_loop

    folder = (data_dir or data_folder()).absolute()
    collect_rarely()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_run(folder, bind_address, port, kubeconfig, context, providers))


def log_to_terminal(*, verbose: bool) -> None:
    """Show what goes wrong; with `verbose`, what controllers do."""
    level = logging.INFO if verbose else logging.ERROR
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("kapstan.client.warnings").setLevel(logging.ERROR)
    logging.getLogger("kapstan.apiserver.access").setLevel(logging.WARNING)


async def _run(folder: Path, host: str, port: int, kubeconfig: str, context: str, providers: str) -> None:
    from kapstan.client import Config
    from kapstan.cluster.management import management_plane
    from kapstan.cluster.management.providers import ALL, providers_named
    from kapstan.components.progress import ConsoleReporter

    began = time.monotonic()
    stop = _on_signals()
    config = Config.load(kubeconfig, context=context) if kubeconfig else None
    chosen = providers_named(providers) if providers else ALL
    plane_of = management_plane(
        folder,
        config=config,
        host=host,
        port=port,
        providers=chosen,
        elect=config is not None,
        reporter=ConsoleReporter(),
    )
    async with plane_of as plane:
        if await _elected(plane.manager, stop):
            click.echo(f"The management plane runs at {plane.url} (ready in {time.monotonic() - began:.1f} s).")
            if config is None:
                click.echo(f"Data are kept in {folder}.")
                click.echo(f"\n  export KUBECONFIG={plane.kubeconfig}")
            click.echo("\nIn another terminal:  kapstan cluster create demo --wait\nCtrl-C stops it.")
        await stop.wait()
        click.echo("Stopping ...", err=True)
    click.echo("Stopped. Everything is kept for the next time.", err=True)


async def _elected(manager: Manager, stop: asyncio.Event) -> bool:
    """Wait until it is our turn to work, which may take as long as somebody else does; False if we shall stop first."""
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(event.wait()) for event in (manager.elected, stop)]
        done, _ = await asyncio.wait(waiting, timeout=_ELECTION, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            obstacle = manager.obstacle or "the API server has not answered yet"
            click.echo(f"Waiting for its turn to work on this cluster: {obstacle}.")
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
    return manager.elected.is_set()


def _on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
