"""A cluster's life from the command line, on both environments."""

from __future__ import annotations

from pathlib import Path

from tests.integration.cluster.cli.conftest import CommandLine

from kapstan.client import Client, Config
from kapstan.cluster.api.core import Cluster, Machine, MachineDeployment, MachineSet
from kapstan.cluster.api.infrastructure import SimulatedCluster, SimulatedMachine, SimulatedMachineTemplate
from kapstan.k8s.core_v1 import Node, Secret

WAIT = ("--wait", "--timeout", "2m")


async def test_a_cluster_from_its_creation_to_its_end(kapstan: CommandLine, tmp_path: Path) -> None:
    """One test for one life: each step begins where the one before has ended."""
    client, namespace = kapstan.env.client, kapstan.namespace
    said = await kapstan("create", "demo", "--workers", "3", *WAIT)
    assert said.endswith(f"is available:  kapstan cluster kubeconfig demo --namespace {namespace}\n")

    tree = await kapstan("describe", "demo")
    assert "├─ClusterInfrastructure - SimulatedCluster/demo   Ready: True" in tree
    assert "└─MachineDeployment/demo-md-0" in tree and "3 of 3 available" in tree
    assert tree.count("Machine/demo-md-0-") == 3 and "Waiting for" not in tree
    assert "\x1b" not in tree, "colours are for terminals"
    (line,) = [line for line in (await kapstan("list")).splitlines() if " demo " in line]
    assert line.split()[2:6] == ["yes", "1/1", "3/3", "v1.36.3"]

    await kapstan("scale", "demo", "--workers", "5", *WAIT)
    assert len(await client.list(Machine, namespace)) == 5

    file = tmp_path / "demo.kubeconfig"
    assert str(file) in await kapstan("kubeconfig", "demo", "-o", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    async with Client(Config.load(file)) as workload:
        nodes = await workload.list(Node)
    assert {node.name for node in nodes} == {machine.name for machine in await client.list(Machine, namespace)}

    await kapstan("upgrade", "demo", "--kubernetes-version", "1.36.4", *WAIT)
    again = await kapstan("upgrade", "demo", "--kubernetes-version", "v1.36.4", *WAIT)
    assert again == "HostedControlPlane demo is at v1.36.4 already\n"
    machines = await client.list(Machine, namespace)
    assert {machine.spec.version for machine in machines} == {"v1.36.4"}
    assert {machine.name for machine in machines}.isdisjoint(node.name for node in nodes)

    assert "is gone" in await kapstan("delete", "demo", *WAIT)
    for kind in (Cluster, MachineDeployment, MachineSet, Machine, SimulatedMachine, SimulatedCluster):
        assert not await client.list(kind, namespace)
    if kapstan.env.name == "embedded":  # the garbage collector takes these; the real server here runs without one
        await kapstan.env.gone(SimulatedMachineTemplate, "demo-md-0", namespace)
        await kapstan.env.gone(Secret, "demo-bootstrap", namespace)
        assert not await client.list(Secret, namespace)


async def test_what_is_waited_for_is_said(kapstan: CommandLine) -> None:
    """A worker that takes an hour to boot: nothing is done in time, and everybody is told why."""
    hour = ("--set", "WORKER_BOOT_SECONDS=3600")
    late = await kapstan("create", "slow", "--workers", "1", *hour, "--wait", "--timeout", "5", succeeds=False)
    assert "cluster" in late and "after 5 s; it waits for" in late
    await kapstan.env.eventually(Machine, _worker(await kapstan("describe", "slow")), kapstan.namespace)
    tree = await kapstan("describe", "slow")
    assert "Waiting for:" in tree and "booting" in tree
    waiting = await kapstan("list")
    assert " no " in waiting and "0/1" in waiting


def _worker(tree: str) -> str:
    line = next(line for line in tree.splitlines() if "Machine/" in line)
    return line.partition("Machine/")[2].split()[0]


async def test_a_wrong_name_is_one_sentence(kapstan: CommandLine) -> None:
    namespace = kapstan.namespace
    for command in (["describe"], ["kubeconfig"], ["delete"], ["scale", "--workers", "1"]):
        said = await kapstan(*command, "nobody", succeeds=False)
        assert said.startswith(f"Error: there is no cluster {namespace}/nobody: "), said
        assert said.count("\n") == 1
    assert "lower case" in (said := await kapstan("create", "Not_A_Name", succeeds=False)), said


async def test_a_template_of_something_else_is_one_sentence(kapstan: CommandLine, tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: '${CLUSTER_NAME}'}}\n")
    said = await kapstan("create", "demo", "--from", str(template), succeeds=False)
    assert said.startswith("Error: the template makes no Cluster demo: ") and said.count("\n") == 1
    template.write_text("{apiVersion: a/v1, kind: Cluster, metadata: {name: demo, namespace: elsewhere}}\n")
    said = await kapstan("create", "demo", "--from", str(template), succeeds=False)
    assert said.startswith("Error: the template makes Cluster demo in namespace elsewhere, not "), said


async def test_a_cluster_is_not_created_twice(kapstan: CommandLine) -> None:
    await kapstan("create", "twice", "--workers", "0")
    said = await kapstan("create", "twice", succeeds=False)
    assert said == f"Error: cluster {kapstan.namespace}/twice exists already: choose another name, or delete it first\n"


async def test_what_is_refused_leaves_nothing_behind(kapstan: CommandLine) -> None:
    """Not even for a moment: the control plane, which comes third, is refused before anything is made."""
    client, namespace = kapstan.env.client, kapstan.namespace
    before = (await client.list(Cluster, namespace)).resource_version
    said = await kapstan("create", "bad", "--set", "KUBERNETES_VERSION=latest", succeeds=False)
    assert "spec.version" in said
    await kapstan("create", "good", "--workers", "0")
    async with client.watch(Cluster, namespace, resource_version=before) as events:
        assert (await anext(aiter(events))).object.name == "good"
    for kind in (Cluster, SimulatedCluster, Secret):
        assert await client.find(kind, "bad", namespace) is None
