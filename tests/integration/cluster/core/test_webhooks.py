"""Core's webhooks, asked by an API server."""

from __future__ import annotations

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster, MachineDeployment
from kapstan.cluster.api.core.cluster import ClusterSpec
from kapstan.cluster.core.controllers import SCOPES, add_controllers
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import ObjectMeta
from kapstan.runtime.manager import Manager
from kapstan.testing import Environment

from .conftest import CORE, PROVIDERS, GenericCluster, World, ref
from .plant import TEMPLATES, Plant


async def test_the_api_server_is_told_defaults_and_rules(env: Environment) -> None:
    """What users leave out is filled in before it is stored; what is wrong is refused with the path of the field."""
    await env.install(*CORE, *PROVIDERS, *TEMPLATES)
    world = World(env, await env.namespace())
    plant = Plant(world, env)

    def setup(manager: Manager) -> None:
        add_controllers(manager, webhooks=True)

    async with env.run(setup=setup, namespaces=(world.namespace,), scopes=SCOPES):
        made = await plant.deployment(replicas=None)
        assert made.spec.replicas == 1 and made.metadata.generation == 1
        assert made.spec.selector.match_labels == {
            "cluster.x-k8s.io/cluster-name": "c",
            "cluster.x-k8s.io/deployment-name": "d",
        }
        for change, field in (
            ({"clusterName": "other", "template": {"spec": {"clusterName": "other"}}}, "spec.clusterName"),
            ({"template": {"spec": {"version": "v1"}}}, "spec.template.spec.version"),
        ):
            with pytest.raises(Invalid) as refused:
                await plant.client.patch_named(MachineDeployment, "d", plant.namespace, Patch.merge({"spec": change}))
            assert refused.value.causes[0].field == field
        with pytest.raises(Invalid, match="must be a valid label value"):
            await world.client.create(
                Cluster(
                    metadata=ObjectMeta(name="c" * 64, namespace=world.namespace),
                    spec=ClusterSpec(infrastructure_ref=ref(GenericCluster, "i")),
                )
            )
