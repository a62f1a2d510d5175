"""The life of namespaces: what they begin with, and how they end."""

from __future__ import annotations

import pytest

from kapstan.machinery.errors import Forbidden, NotFound
from kapstan.machinery.gvk import GroupVersionKind

from .conftest import CONFIG_MAP, World

ACCOUNT = GroupVersionKind("", "v1", "ServiceAccount")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")


async def test_every_namespace_has_an_account_and_the_certificate_of_the_server(world: World) -> None:
    await world.create("Namespace", "team", namespace="")
    await world.settle()
    for namespace in ("default", "kube-system", "kube-public", "kube-node-lease", "team"):
        assert await world.api.get(ACCOUNT, "default", namespace)
        found = await world.api.get(CONFIG_MAP, "kube-root-ca.crt", namespace)
        assert found["data"]["ca.crt"].encode() == world.cluster.credentials.ca.cert_pem


async def test_they_come_back(world: World) -> None:
    await world.api.delete(ACCOUNT, "default", "default")
    await world.api.delete(CONFIG_MAP, "kube-root-ca.crt", "default")
    await world.settle()
    assert await world.api.get(ACCOUNT, "default", "default")
    assert await world.api.get(CONFIG_MAP, "kube-root-ca.crt", "default")


async def test_a_certificate_that_somebody_changed_is_put_right(world: World) -> None:
    patch = {"data": {"ca.crt": "x", "other": "y"}}
    await world.api.patch(CONFIG_MAP, "kube-root-ca.crt", "default", patch)
    await world.settle()
    found = await world.api.get(CONFIG_MAP, "kube-root-ca.crt", "default")
    assert list(found["data"]) == ["ca.crt"]
    assert found["data"]["ca.crt"] != "x"


async def test_a_namespace_takes_its_content_with_it(world: World) -> None:
    team = await world.create("Namespace", "team", namespace="")
    await world.settle()
    secret = await world.create("Secret", "s", namespace="team")
    pod = await world.create("Pod", "p", namespace="team", spec={"containers": [{"name": "c", "image": "i"}]})
    await world.delete(team)
    await world.settle()
    assert [await world.find(one) for one in (team, secret, pod)] == [None, None, None]
    assert not world.cluster.storage.list(ACCOUNT.group_version.resource("serviceaccounts").group_resource, "team/")


async def test_a_namespace_waits_for_finalizers_in_it_and_says_so(world: World) -> None:
    team = await world.create("Namespace", "team", namespace="")
    await world.settle()
    held = await world.create("ConfigMap", "held", namespace="team", metadata={"finalizers": ["example.com/wait"]})
    await world.delete(team)
    await world.settle()
    found = await world.find(team)
    assert found is not None
    assert found["status"]["phase"] == "Terminating"
    conditions = {one["type"]: (one["status"], one["reason"], one["message"]) for one in found["status"]["conditions"]}
    assert conditions == {
        "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances",
        ),
    }
    with pytest.raises(Forbidden):
        await world.create("ConfigMap", "new", namespace="team")
    await world.patch(held, {"metadata": {"finalizers": None}})
    await world.settle()
    assert await world.find(team) is None


async def test_pods_go_before_what_they_may_need(world: World) -> None:
    team = await world.create("Namespace", "team", namespace="")
    await world.settle()
    pod = await world.create(
        "Pod",
        "p",
        namespace="team",
        metadata={"finalizers": ["example.com/wait"]},
        spec={"containers": [{"name": "c", "image": "i"}]},
    )
    secret = await world.create("Secret", "s", namespace="team")
    await world.delete(team)
    await world.settle()
    assert await world.find(secret) is not None
    await world.patch(pod, {"metadata": {"finalizers": None}})
    await world.settle()
    assert [await world.find(one) for one in (team, secret, pod)] == [None, None, None]


async def test_a_finalizer_of_somebody_else_keeps_the_empty_namespace(world: World) -> None:
    team = await world.create("Namespace", "team", namespace="", spec={"finalizers": ["example.com/mine"]})
    await world.settle()
    await world.delete(team)
    await world.settle()
    found = await world.find(team)
    assert found is not None
    assert found["spec"]["finalizers"] == ["example.com/mine"]
    await world.api.update({**found, "spec": {}}, subresource="finalize")
    with pytest.raises(NotFound):
        await world.api.get(NAMESPACE, "team")


async def test_custom_objects_go_with_their_namespace(world: World) -> None:
    await world.api.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
                ],
            },
        }
    )
    team = await world.create("Namespace", "team", namespace="")
    thing = await world.create("Thing", "t", "example.com/v1", namespace="team")
    await world.delete(team)
    await world.settle()
    assert [await world.find(one) for one in (team, thing)] == [None, None]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(world: World, name: str) -> None:
    with pytest.raises(Forbidden):
        await world.api.delete(NAMESPACE, name)
