"""The controllers as a Deployment of the management cluster: what `config/` deploys.

Names are those that kustomize gives in `config/default`. Webhook certificates are our own authority's: nobody needs
cert-manager. Hosted control planes listen on the pod's address.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from kapstan.cluster.core.controllers import SCOPES
from kapstan.cluster.management.election import NAMESPACE, leases_of
from kapstan.cluster.management.providers import ALL, Provider, add_providers, webhooks_of
from kapstan.cluster.management.runtimes import runtimes
from kapstan.machinery.gvk import ObjectKey
from kapstan.runtime.manager import Manager
from kapstan.runtime.process import run_process
from kapstan.runtime.webhook.authority import AuthorityOptions

__all__ = ("run_manager", "webhook_authority")

_DATA = Path("/var/lib/kapstan")
_LOOPBACK = "127.0.0.1"


def run_manager(arguments: Sequence[str], providers: Collection[Provider] = ALL) -> None:
    """Run the controllers of these providers until a signal says stop, as flags and the environment want it."""
    namespace = os.environ.get("POD_NAMESPACE", NAMESPACE)
    manager = Manager.from_flags(
        arguments, leader_election_id=leases_of(providers), leader_election_namespace=namespace, scopes=SCOPES
    )
    if manager.options.webhooks:
        manager.sign_webhooks(webhook_authority(namespace))
    manager.add(*webhooks_of(providers))
    run_process(lambda: _run(manager, providers), manager.stop, manager.options)


def webhook_authority(namespace: str) -> AuthorityOptions:
    """Who signs for webhooks, and who is told to trust it."""
    return AuthorityOptions(
        secret=ObjectKey(namespace, "kapstan-webhook-server-cert"),
        service="kapstan-webhook-service",
        mutating=("kapstan-mutating-webhook-configuration",),
        validating=("kapstan-validating-webhook-configuration",),
    )


async def _run(manager: Manager, providers: Collection[Provider]) -> None:
    folder = Path(os.environ.get("KAPSTAN_DATA", _DATA))
    address = os.environ.get("POD_IP", _LOOPBACK)
    async with AsyncExitStack() as stack:
        add_providers(manager, providers, await runtimes(stack, folder, address) if "hosted" in providers else {})
        await manager.start()
