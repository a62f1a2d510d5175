"""Hosted control planes from the outside: objects of the management plane, and the clusters that come of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cluster.hosted.conftest import manager

from kapstan.client import Client, Config, Patch
from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.controlplane.hosted.adding import add_hosted_control_planes
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, Runtime
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.components import assets, cache, pidfile
from kapstan.k8s.core_v1 import ConfigMap, Secret
from kapstan.machinery.conditions import find, is_true
from kapstan.machinery.errors import Invalid
from kapstan.machinery.meta import Condition, ObjectMeta
from kapstan.machinery.pki import new_ca
from kapstan.runtime.manager import Manager
from kapstan.simulation import NodeSpec, Simulation
from kapstan.testing import Environment

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

OLD, NEW = "v1.35.4", "v1.36.3"
HAS_OLD = cache.executable(cache.version_folder(OLD) / ComponentName.API_SERVER)
PATIENCE = 180.0


class Management:
    """A management plane with one namespace, in which control planes are made."""

    def __init__(
        self, env: Environment, namespace: str, data: Path, guard: Callable[[str], None], runtime: RuntimeType
    ) -> None:
        self.runtime = runtime
        self.env = env
        self.client = env.client
        self.namespace = namespace
        self.data = data
        self._guard = guard

    @asynccontextmanager
    async def managed(self, *, webhooks: bool = False) -> AsyncIterator[None]:
        """With a manager."""
        async with manager(self.data) as processes, SimulatedRuntime(self.simulated) as simulated:

            def setup(manager: Manager) -> None:
                runtimes: dict[RuntimeType, Runtime] = {"Process": processes, "Simulated": simulated}
                add_hosted_control_planes(manager, runtimes, webhooks=webhooks)

            async with self.env.run(setup=setup, namespaces=(self.namespace,)):
                yield

    async def create(self, name: str = "c1", *, cluster: dict[str, Any] | None = None, **spec: Any) -> None:
        """A cluster and its control plane, owned as core would have it."""
        ref = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": name}
        owner = await self.client.create(
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Cluster",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"controlPlaneRef": ref, **(cluster or {})},
            }
        )
        metadata = owner["metadata"]
        plane = await self.client.create(
            {
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                "kind": "HostedControlPlane",
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": {"cluster.x-k8s.io/cluster-name": name},
                    "ownerReferences": [
                        {"apiVersion": owner["apiVersion"], "kind": "Cluster", "name": name, "uid": metadata["uid"]}
                    ],
                },
                "spec": {"version": NEW, "runtime": {"type": self.runtime}, **spec},
            }
        )
        self._guard(plane["metadata"]["uid"])

    async def patch(self, name: str = "c1", **spec: Any) -> None:
        await self.client.patch_named(HostedControlPlane, name, self.namespace, Patch.merge({"spec": spec}))

    async def until(
        self, condition: Callable[[HostedControlPlane], object], name: str = "c1", timeout: float = PATIENCE
    ) -> HostedControlPlane:
        return await self.env.eventually(HostedControlPlane, name, self.namespace, condition, timeout=timeout)

    async def available(self, name: str = "c1") -> HostedControlPlane:
        return await self.until(lambda plane: is_true(plane.status.conditions, "Available"), name)

    async def delete(self, name: str = "c1") -> None:
        await self.client.delete(HostedControlPlane, name, self.namespace)
        await self.env.gone(HostedControlPlane, name, self.namespace, timeout=60)

    async def tenant(self, name: str = "c1") -> Client:
        """A client with the kubeconfig that everybody gets."""
        secret = await self.client.get(Secret, f"{name}-kubeconfig", self.namespace)
        return Client(Config.from_kubeconfig(secret.data["value"]))

    @property
    def simulated(self) -> Path:
        return self.data.with_name("simulated")

    def left(self) -> list[str]:
        """What there is of control planes on the machine."""
        folders = [path for path in (self.data, self.simulated) if path.is_dir()]
        return [path.name for folder in folders for path in folder.iterdir() if path.is_dir()]

    def running(self) -> list[str]:
        """The processes that there are."""
        found = [(file, pidfile.read(file)) for file in self.data.glob("*/run/*.pid")]
        return [file.stem for file, identity in found if identity and pidfile.is_alive(identity)]


def condition(plane: HostedControlPlane, type: str) -> Condition:
    found = find(plane.status.conditions, type)
    assert found is not None
    return found


@pytest.fixture
async def management(env: Environment, data: Path, guard: Callable[[str], None]) -> Management:
    """For control planes as processes."""
    await env.install(Cluster, HostedControlPlane)
    return Management(env, await env.namespace(), data, guard, "Process")


@pytest.fixture(params=["Process", "Simulated"])
def either(management: Management, request: pytest.FixtureRequest) -> Management:
    """For control planes of either runtime: what holds for both."""
    management.runtime = request.param
    return management


async def test_it_is_made_used_and_deleted(either: Management) -> None:
    async with either.managed():
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

        await either.delete()

        assert await either.client.list(Secret, either.namespace) == []
        assert either.left() == []


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


async def kubectl(kubeconfig: Path, *arguments: str) -> str:
    program = (await assets.find_all(["kubectl"]))["kubectl"]
    process = await asyncio.create_subprocess_exec(
        program,
        f"--kubeconfig={kubeconfig}",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


async def test_initialized_means_that_nodes_can_join(either: Management) -> None:
    """Whoever waits for it acts at once: what `kubeadm join` reads must be there by then."""
    async with either.managed():
        await either.create()
        await either.until(lambda plane: plane.status.initialization)

        async with await either.tenant() as tenant:
            for name, namespace in (("cluster-info", "kube-public"), ("kubeadm-config", "kube-system")):
                assert await tenant.find(ConfigMap, name, namespace)
            assert (await tenant.request("GET", "/readyz")).startswith(b"ok")


async def test_a_paused_one_is_left_alone(either: Management) -> None:
    async with either.managed():
        await either.create(cluster={"paused": True})
        plane = await either.until(lambda plane: plane.status.conditions)
        assert [(found.type, found.status) for found in plane.status.conditions] == [("Paused", "True")]
        assert plane.metadata.finalizers == []
        assert either.running() == []

        await either.client.patch_named(Cluster, "c1", either.namespace, Patch.merge({"spec": {"paused": False}}))
        await either.until(lambda plane: condition(plane, "APIServerHealthy"))


async def test_it_hibernates_and_wakes(either: Management) -> None:
    async with either.managed():
        await either.create()
        first = await either.available()
        async with await either.tenant() as tenant:
            await tenant.create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))

        await either.client.scale(HostedControlPlane, "c1", either.namespace, replicas=0)
        asleep = await either.until(lambda plane: is_true(plane.status.conditions, "Hibernated"))
        assert either.running() == []
        assert condition(asleep, "Available").reason == "Hibernated"
        assert [count.version for count in asleep.status.versions] == [NEW]
        assert (asleep.status.replicas, asleep.status.ready_replicas) == (0, 0)

        await either.client.scale(HostedControlPlane, "c1", either.namespace, replicas=1)
        awake = await either.available()
        assert awake.spec.control_plane_endpoint == first.spec.control_plane_endpoint
        async with await either.tenant() as tenant:
            assert await tenant.find(ConfigMap, "kept", "default")


async def test_a_manager_that_starts_again_finds_everything_in_order(either: Management) -> None:
    async with either.managed():
        await either.create()
        before = await either.available()

    async with either.managed():
        await either.patch(rollout={"strategy": {"type": "BlueGreen"}})  # which it is already
        after = await either.until(
            lambda plane: (
                plane.status.observed_generation == plane.metadata.generation
                and is_true(plane.status.conditions, "Available")
            )
        )
    for type in ("Available", "APIServerHealthy"):  # nobody was told that it was not
        assert condition(after, type).last_transition_time == condition(before, type).last_transition_time
    assert len(either.running()) == (len(ComponentName) if either.runtime == "Process" else 0)


@pytest.mark.parametrize("moment", ["APIServerHealthy", "KubeconfigAvailable"])
async def test_a_manager_that_dies_meanwhile_is_followed_by_one_that_goes_on(
    management: Management, moment: str
) -> None:
    async with management.managed():
        await management.create()
        await management.until(lambda plane: find(plane.status.conditions, moment))

    async with management.managed():
        await management.available()
        await management.delete()
        assert management.left() == []


async def test_an_authority_that_the_user_brings_is_used(either: Management) -> None:
    own = new_ca("acme")
    await either.client.create(
        Secret(
            metadata=ObjectMeta(name="c1-ca", namespace=either.namespace),
            type="kubernetes.io/tls",
            data={"tls.crt": own.cert_pem, "tls.key": own.key_pem},
        )
    )
    async with either.managed():
        await either.create()
        await either.until(lambda plane: is_true(plane.status.conditions, "KubeconfigAvailable"))
        async with await either.tenant() as tenant:
            assert tenant.config.ca == own.cert_pem
            assert b"gitVersion" in await tenant.request("GET", "/version")
        await either.delete()
    left = await either.client.list(Secret, either.namespace)
    assert [secret.name for secret in left] == ["c1-ca"]


@pytest.mark.parametrize(
    ("spec", "type", "message"),
    [
        pytest.param(
            {"version": "v1.36.999"},
            "APIServerHealthy",
            "kube-apiserver v1.36.999 .*cannot be found on this machine: run `kapstan kube fetch --version v1.36.999`",
            id="no programs",
        ),
        pytest.param(
            {"apiServer": {"extraArgs": [{"name": "etcd-prefix", "value": "/other"}]}},
            "Available",
            r"spec\.apiServer\.extraArgs\[0\]\.name: Forbidden: --etcd-prefix: is set by the control plane itself",
            id="reserved flag",
        ),
        pytest.param(
            {"apiServer": {"extraArgs": [{"name": "no-such-flag", "value": "1"}]}},
            "APIServerHealthy",
            "it does not know the flag --no-such-flag",
            id="unknown flag",
        ),
        pytest.param(
            {"exposure": {"type": "HostPort", "bindAddress": "0.0.0.0"}},
            "EndpointReady",
            r"set spec\.exposure\.host to the name or address that nodes reach this machine by",
            id="no host",
        ),
    ],
)
async def test_what_goes_wrong_is_told_to_a_person(
    management: Management, spec: dict[str, Any], type: str, message: str
) -> None:
    def told(plane: HostedControlPlane) -> bool:
        found = find(plane.status.conditions, type)
        return found is not None and re.search(message, found.message) is not None

    async with management.managed():
        await management.create(**spec)
        plane = await management.until(told)
        assert condition(plane, "Available").status == "False"


async def test_a_version_that_may_not_follow_is_not_tried(either: Management) -> None:
    """Without the webhook that would refuse it."""
    async with either.managed():
        await either.create()
        await either.available()
        await either.patch(version="v1.38.0")
        plane = await either.until(lambda plane: condition(plane, "RollingOut").reason == "VersionRefused")

        assert "skips a minor version: v1.36.3 runs, upgrade to v1.37 first" in condition(plane, "RollingOut").message
        assert is_true(plane.status.conditions, "Available")


async def test_a_change_that_does_not_work_is_taken_back(management: Management) -> None:
    async with management.managed():
        await management.create()
        await management.available()
        await management.patch(apiServer={"extraArgs": [{"name": "no-such-flag", "value": "1"}]})
        plane = await management.until(lambda plane: condition(plane, "RollingOut").reason == "RolledBack")

        assert "it does not know the flag --no-such-flag" in condition(plane, "RollingOut").message
        assert is_true(plane.status.conditions, "Available")
        assert plane.status.up_to_date_replicas == 0


@(pytest.mark.real if HAS_OLD else pytest.mark.slow)  # else they have to be built, which takes minutes
async def test_it_is_upgraded_to_the_next_minor_version(management: Management) -> None:
    await upgrades(management, OLD, NEW)


async def test_it_is_upgraded_to_the_next_patch_version(either: Management, next_patch: str) -> None:
    await upgrades(either, NEW, next_patch)


async def upgrades(management: Management, old: str, new: str) -> None:
    async with management.managed():
        await management.create(version=old)
        await management.available()
        async with await management.tenant() as tenant:
            await tenant.create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))
        await management.patch(version=new)
        plane = await management.until(
            lambda plane: (
                [count.version for count in plane.status.versions] == [new]
                and is_true(plane.status.conditions, "Available")
            )
        )
        assert plane.status.up_to_date_replicas == 1
        async with await management.tenant() as tenant:
            assert json.loads(await tenant.request("GET", "/version"))["gitVersion"].startswith(new)
            await tenant.get(ConfigMap, "kept", "default")
            config = await tenant.get(ConfigMap, "kubeadm-config", "kube-system")
            assert f"kubernetesVersion: {new}" in config.data["ClusterConfiguration"]


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


async def test_an_authority_that_is_lost_is_not_replaced(either: Management) -> None:
    """The nodes of a cluster that works would not survive another one."""
    async with either.managed():
        await either.create()
        await either.available()
        await either.client.delete(Secret, "c1-ca", either.namespace)

        plane = await either.until(lambda plane: not is_true(plane.status.conditions, "CertificatesAvailable"))
        assert "c1-ca is missing: restore it" in condition(plane, "CertificatesAvailable").message
        async with await either.tenant() as tenant:
            assert b"gitVersion" in await tenant.request("GET", "/version")


async def test_a_webhook_refuses_with_the_path_of_the_field(management: Management) -> None:
    await management.env.install(HostedControlPlaneTemplate)
    management.runtime = "Simulated"
    async with management.managed(webhooks=True):
        await management.create()
        await management.available()

        reserved = {"extraArgs": [{"name": "etcd-servers", "value": "x"}]}
        for spec, field in (
            ({"version": "v1.38.0"}, "spec.version"),
            ({"version": "v1.35.0"}, "spec.version"),
            ({"apiServer": reserved}, "spec.apiServer.extraArgs[0].name"),
        ):
            with pytest.raises(Invalid) as refused:
                await management.patch(**spec)
            assert [cause.field for cause in refused.value.causes] == [field]
        await management.patch(version="v1.37.0")
