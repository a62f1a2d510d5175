"""Templates: what machines are made from, as references name it. They belong to the cluster, and go with it.

A template that is not there (yet) is no error: nothing is made from it, and when it comes, whoever waits is woken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kapstan.client.interface import PartialObjectMetadata
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.api.core.common import ContractReference
from kapstan.cluster.api.core.machine import MachineTemplate
from kapstan.cluster.contract.objects import Template
from kapstan.cluster.core.external import Providers, Referenced
from kapstan.machinery.codec import convert, to_builtins
from kapstan.machinery.owners import set_owner
from kapstan.runtime.cachedclient import CachedClient

__all__ = ("SUFFIX", "Templates", "find_templates", "references_of", "templates_of")

SUFFIX = "Template"  # of a template's kind; what is cloned from it has the kind without


@dataclass
class Templates:
    """What the machines of a set or deployment are cloned from. Without a bootstrap template, users bootstrap them."""

    infrastructure: Referenced[Template]
    bootstrap: Referenced[Template] | None = None

    @property
    def all(self) -> list[Referenced[Template]]:
        return [self.infrastructure] if self.bootstrap is None else [self.bootstrap, self.infrastructure]

    @property
    def complete(self) -> bool:
        return all(template.found is not None for template in self.all)

    @property
    def missing(self) -> str:
        """What is not there, in words; empty if all is."""
        kinds = [template.kind for template in self.all if template.missing]
        return f"{' and '.join(kinds)} {'does' if len(kinds) == 1 else 'do'} not exist" if kinds else ""


def references_of(template: MachineTemplate) -> Iterable[ContractReference]:
    """The providers' templates that a machine template refers to."""
    bootstrap = template.spec.bootstrap.config_ref
    return [template.spec.infrastructure_ref, *([bootstrap] if bootstrap is not None else [])]


async def find_templates(
    client: CachedClient, providers: Providers[Any], templates: Templates, cluster: Cluster
) -> None:
    """Find the templates, and have the cluster own them. `templates` tells how far that went, also if it fails."""
    for referenced in templates.all:
        found = await referenced.load(providers, Template, cluster.namespace)
        if found is not None and found.kind.endswith(SUFFIX) and not found.deleting:
            await _own(client, found, cluster)


def templates_of(template: MachineTemplate) -> Templates:
    """The templates that are referred to, not looked for yet."""
    bootstrap = template.spec.bootstrap.config_ref
    return Templates(
        Referenced(template.spec.infrastructure_ref), Referenced(bootstrap) if bootstrap is not None else None
    )


async def _own(client: CachedClient, view: Template, cluster: Cluster) -> None:
    kept = {name: view.document[name] for name in ("apiVersion", "kind", "metadata")}
    obj = convert(kept, PartialObjectMetadata)
    if not set_owner(cluster, obj):
        return
    async with client.edit(view.document, optimistic_lock=True) as document:
        document["metadata"]["ownerReferences"] = to_builtins(obj.metadata.owner_references)
    view.document = document
