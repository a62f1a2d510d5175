"""Values on the command line that are more than text: versions of Kubernetes, spans of time."""

from __future__ import annotations

import re

import click

from kapstan.machinery.duration import Duration

__all__ = ("duration", "kubernetes_version")

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?)")


def kubernetes_version(text: str) -> str:
    """A whole version; the `v` may be left out."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise click.BadParameter(f"{text!r} is no version of Kubernetes: write all of it, such as v1.36.3")
    return f"v{match[1]}"


def duration(text: str) -> float:
    """Seconds: `90`, or as kubectl has it: `90s`, `10m`, `1h30m`."""
    try:
        seconds = float(text) if re.fullmatch(r"[0-9.]+", text) else Duration.parse(text).total_seconds()
    except (ValueError, OverflowError):
        seconds = 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{text!r} is no time to wait: write seconds, or such as 90s, 10m, 1h30m")
    return seconds
