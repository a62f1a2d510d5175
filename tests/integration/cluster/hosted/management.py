"""A management plane for tests of hosted control planes: their objects, and what comes of them."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.integration.cluster.hosted.driver import NEW, manager, served_until

from kapstan.client import Client, Config, Kubeconfig, Patch
from kapstan.cluster.api.controlplane import HostedControlPlane
from kapstan.cluster.api.controlplane.hosted import RuntimeType
from kapstan.cluster.controlplane.hosted.adding import add_hosted_control_planes
from kapstan.cluster.controlplane.hosted.runtime.folder import Folder
from kapstan.cluster.controlplane.hosted.runtime.interface import Runtime
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.components import assets, pidfile
from kapstan.k8s.core_v1 import Secret
from kapstan.k8s.events_v1 import Event
from kapstan.machinery.codec import to_yaml
from kapstan.machinery.conditions import find, is_true
from kapstan.machinery.meta import Condition
from kapstan.machinery.pki import CertificateAuthority, load_ca
from kapstan.runtime.manager import Manager
from kapstan.testing import Environment
from kapstan.testing.running import Operator

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
        # How far its clock is behind.
        self.behind = timedelta()
        self._guard = guard

    @asynccontextmanager
    async def managed(self, *, webhooks: bool = False) -> AsyncIterator[Operator]:
        """With a manager."""
        async with manager(self.data) as processes, SimulatedRuntime(self.simulated) as simulated:

            def setup(manager: Manager) -> None:
                runtimes: dict[RuntimeType, Runtime] = {"Process": processes, "Simulated": simulated}
                clock = lambda: datetime.now(UTC) - self.behind  # noqa: E731
                add_hosted_control_planes(manager, runtimes, webhooks=webhooks, clock=clock)

            async with self.env.run(setup=setup, namespaces=(self.namespace,)) as operator:
                yield operator

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

    async def kubeconfig(self, name: str = "c1") -> bytes:
        """The one that everybody gets."""
        return (await self.client.get(Secret, f"{name}-kubeconfig", self.namespace)).data["value"]

    async def tenant(self, name: str = "c1") -> Client:
        return Client(Config.from_kubeconfig(await self.kubeconfig(name)))

    async def served_until(self, name: str = "c1") -> dict[str, datetime]:
        """When the certificates end that components show to whoever connects."""
        authorities = {purpose: await self._authority(name, purpose) for purpose in ("ca", "etcd")}
        plane = await self.client.get(HostedControlPlane, name, self.namespace)
        endpoint = plane.spec.control_plane_endpoint
        assert endpoint is not None and endpoint.port is not None
        ports = {"apiserver": endpoint.port}
        if self.runtime == "Process":
            record = Folder(self.data / plane.uid).record
            assert record is not None
            ports = asdict(record.ports)
            del ports["etcd_peer"]
        return {
            component: await asyncio.to_thread(served_until, authority, port)
            for component, port in ports.items()
            for authority in [authorities["etcd" if component == "etcd_client" else "ca"]]
        }

    async def secrets(self, name: str = "c1") -> list[str]:
        """What nobody may be told: a line of each private key, as it is and as a kubeconfig has it."""
        user = Kubeconfig.parse(await self.kubeconfig(name)).users[f"{name}-admin"]
        found = [
            secret.data["tls.key"]
            for secret in await self.client.list(Secret, self.namespace)
            if "tls.key" in secret.data
        ]
        keys = [user.client_key_data, *found]
        keys += [file.read_bytes() for folder in (self.data, self.simulated) for file in folder.rglob("*.key")]
        return [line for key in keys for line in (key.decode().splitlines()[1], b64encode(key).decode()[40:100])]

    async def told(self, name: str = "c1") -> str:
        """What those are told of a control plane who may not see its Secrets: arguments, environment, logs, objects."""
        plane = await self.client.get(HostedControlPlane, name, self.namespace)
        events = await self.client.list(Event, self.namespace)
        pids = [identity.pid for identity in map(pidfile.read, self.data.glob("*/run/*.pid")) if identity]
        files = [Path(f"/proc/{pid}/{what}") for pid in pids for what in ("cmdline", "environ")]
        files += self.data.glob("*/logs/*")
        return "\n".join([to_yaml(plane), *map(to_yaml, events), *(file.read_text(errors="replace") for file in files)])

    async def _authority(self, name: str, purpose: str) -> CertificateAuthority:
        secret = await self.client.get(Secret, f"{name}-{purpose}", self.namespace)
        return load_ca(secret.data["tls.crt"], secret.data["tls.key"])

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
