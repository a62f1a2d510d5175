"""The definitions, as a real API server understands them: defaults, immutable fields, lists of arguments."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kapstan.client import Client, Config, Patch
from kapstan.cluster.api.controlplane import HostedControlPlane, HostedControlPlaneTemplate
from kapstan.components.controlplane import ControlPlane
from kapstan.generate.crd import crds_of
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.machinery.codec import load_yaml
from kapstan.machinery.conditions import is_true
from kapstan.machinery.errors import Invalid
from kapstan.machinery.gvk import GroupVersionKind

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

HCP = GroupVersionKind("controlplane.cluster.x-k8s.io", "v1beta2", "HostedControlPlane")
Document = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with ControlPlane(tmp_path_factory.mktemp("management")) as plane:
        async with Client(Config.from_kubeconfig(plane.kubeconfig())) as client:
            for definition in crds_of([HostedControlPlane, HostedControlPlaneTemplate]):
                created = await client.create(definition)
                await until_established(client, created["metadata"]["name"])
            yield client


async def until_established(client: Client, name: str) -> None:
    async with asyncio.timeout(60):
        while not is_true((await client.get(CustomResourceDefinition, name)).status.conditions, "Established"):  # type: ignore[arg-type]  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def a_plane(name: str, **spec: Any) -> Document:
    return {
        "apiVersion": str(HCP.group_version),
        "kind": HCP.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"version": "v1.36.3", **spec},
    }


async def test_a_version_is_all_that_must_be_said(client: Client) -> None:
    spec = (await client.create(a_plane("least")))["spec"]

    assert spec == {
        "version": "v1.36.3",
        "replicas": 1,
        "runtime": {"type": "Process"},
        "datastore": {"type": "DedicatedEtcd"},
        "exposure": {"type": "HostPort"},
        "addons": {"coreDNS": {}, "kubeProxy": {}},
        "certificates": {"keyAlgorithm": "ECDSA-P256", "validityDays": 365, "renewBeforeDays": 60},
    }


async def test_what_is_filled_in_once_stays(client: Client) -> None:
    plane = await client.create(a_plane("filled"))
    endpoint = {"host": "127.0.0.1", "port": 6443}
    spec = {"controlPlaneEndpoint": endpoint, "datastore": {"prefix": "a"}}

    filled = await client.patch(plane, Patch.merge({"spec": spec}), field_validation="Strict")

    assert filled["spec"]["controlPlaneEndpoint"] == endpoint
    assert filled["spec"]["datastore"] == {"type": "DedicatedEtcd", "prefix": "a"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"runtime": {"type": "Simulated"}}, "spec.runtime.type"),
        ({"datastore": {"type": "SharedEtcd"}}, "spec.datastore.type"),
        ({"datastore": {"prefix": "b"}}, "spec.datastore.prefix"),
        ({"datastore": {"prefix": None}}, "spec.datastore.prefix"),
        ({"controlPlaneEndpoint": {"port": 6444}}, "spec.controlPlaneEndpoint"),
        ({"controlPlaneEndpoint": None}, "spec.controlPlaneEndpoint"),
        ({"exposure": {"host": "b.example"}}, "spec.exposure.host"),
        ({"exposure": None}, "spec.exposure.host"),
        ({"exposure": {"port": 6444}}, "spec.exposure.port"),
        ({"replicas": 3}, "spec.replicas"),
        ({"replicas": -1}, "spec.replicas"),
        ({"version": "1.36"}, "spec.version"),
        ({"certificates": {"renewBeforeDays": 365}}, "spec.certificates.renewBeforeDays"),
        ({"apiServer": {"extraArgs": {"v": "2"}}}, "spec.apiServer.extraArgs"),
        ({"apiServer": {"extraArgs": [{"name": "--v", "value": "2"}]}}, "spec.apiServer.extraArgs[0].name"),
    ],
)
async def test_a_change_is_refused_with_its_path(client: Client, change: Document, field: str) -> None:
    plane = a_plane(
        "refusing",
        controlPlaneEndpoint={"host": "a.example", "port": 6443},
        datastore={"type": "DedicatedEtcd", "prefix": "a"},
        exposure={"type": "HostPort", "host": "a.example"},
    )
    await client.apply(plane)

    with pytest.raises(Invalid) as refused:
        await client.patch(plane, Patch.merge({"spec": change}))

    assert field in {cause.field for cause in refused.value.causes}


async def test_settings_of_etcd_need_an_etcd_of_its_own(client: Client) -> None:
    shared = a_plane("shared", datastore={"type": "SharedEtcd"}, etcd={"env": [{"name": "A", "value": "b"}]})

    with pytest.raises(Invalid, match=r"settings of etcd need datastore\.type DedicatedEtcd"):
        await client.create(shared)


async def test_a_flag_may_be_given_more_than_once(client: Client) -> None:
    arguments = [{"name": "tls-sni-cert-key", "value": "a"}, {"name": "tls-sni-cert-key", "value": "b"}]

    plane = await client.create(a_plane("repeated", apiServer={"extraArgs": arguments}))

    assert plane["spec"]["apiServer"]["extraArgs"] == arguments


async def test_it_is_scaled_like_everything_else(client: Client) -> None:
    await client.create(a_plane("scaled"))

    await client.scale(HCP, "scaled", "default", replicas=0)

    assert (await client.get(HostedControlPlane, "scaled", "default")).spec.replicas == 0


GUIDE = Path(__file__).parents[4] / "docs/guides/hosted-control-planes.md"


async def test_the_examples_of_the_guide_are_accepted(client: Client) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert examples
    for document in (found for example in examples for found in load_yaml(example.encode())):
        document["metadata"]["namespace"] = "default"
        await client.create(document, dry_run=True, field_validation="Strict")


async def test_a_template_has_everything_but_version_size_and_place(client: Client) -> None:
    template = {
        "apiVersion": str(HCP.group_version),
        "kind": "HostedControlPlaneTemplate",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"template": {"spec": {"apiServer": {"certSANs": ["a.example"]}}}},
    }

    created = await client.create(template, field_validation="Strict")

    settings = created["spec"]["template"]["spec"]
    assert settings["runtime"] == {"type": "Process"}
    assert not {"version", "replicas", "controlPlaneEndpoint"} & set(settings)
