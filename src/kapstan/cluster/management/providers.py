"""The providers of the product, each of which works beside anybody else's: kinds, webhooks and controllers of its own.

They meet in the API only, as Cluster API's contract says, so that a manager may run any of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeAlias, get_args

from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.controlplane.hosted.adding import add_hosted_control_planes
from kapstan.cluster.controlplane.hosted.runtime.interface import Runtime
from kapstan.cluster.core.controllers import add_controllers
from kapstan.cluster.infrastructure.simulated.adding import add_simulated_infrastructure
from kapstan.cluster.management.kinds import KINDS, WEBHOOKS
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.model import Resource
from kapstan.runtime.manager import Manager

__all__ = ("ALL", "Provider", "add_providers", "kinds_of", "providers_named", "webhooks_of")

Provider: TypeAlias = Literal["core", "hosted", "simulated"]

ALL: tuple[Provider, ...] = get_args(Provider)

# Where a provider's types and webhooks are declared.
_PACKAGES: Mapping[Provider, tuple[str, ...]] = {
    "core": (
        "kapstan.cluster.api.core",
        "kapstan.cluster.api.ipam",
        "kapstan.cluster.api.clusterctl",
        "kapstan.cluster.core",
    ),
    "hosted": ("kapstan.cluster.api.controlplane", "kapstan.cluster.controlplane.hosted"),
    "simulated": ("kapstan.cluster.api.infrastructure", "kapstan.cluster.infrastructure.simulated"),
}


def providers_named(names: str) -> tuple[Provider, ...]:
    """Providers from a list with commas; ConfigError names those that there are."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in ALL:
            raise ConfigError(f"there is no provider {name!r}; there are {', '.join(ALL)}")
    if not wanted:
        raise ConfigError(f"no provider is named; there are {', '.join(ALL)}")
    return tuple(provider for provider in ALL if provider in wanted)


def kinds_of(providers: Collection[Provider]) -> tuple[type[Resource], ...]:
    """The kinds that these providers bring."""
    return tuple(kind for kind in KINDS if _is_of(kind, providers))


def webhooks_of(providers: Collection[Provider]) -> tuple[Any, ...]:
    """The webhooks that look after these providers' kinds."""
    return tuple(webhook for webhook in WEBHOOKS if _is_of(webhook, providers))


def _is_of(declared: Any, providers: Collection[Provider]) -> bool:
    packages = tuple(package for provider in providers for package in _PACKAGES[provider])
    return any(f"{declared.__module__}.".startswith(f"{package}.") for package in packages)


def add_providers(manager: Manager, providers: Collection[Provider], runtimes: Mapping[RuntimeType, Runtime]) -> None:
    """Have a manager run these providers' controllers; hosted control planes run in these runtimes."""
    clusters = add_controllers(manager) if "core" in providers else None
    if "hosted" in providers:
        add_hosted_control_planes(manager, runtimes, webhooks=False)
    if "simulated" in providers:
        add_simulated_infrastructure(manager, clusters)
