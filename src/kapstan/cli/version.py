"""`kapstan version`: what this is, for people and bug reports."""

from __future__ import annotations

import platform

import click

from kapstan.cli.examples import examples
from kapstan.version import __version__

__all__ = ("version",)


@click.command(epilog=examples("kapstan version"))
def version() -> None:
    """Print the versions of kapstan, of the Kubernetes that it makes, and of Python."""
    from kapstan.components.releases import DEFAULT_VERSION

    click.echo(f"kapstan     v{__version__}")
    click.echo(f"Kubernetes  {DEFAULT_VERSION}")
    click.echo(f"Python      v{platform.python_version()}")
