"""The life of a hosted control plane, on both management planes: made, used, renewed, upgraded, asleep, deleted."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.integration.cluster.hosted.driver import NEW, Asking
from tests.integration.cluster.hosted.management import Management, condition, kubectl

from kapstan.client import Config
from kapstan.cluster.api.controlplane import HostedControlPlane
from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.conditions import is_true
from kapstan.machinery.meta import ObjectMeta
from kapstan.runtime.metrics import Registry
from kapstan.simulation import NodeSpec, Simulation

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


async def test_it_is_made_used_and_deleted(either: Management, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with either.managed() as operator:
        await either.create()
        plane = await either.available()

        assert plane.status.initialization is not None
        assert plane.status.initialization.control_plane_initialized
        assert plane.status.external_managed_control_plane
        assert (plane.status.replicas, plane.status.ready_replicas, plane.status.up_to_date_replicas) == (1, 1, 1)
        assert [count.version for count in plane.status.versions] == [NEW]
        assert plane.spec.control_plane_endpoint is not None
        assert plane.spec.datastore is not None
        assert plane.spec.datastore.prefix == plane.uid
        assert {component.name for component in plane.status.components} == set(ComponentName)
        assert "apiserver" in {certificate.name for certificate in plane.status.certificates}
        names = {secret.name for secret in await either.client.list(Secret, either.namespace)}
        assert names == {f"c1-{purpose}" for purpose in ("ca", "etcd", "proxy", "sa", "kubeconfig")}
        async with await either.tenant() as tenant:
            await tenant.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
            assert await tenant.find(ConfigMap, "cluster-info", "kube-public")
        metrics = operator.manager.metrics
        reaches_milestones_once(metrics)
        ends = {found.name: found.not_after.timestamp() for found in plane.status.certificates}
        expiry = "kapstan_hosted_certificate_expiry_timestamp_seconds"
        assert {name: metrics.value(expiry, either.namespace, "c1", name) for name in ends} == ends
        told = await either.told() + caplog.text + metrics.exposition().decode()
        assert [secret for secret in await either.secrets() if secret in told] == []

        await either.delete()

        assert await either.client.list(Secret, either.namespace) == []
        assert either.left() == []
        assert 'name="c1"' not in metrics.exposition().decode()


def reaches_milestones_once(metrics: Registry) -> None:
    text = metrics.exposition().decode()
    for milestone in ("answering", "initialized", "available"):
        assert f'kapstan_hosted_milestone_seconds_count{{milestone="{milestone}"}} 1.0' in text
    assert 'kapstan_hosted_step_duration_seconds_count{step="ensure_bootstrap"}' in text


async def test_kubectl_deploys_to_simulated_nodes(either: Management, tmp_path: Path) -> None:
    """With the kubeconfig of the Secret, as anybody would."""
    async with either.managed():
        await either.create()
        await either.available()
        secret = await either.client.get(Secret, "c1-kubeconfig", either.namespace)
        file = tmp_path / "kubeconfig"
        file.write_bytes(secret.data["value"])
        config = Config.from_kubeconfig(secret.data["value"])
        async with Simulation(config, workloads=False).running() as machines:
            for number in range(2):
                await machines.kubelets.register(NodeSpec(name=f"worker-{number}"))
            await kubectl(file, "create", "deployment", "web", "--image=web:1", "--replicas=2")
            await kubectl(file, "rollout", "status", "deployment/web", "--timeout=120s")
            shown = await kubectl(file, "get", "pods", "--selector=app=web", "-o=custom-columns=:status.phase")
            assert shown.split() == ["Running", "Running"]
            await kubectl(file, "delete", "deployment", "web")


async def test_it_hibernates_and_wakes(either: Management) -> None:
    async with either.managed():
        await either.create()
        first = await either.available()
        async with await either.tenant() as tenant:
            await tenant.create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))

        await either.client.scale(HostedControlPlane, "c1", either.namespace, replicas=0)
        asleep = await either.until(lambda plane: is_true(plane.status.conditions, "Hibernated"))
        async with asyncio.timeout(60):
            while either.running():  # noqa: ASYNC110 - etcd ends after the API server, and tells nobody
                await asyncio.sleep(0.02)
        assert condition(asleep, "Available").reason == "Hibernated"
        assert [count.version for count in asleep.status.versions] == [NEW]
        assert (asleep.status.replicas, asleep.status.ready_replicas) == (0, 0)

        await either.client.scale(HostedControlPlane, "c1", either.namespace, replicas=1)
        awake = await either.available()
        assert awake.spec.control_plane_endpoint == first.spec.control_plane_endpoint
        async with await either.tenant() as tenant:
            assert await tenant.find(ConfigMap, "kept", "default")


async def test_certificates_are_renewed_without_interruption(either: Management) -> None:
    """Each component shows the new one, and so does the kubeconfig; who asks all the time notices nothing."""
    either.behind = timedelta(days=320)
    async with either.managed():
        await either.create()
        await either.available()
        before, running = await either.kubeconfig(), either.running()
        soon, later = (datetime.now(UTC) + timedelta(days=days) for days in (60, 300))
        assert all(end < soon for end in (await either.served_until()).values())
        async with Asking(Config.from_kubeconfig(before)) as asking:
            either.behind = timedelta()
            await either.patch(certificates={"renewBeforeDays": 59})
            await either.until(lambda plane: all(found.not_after > later for found in plane.status.certificates))
            async with asyncio.timeout(120):
                while any(end < later for end in (await either.served_until()).values()):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)  # they look at their files in their own time
        assert asking.answers
        assert asking.failures == []
        assert either.running() == running
        assert await either.kubeconfig() != before
        async with await either.tenant() as tenant:
            await tenant.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        await either.available()


@pytest.mark.slow
async def test_it_is_upgraded_to_the_next_minor_version(either: Management, previous_minor: str) -> None:
    await upgrades(either, previous_minor, NEW)


async def test_it_is_upgraded_to_the_next_patch_version(either: Management, next_patch: str) -> None:
    await upgrades(either, NEW, next_patch)


async def upgrades(management: Management, old: str, new: str) -> None:
    async with management.managed():
        await management.create(version=old)
        await management.available()
        async with await management.tenant() as tenant:
            await tenant.create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))
        async with Asking(Config.from_kubeconfig(await management.kubeconfig())) as asking:
            await management.patch(version=new)
            plane = await management.until(
                lambda plane: (
                    [count.version for count in plane.status.versions] == [new]
                    and is_true(plane.status.conditions, "Available")
                )
            )
        assert asking.answers
        assert not asking.refused, asking.failures
        assert plane.status.up_to_date_replicas == 1
        async with await management.tenant() as tenant:
            assert json.loads(await tenant.request("GET", "/version"))["gitVersion"].startswith(new)
            await tenant.get(ConfigMap, "kept", "default")
            config = await tenant.get(ConfigMap, "kubeadm-config", "kube-system")
            assert f"kubernetesVersion: {new}" in config.data["ClusterConfiguration"]


async def test_a_version_that_does_not_work_is_taken_back(
    management: Management, broken_patch: tuple[str, str]
) -> None:
    version, said = broken_patch
    async with management.managed():
        await management.create()
        await management.available()
        async with Asking(Config.from_kubeconfig(await management.kubeconfig())) as asking:
            await management.patch(version=version)
            plane = await management.until(
                lambda plane: condition(plane, "RollingOut").reason == "RolledBack", timeout=400
            )

        assert f"a change to {version} was taken back" in condition(plane, "RollingOut").message
        assert said in condition(plane, "RollingOut").message
        assert is_true(plane.status.conditions, "Available")
        assert [count.version for count in plane.status.versions] == [NEW]
        assert plane.status.up_to_date_replicas == 0
        assert asking.answers
        assert asking.failures == []


@pytest.mark.parametrize("runtime_type", ["Simulated", pytest.param("Process", marks=pytest.mark.slow)])
async def test_ten_at_once(management: Management, runtime_type: RuntimeType) -> None:
    management.runtime = runtime_type
    names = [f"c{number}" for number in range(10)]
    async with management.managed():
        for name in names:
            await management.create(name)
        planes = [await management.available(name) for name in names]
        assert (
            len({plane.spec.control_plane_endpoint.port for plane in planes if plane.spec.control_plane_endpoint}) == 10
        )
        for name in names:
            async with await management.tenant(name) as tenant:
                await tenant.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(management.delete(name))
        assert await management.client.list(Secret, management.namespace) == []
        assert management.left() == []


async def test_addons_come_and_go(either: Management) -> None:
    async with either.managed():
        await either.create()
        await either.until(lambda plane: is_true(plane.status.conditions, "AddonsReady"))
        async with await either.tenant() as tenant:
            assert await tenant.find(ConfigMap, "coredns", "kube-system")
            await either.patch(addons={"coreDNS": None})
            async with asyncio.timeout(60):
                async with tenant.watch(ConfigMap, "kube-system", fields="metadata.name=coredns") as events:
                    async for event in events:
                        if event.type == "DELETED":
                            break
            assert await tenant.find(ConfigMap, "kube-proxy", "kube-system")
