"""What the infrastructure of a cluster does, whoever provides it."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.client import Patch
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.contract.objects import InfraCluster
from kapstan.cluster.contract.version import Contract

from .core import MANAGED_BY, Core, condition, is_paused, provisioned
from .providers import INFRA_CLUSTERS, Sample

pytestmark = pytest.mark.parametrize("provider", INFRA_CLUSTERS, ids=str)


@pytest.fixture
def sample(core: Core) -> Sample:
    assert core.provider.infra_cluster is not None
    return core.provider.infra_cluster


async def owned(core: Core, sample: Sample, *, paused: bool = False, **metadata: Any) -> Any:
    """An infrastructure that core has adopted."""
    infra = await core.sample(sample, **metadata)
    cluster = await core.cluster(paused=paused, infrastructureRef=infra)
    await core.owns(cluster, infra)
    return infra


async def test_it_waits_for_its_owner_and_is_then_provisioned(core: Core, sample: Sample) -> None:
    """Whose it is, core says. Then it is held by a finalizer, and told in a way that core understands."""
    async with core.running():
        infra = await core.sample(sample)
        cluster = await core.cluster(infrastructureRef=infra)
        await core.settled(infra)
        waiting = await core.document(infra)
        assert not provisioned(waiting)
        assert not waiting["metadata"].get("finalizers")

        await core.owns(cluster, infra)
        found = await core.when(infra, provisioned)
        assert found["metadata"]["finalizers"]
        assert condition(found, "Ready") in ("True", "")
        view = InfraCluster(found, Contract("v1beta2", infra.__resource__.version))
        assert view.provisioned
        assert isinstance(view.failure_domains, list)
        assert view.endpoint is None or (view.endpoint.host and view.endpoint.port)


async def test_a_paused_one_is_left_alone(core: Core, sample: Sample) -> None:
    """Paused with its cluster, or by itself; the condition says so, and nothing else happens until it is not."""
    async with core.running():
        infra = await owned(core, sample, paused=True)
        found = await core.when(infra, is_paused)
        assert not provisioned(found)
        await core.pause(infra)
        cluster = await core.client.get(Cluster, "c", core.namespace)
        await core.client.patch(cluster, Patch.merge({"spec": {"paused": False}}))
        await core.settled(infra)
        found = await core.document(infra)
        assert is_paused(found)
        assert not provisioned(found)
        await core.pause(infra, on=False)
        found = await core.when(infra, provisioned)
        assert not is_paused(found)


async def test_what_somebody_else_manages_is_not_touched(core: Core, sample: Sample) -> None:
    """No finalizer, no status: that is all somebody else's."""
    async with core.running():
        infra = await owned(core, sample, annotations={MANAGED_BY: ""})
        await core.settled(infra)
        found = await core.document(infra)
        assert not provisioned(found)
        assert not found["metadata"].get("finalizers")
        assert not condition(found, "Ready")


async def test_a_restart_changes_nothing(core: Core, sample: Sample) -> None:
    async with core.running():
        infra = await owned(core, sample)
        await core.when(infra, provisioned)
        before = await core.settled(infra)
    async with core.running():
        assert await core.settled(infra) == before


async def test_it_forgets_nothing_when_its_status_is_lost(core: Core, sample: Sample) -> None:
    """An object that has been moved to another management cluster arrives without its status."""
    async with core.running():
        infra = await owned(core, sample)
        spec = (await core.when(infra, provisioned))["spec"]
    await core.client.patch(infra, Patch.json([{"op": "remove", "path": "/status"}]), subresource="status")
    async with core.running():
        found = await core.when(infra, provisioned)
        assert found["spec"] == spec


async def test_it_is_deleted_however_far_it_has_come(core: Core, sample: Sample) -> None:
    """Before it was adopted, when it stands, after its cluster has gone, and by a manager that did not make it."""
    unowned = await core.sample(sample, name="y")
    infra = await owned(core, sample)
    async with core.running():
        await core.client.delete(unowned)
        await core.gone(unowned)
        await core.when(infra, provisioned)
    await core.client.delete(Cluster, "c", core.namespace)
    await core.client.delete(infra)
    async with core.running():
        await core.gone(infra)
