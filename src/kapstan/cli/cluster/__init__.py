"""`kapstan cluster`: clusters from the command line, where kubectl alone would take several steps."""

from __future__ import annotations

from collections.abc import Mapping

import click

from kapstan.cli import LazyCommand, LazyGroup

__all__ = ("COMMANDS", "cluster")

_EXAMPLES = """\b
Examples:
  kapstan cluster create demo --workers 3 --wait
  kapstan cluster describe demo
  kubectl --kubeconfig <(kapstan cluster kubeconfig demo) get nodes
  kapstan cluster scale demo --workers 5
  kapstan cluster upgrade demo --kubernetes-version v1.36.4
  kapstan cluster delete demo --wait
"""

COMMANDS: Mapping[str, LazyCommand] = {
    "create": LazyCommand("kapstan.cli.cluster.create:create", "Create a cluster from a template."),
    "delete": LazyCommand("kapstan.cli.cluster.delete:delete", "Delete a cluster with all that belongs to it."),
    "describe": LazyCommand("kapstan.cli.cluster.describe:describe", "Show a cluster's tree, and what it waits for."),
    "kubeconfig": LazyCommand("kapstan.cli.cluster.kubeconfig:kubeconfig", "Print a cluster's kubeconfig."),
    "list": LazyCommand("kapstan.cli.cluster.listing:list_clusters", "List clusters, and how they are."),
    "scale": LazyCommand("kapstan.cli.cluster.scale:scale", "Change how many machines a cluster has."),
    "upgrade": LazyCommand("kapstan.cli.cluster.upgrade:upgrade", "Bring a cluster to another version of Kubernetes."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, epilog=_EXAMPLES)
def cluster() -> None:
    """Create, look at, change and delete clusters."""
