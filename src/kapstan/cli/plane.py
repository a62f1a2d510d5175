"""Where the management plane is: its data folder, and how commands find it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kapstan.client import Config
from kapstan.machinery.errors import ConfigError

__all__ = ("connection_options", "data_folder", "management_config")

F = TypeVar("F", bound=Callable[..., Any])


def data_folder() -> Path:
    """Where a management plane keeps its data unless told otherwise."""
    if chosen := os.environ.get("KAPSTAN_DATA"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local/share") / "kapstan"


def connection_options(command: F) -> F:
    """Options that say which management plane a command is about."""
    kubeconfig = click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="The management plane.  [default: KUBECONFIG, the one that `kapstan up` runs, what kubectl uses]",
    )
    context = click.option("--context", default="", metavar="NAME", help="The context of the kubeconfig.")
    return kubeconfig(context(command))


def management_config(kubeconfig: str, context: str) -> Config:
    """How to reach the management plane; ConfigError says how to have one."""
    if not kubeconfig and not os.environ.get("KUBECONFIG"):
        running = data_folder() / "kubeconfig"
        if running.exists():
            return Config.load(running, context=context)
    try:
        return Config.load(kubeconfig, context=context)
    except ConfigError as error:
        if kubeconfig or os.environ.get("KUBECONFIG"):
            raise
        raise ConfigError(
            "no management plane is running: start one with `kapstan up`, or name a cluster with --kubeconfig"
        ) from error
