"""`kapstan manager`: the controllers as a program of the management cluster, as `config/` deploys it."""

from __future__ import annotations

import click

__all__ = ("manager",)


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def manager(flags: tuple[str, ...]) -> None:
    """Run the controllers in a pod. FLAGS are those of every manager: --leader-elect, --zap-log-level, ..."""
    from kapstan.cluster.management.incluster import run_manager

    run_manager(flags)
