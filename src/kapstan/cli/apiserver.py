"""`kapstan apiserver`: the embedded Kubernetes API server as a command."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import click

from kapstan.machinery.errors import ConfigError

__all__ = ("apiserver",)

_EXAMPLES = """\b
Examples:
  kapstan apiserver
  kapstan apiserver --data-dir ./data --secure-port 6443 --kubeconfig ./kubeconfig
  kapstan apiserver --without-controllers garbage-collector-controller,namespace-controller
  kapstan apiserver --without-controllers kube-controller-manager    # all that a real one brings
  kapstan apiserver -v
"""
_KUBE_CONTROLLER_MANAGER = "kube-controller-manager"


class _Command(click.Command):
    """A wrong flag ends like everything else that keeps the server from starting: one sentence, exit code 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise ConfigError(error.format_message()) from error


@click.command(cls=_Command, epilog=_EXAMPLES)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the objects are kept.  [default: in memory, gone when the server ends]",
)
@click.option("--bind-address", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--secure-port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to listen on.  [default: any that is free]",
)
@click.option(
    "--advertise-address",
    metavar="ADDRESS",
    default="",
    help="Where the service `kubernetes` leads to.  [default: where it listens, or this machine's main interface]",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the administrator's kubeconfig.  [default: kubeconfig in the data directory, or here]",
)
@click.option(
    "--durability",
    type=click.Choice(["power", "process"]),
    default="power",
    show_default=True,
    help="What acknowledged writes survive: a power failure, or the end of the process only, which is faster.",
)
@click.option(
    "--without-controllers",
    metavar="NAME,...",
    default="",
    help="Controllers not to run, since others do their work; kube-controller-manager means all that it has.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show every request.")
def apiserver(
    data_dir: Path | None,
    bind_address: str,
    secure_port: int,
    advertise_address: str,
    kubeconfig: Path | None,
    durability: str,
    without_controllers: str,
    verbose: bool,
) -> None:
    """Run a Kubernetes API server on this machine, with nothing else installed.

    It has no nodes: objects are served, validated, watched and garbage collected, pods do not run.
    """
    gc.disable()  # what is made while it starts stays: there is nothing to look for
    _log(verbose)
    where = kubeconfig or (data_dir or Path()) / "kubeconfig"
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        address = (bind_address, secure_port, advertise_address)
        runner.run(_serve(data_dir, address, where.absolute(), durability, without_controllers))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one: a third faster."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _log(verbose: bool) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
    if verbose:
        logging.getLogger("kapstan.apiserver.access").setLevel(logging.INFO)


async def _serve(
    data_dir: Path | None, where: tuple[str, int, str], kubeconfig: Path, durability: str, without_controllers: str
) -> None:
    from kapstan.apiserver.advertise import advertised
    from kapstan.apiserver.server import EmbeddedServer

    host, port, advertise = where
    server = EmbeddedServer(
        data_dir=data_dir,
        host=host,
        port=port,
        advertise=advertised(host, advertise),
        synchronous="FULL" if durability == "power" else "NORMAL",
        without_controllers=_left_out(without_controllers),
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with server:
        _write_kubeconfig(kubeconfig, server.kubeconfig())
        click.echo(f"Serving Kubernetes at {server.url}, objects {_kept(data_dir)}. Ctrl-C ends it.")
        click.echo(f"export KUBECONFIG={kubeconfig}")
        gc.freeze()
        gc.enable()
        await stop.wait()


def _left_out(names: str) -> list[str]:
    """The controllers that a list of names means; kube-controller-manager stands for those that it has."""
    from kapstan.apiserver.controllers.manager import CONTROLLERS, KUBE_CONTROLLER_MANAGER

    found: list[str] = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name != _KUBE_CONTROLLER_MANAGER and name not in CONTROLLERS:
            known = ", ".join((_KUBE_CONTROLLER_MANAGER, *CONTROLLERS))
            raise ConfigError(f"there is no controller {name!r} to leave out; there are {known}")
        found += KUBE_CONTROLLER_MANAGER if name == _KUBE_CONTROLLER_MANAGER else [name]
    return found


def _kept(data_dir: Path | None) -> str:
    return f"kept in {data_dir}" if data_dir is not None else "kept in memory only"


def _write_kubeconfig(path: Path, content: dict[str, object]) -> None:
    """Whole or not at all: whoever waits for the file may read it as soon as it is there. For the owner only."""
    from kapstan.machinery.codec import to_yaml

    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(to_yaml(content))
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write the kubeconfig {path}: {error.strerror or error}") from error
