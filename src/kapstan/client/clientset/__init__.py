"""Clientset: every built-in kind as an attribute, for those who know client-go, and for the editor's completion.

clientset = Clientset(client)
deployment = await clientset.apps_v1.deployments("default").get("web")
pods = await clientset.core_v1.pods().list(labels="app=web")      # of all namespaces
bars = clientset.of(Bar).namespace("default")                     # any other kind
"""

from __future__ import annotations

from typing import TypeVar

from kapstan.client.client import Client
from kapstan.client.clientset.generated import GroupVersions
from kapstan.client.clientset.resources import Creatable, Resources
from kapstan.machinery.model import Resource

__all__ = ("Clientset", "Creatable", "Resources")

R = TypeVar("R", bound=Resource)


class Clientset(GroupVersions):
    """The kinds of one API server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def of(self, kind: type[R]) -> Resources[R]:
        """The objects of any kind; of all namespaces until `namespace` narrows it down."""
        return Resources(self.client, kind)
