"""`kapstan manager`: the controllers as a program of the management cluster, as `config/` deploys it."""

from __future__ import annotations

import click

from kapstan.cli.examples import examples

__all__ = ("manager",)


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples("kapstan manager --leader-elect", "kapstan manager --providers core -- --help"),
)
@click.option(
    "--providers", metavar="NAMES", default="", help="Run only these: core, hosted, simulated.  [default: all]"
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def manager(providers: str, flags: tuple[str, ...]) -> None:
    """Run the controllers in a pod of the management cluster.

    FLAGS are those of every manager, such as --leader-elect; `kapstan manager -- --help` shows them.
    """
    from kapstan.cluster.management.incluster import run_manager
    from kapstan.cluster.management.providers import ALL, providers_named

    run_manager(flags, providers_named(providers) if providers else ALL)
