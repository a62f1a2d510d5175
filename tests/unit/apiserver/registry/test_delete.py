"""Deletion: at once, or step by step where finalizers, propagation or conditions say so."""

from __future__ import annotations

from typing import Any

import pytest

from kapstan.apiserver.registry.api import API
from kapstan.apiserver.request import DeleteOptions, Preconditions
from kapstan.apiserver.server import EmbeddedServer
from kapstan.apiserver.storage.interface import Event
from kapstan.machinery.errors import Conflict, NotFound
from kapstan.machinery.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


async def create(api: API, name: str = "a", **metadata: Any) -> dict[str, Any]:
    where = {"name": name, "namespace": "default", **metadata}
    return await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": where})


async def test_the_answer_names_what_is_gone(api: API) -> None:
    created = await create(api)
    status = await api.delete(CONFIG_MAP, "a", "default")
    assert status["kind"] == "Status" and status["status"] == "Success"
    assert status["details"] == {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await api.delete(CONFIG_MAP, "a", "default")


async def test_no_grace_period_is_too_long(api: API) -> None:
    """Clients may ask for any 64-bit number of seconds, and shorten it afterwards."""
    pods, where = GroupVersionKind("", "v1", "Pod"), {"name": "a", "namespace": "default"}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    await api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**where, "name": "default"}})
    await api.create({"apiVersion": "v1", "kind": "Pod", "metadata": where, "spec": spec})
    for seconds, told in ((2**63 - 1, 10**9), (10**8, 10**8)):
        await api.delete(pods, "a", "default", options=DeleteOptions(grace_period_seconds=seconds))
        metadata = (await api.get(pods, "a", "default"))["metadata"]
        assert metadata["deletionGracePeriodSeconds"] == told


async def test_watchers_get_the_last_state_at_the_revision_of_the_deletion(server: EmbeddedServer) -> None:
    api, storage = server.cluster.api, server.cluster.storage
    created = await create(api, labels={"x": "y"})
    heard: list[Event] = []
    storage.observe(heard.append)
    await api.delete(CONFIG_MAP, "a", "default")
    (event,) = heard
    assert event.type == "DELETED"
    assert event.revision == storage.revision > int(created["metadata"]["resourceVersion"])
    assert f'"resourceVersion":"{event.revision}"'.encode() in event.record.value
    assert event.record.labels == {"x": "y"}


async def test_finalizers_come_first(api: API) -> None:
    await create(api, finalizers=["example.com/wait"])
    marked = await api.delete(CONFIG_MAP, "a", "default")
    assert marked["kind"] == "ConfigMap"
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    again = await api.delete(CONFIG_MAP, "a", "default")
    assert again == marked, "deleting again changes nothing"


@pytest.mark.parametrize(
    ("options", "finalizer"),
    [
        (DeleteOptions(propagation_policy="Foreground"), "foregroundDeletion"),
        (DeleteOptions(propagation_policy="Orphan"), "orphan"),
        (DeleteOptions(orphan_dependents=True), "orphan"),
        (DeleteOptions(propagation_policy="Background"), None),
        (DeleteOptions(orphan_dependents=False), None),
        (DeleteOptions(), None),
    ],
)
async def test_propagation_is_a_finalizer(api: API, options: DeleteOptions, finalizer: str | None) -> None:
    await create(api)
    answer = await api.delete(CONFIG_MAP, "a", "default", options=options)
    if finalizer is None:
        assert answer["kind"] == "Status"
        assert await api.find(CONFIG_MAP, "a", "default") is None
    else:
        assert answer["metadata"]["finalizers"] == [finalizer]


async def test_the_options_override_the_finalizer_that_is_there(api: API) -> None:
    await create(api, finalizers=["orphan", "example.com/wait"])
    marked = await api.delete(CONFIG_MAP, "a", "default", options=DeleteOptions(propagation_policy="Foreground"))
    assert marked["metadata"]["finalizers"] == ["example.com/wait", "foregroundDeletion"]


async def test_a_finalizer_for_propagation_stays_where_the_options_say_nothing(api: API) -> None:
    await create(api, finalizers=["orphan"])
    marked = await api.delete(CONFIG_MAP, "a", "default")
    assert marked["metadata"]["finalizers"] == ["orphan"]


async def test_preconditions_must_hold(api: API) -> None:
    created = await create(api)
    for wanted, message in (
        (Preconditions(uid="other"), r"the UID in the precondition \(other\) does not match the UID in record"),
        (Preconditions(resource_version="1"), r"the ResourceVersion in the precondition \(1\) does not match"),
    ):
        with pytest.raises(Conflict, match=message):
            await api.delete(CONFIG_MAP, "a", "default", options=DeleteOptions(preconditions=wanted))
    metadata = created["metadata"]
    held = Preconditions(uid=metadata["uid"], resource_version=metadata["resourceVersion"])
    await api.delete(CONFIG_MAP, "a", "default", options=DeleteOptions(preconditions=held))


async def test_a_rehearsed_deletion_deletes_nothing(api: API) -> None:
    created = await create(api)
    await api.delete(CONFIG_MAP, "a", "default", options=DeleteOptions(dry_run=True))
    marked = DeleteOptions(dry_run=True, propagation_policy="Foreground")
    assert (await api.delete(CONFIG_MAP, "a", "default", options=marked))["metadata"]["deletionTimestamp"]
    assert await api.get(CONFIG_MAP, "a", "default") == created


async def test_a_deletion_counts_a_generation(api: API) -> None:
    kind = GroupVersionKind("apps", "v1", "Deployment")
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": "d", "namespace": "default", "generation": 7, "finalizers": ["example.com/wait"]}
    created = await api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    marked = await api.delete(kind, "d", "default")
    assert marked["metadata"]["generation"] == created["metadata"]["generation"] + 1


async def test_a_collection_is_deleted_by_its_selectors(api: API) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        await create(api, name, labels={"l": label})
    await api.delete_collection(CONFIG_MAP, "default", labels="l=x")
    assert [found["metadata"]["name"] for found in await api.list(CONFIG_MAP, "default")] == ["b"]
    await api.delete_collection(CONFIG_MAP, "default", fields="metadata.name=nobody")
    assert len(await api.list(CONFIG_MAP, "default")) == 1
