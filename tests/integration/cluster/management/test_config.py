"""What `config/` holds is accepted by a real API server, and its roles are all that the controllers need."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import yaml

from kapstan.client import Client
from kapstan.cluster.api.core import Cluster
from kapstan.cluster.controlplane.hosted.runtime.simulated import SimulatedRuntime
from kapstan.cluster.core.controllers import SCOPES
from kapstan.cluster.management.following import is_available
from kapstan.cluster.management.kinds import KINDS
from kapstan.cluster.management.providers import ALL, add_providers
from kapstan.cluster.templates.flavors import flavor
from kapstan.cluster.templates.rendering import documents_of
from kapstan.components import assets
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.k8s.apps_v1 import Deployment
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions
from kapstan.testing import Environment, real

CONFIG = Path(__file__).parents[4] / "config"
SYSTEM = "kapstan-system"


async def kubectl(*arguments: str, kubeconfig: Path) -> str:
    program = (await assets.find_all(["kubectl"]))["kubectl"]
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


@pytest.mark.real
async def test_kustomize_and_a_real_api_server_accept_it_all(tmp_path: Path) -> None:
    """On a server of its own: its webhooks would hold up other tests, since nothing serves them."""
    async with real(folder=tmp_path / "server") as env:
        kubeconfig = env.write_kubeconfig(tmp_path / "kubeconfig")
        # As anybody would, twice: definitions first, since a server takes a moment to serve them.
        for _ in range(2):
            await kubectl("apply", "--server-side", "-k", str(CONFIG / "default"), kubeconfig=kubeconfig)
        definitions = await env.client.list(CustomResourceDefinition)
        assert {one.spec.names.kind for one in definitions} == {kind.__name__ for kind in KINDS}
        for definition in definitions:
            await env.eventually(CustomResourceDefinition, definition.name, condition=_is_established)
        deployment = await env.client.get(Deployment, "kapstan-controller-manager", SYSTEM)
        pod = deployment.spec.template.spec
        assert pod is not None
        assert [container.command for container in pod.containers] == [["kapstan", "manager"]]


def _is_established(definition: CustomResourceDefinition) -> bool:
    return any(one.type == "Established" and one.status == "True" for one in definition.status.conditions)


async def test_the_roles_suffice_for_a_cluster(env: Environment, tmp_path: Path) -> None:
    """Controllers that may do no more than the generated role says make a cluster and take it away."""
    await env.install(*KINDS)
    user, namespace = f"manager-{tmp_path.parent.name}-{env.name}", await env.namespace()
    await _bind(env.client, user)
    manager = Manager(env.user(user), ManagerOptions(scopes=SCOPES, namespaces=(namespace,)))
    async with SimulatedRuntime(tmp_path / "simulated") as simulated:
        add_providers(manager, ALL, {"Simulated": simulated})
        async with manager.running():
            for document in documents_of(flavor("simulated"), {"CLUSTER_NAME": "c", "NAMESPACE": namespace}):
                await env.client.create(document)
            await env.eventually(Cluster, "c", namespace, _has_all, timeout=90)
            await env.client.delete(Cluster, "c", namespace)
            await env.gone(Cluster, "c", namespace, timeout=90)


def _has_all(cluster: Cluster) -> bool:
    workers = cluster.status.workers
    return is_available(cluster) and workers is not None and workers.available_replicas == 3


async def _bind(client: Client, user: str) -> None:
    """Give a user the role of `config/`. Caches try again until the API server goes by it."""
    (role,) = yaml.safe_load_all((CONFIG / "rbac/role.yaml").read_text())
    role["metadata"]["name"] = user
    await client.apply(role)
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": user}}
    await client.apply({**binding, "roleRef": reference, "subjects": [subject]})
