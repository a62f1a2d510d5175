"""What commands about one cluster share: its name, the connection to the management plane, finding it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click

from kapstan.cli.plane import connection_options, management_config
from kapstan.client import Client, NoKindMatch
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.skeleton.wording import shortened
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.gvk import ObjectKey

__all__ = ("connected", "existing", "named", "named_cluster", "namespace_option")

F = TypeVar("F", bound=Callable[..., Any])

namespace_option = click.option(
    "-n", "--namespace", default="", metavar="NAME", help="The cluster's namespace.  [default: that of the context]"
)


def named_cluster(command: F) -> F:
    """A command about one cluster: NAME, --namespace, --kubeconfig, --context."""
    return click.argument("name", metavar="NAME")(namespace_option(connection_options(command)))


@asynccontextmanager
async def connected(kubeconfig: str, context: str) -> AsyncIterator[Client]:
    """A connection to the management plane, inside the block."""
    config = management_config(kubeconfig, context)
    async with Client(config, field_manager="kapstan-cli") as client:
        try:
            yield client
        except NoKindMatch as error:
            raise ConfigError(
                f"the cluster at {config.server} does not know clusters: run `kapstan up --kubeconfig ...` on it, "
                f"or choose another with --kubeconfig ({error})"
            ) from error


async def existing(client: Client, name: str, namespace: str) -> Cluster:
    """The cluster; ConfigError if there is none, with what there is."""
    key = ObjectKey(namespace or client.config.namespace, name)
    found = await client.find(Cluster, key.name, key.namespace)
    if found is not None:
        return found
    others = sorted(str(one.key) for one in await client.list(Cluster))
    known = f"there {'are' if len(others) > 1 else 'is'} {shortened(others)}" if others else "there is none at all"
    raise ConfigError(f"there is no cluster {key}: {known}")


def named(client: Client, cluster: ObjectKey) -> str:
    """A cluster as the next command has to name it."""
    elsewhere = cluster.namespace != client.config.namespace
    return f"{cluster.name} --namespace {cluster.namespace}" if elsewhere else cluster.name
