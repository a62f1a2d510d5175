"""Upgrade: which version a control plane may be given now.

The webhook refuses what may not follow; a management plane without it must not break a cluster either. A version that
may not follow is not tried: the one that runs stays, and the status says why.
"""

from __future__ import annotations

from dataclasses import replace

from kapstan.cluster.api.controlplane.hosted import HostedControlPlaneStatus
from kapstan.cluster.controlplane.hosted.settings import Settings
from kapstan.cluster.controlplane.hosted.validation import version_step_errors
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.validation import Path, aggregate

__all__ = ("VersionRefused", "with_permitted_version")


class VersionRefused(KapstanError):
    """The version that is asked for may not follow the one that runs."""


def with_permitted_version(
    settings: Settings, status: HostedControlPlaneStatus
) -> tuple[Settings, VersionRefused | None]:
    """The settings with a version that may be run, and why it is not the one that is asked for."""
    errors = version_step_errors(settings.version, status, Path("spec", "version"))
    if not errors:
        return settings, None
    running = status.versions[-1].version
    return replace(settings, version=running), VersionRefused(aggregate(errors))
