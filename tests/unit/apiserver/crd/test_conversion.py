"""Conversion webhooks: versions that differ in more than their name."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kapstan.apiserver.registry.api import API
from kapstan.apiserver.request import ListOptions
from kapstan.machinery.errors import APIError
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.pki import Usage, new_ca

OLD = GroupVersionKind("example.com", "v1", "Widget")
NEW = GroupVersionKind("example.com", "v2", "Widget")
Object = dict[str, Any]


def convert(obj: Object, wanted: str) -> Object:
    """v1 has `spec.size`, v2 has `spec.dimensions.size`."""
    spec = obj["spec"]
    new = {"dimensions": {"size": spec["size"]}} if wanted.endswith("v2") else {"size": spec["dimensions"]["size"]}
    return {**obj, "apiVersion": wanted, "spec": new}


class Webhook:
    """A conversion webhook that counts how often it is asked."""

    def __init__(self) -> None:
        self.reviews: list[Object] = []
        self.answer: Callable[[Object], Object] = self.converted
        self.url = ""
        self.bundle = ""

    def converted(self, request: Object) -> Object:
        wanted = request["desiredAPIVersion"]
        objects = [convert(obj, wanted) for obj in request["objects"]]
        return {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}

    async def serve(self, request: web.BaseRequest) -> web.Response:
        review = await request.json()
        self.reviews.append(review)
        answer = self.answer(review["request"])
        return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer})


@pytest.fixture
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    authority = new_ca("webhook")
    pair = authority.issue("webhook", ip_addresses=["127.0.0.1"], usages=[Usage.SERVER])
    (tmp_path / "webhook.pem").write_bytes(pair.cert_pem + pair.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "webhook.pem")
    found = Webhook()
    runner = web.ServerRunner(web.Server(found.serve))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    found.url, found.bundle = f"https://127.0.0.1:{port}/convert", base64.b64encode(authority.cert_pem).decode()
    yield found
    await runner.cleanup()


@pytest.fixture
async def widgets(api: API, webhook: Webhook) -> API:
    def version(name: str, spec: Object) -> Object:
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
        return {"name": name, "served": True, "storage": name == "v2", "schema": {"openAPIV3Schema": schema}}

    size = {"type": "integer"}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            version("v1", {"size": size}),
            version("v2", {"dimensions": {"type": "object", "properties": {"size": size}}}),
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": webhook.url, "caBundle": webhook.bundle},
                "conversionReviewVersions": ["v1"],
            },
        },
    }
    document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    await api.create({**document, "metadata": {"name": "widgets.example.com"}})
    return api


def old_widget(name: str, size: int = 1) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": size}}


async def test_objects_are_stored_in_one_version_and_served_in_all(widgets: API) -> None:
    created = await widgets.create(old_widget("a"))
    assert created["spec"] == {"size": 1}
    assert (await widgets.get(NEW, "a", "default"))["spec"] == {"dimensions": {"size": 1}}
    patched = await widgets.patch(NEW, "a", "default", {"spec": {"dimensions": {"size": 2}}})
    assert patched["spec"] == {"dimensions": {"size": 2}}
    assert (await widgets.get(OLD, "a", "default"))["spec"] == {"size": 2}
    updated = await widgets.update({**(await widgets.get(OLD, "a", "default")), "spec": {"size": 3}})
    assert (updated["spec"], updated["metadata"]["generation"]) == ({"size": 3}, 3)


async def test_a_list_is_converted_in_one_call(widgets: API, webhook: Webhook) -> None:
    for name in "abc":
        document = {**old_widget(name), "apiVersion": "example.com/v2", "spec": {"dimensions": {"size": 1}}}
        await widgets.create(document)
    webhook.reviews.clear()
    assert [found["spec"] for found in await widgets.list(OLD, "default")] == [{"size": 1}] * 3
    assert [len(review["request"]["objects"]) for review in webhook.reviews] == [3]
    await widgets.list(OLD, "default")
    assert len(webhook.reviews) == 2, "a webhook may have learned to do better"


async def test_watchers_get_their_version(widgets: API) -> None:
    await widgets.create(old_widget("a"))
    async with asyncio.timeout(5), widgets.watch(OLD, "default", options=ListOptions()) as events:
        found = [await anext(events)]
        await widgets.patch(NEW, "a", "default", {"spec": {"dimensions": {"size": 7}}})
        await widgets.create(old_widget("b", 8))
        await widgets.delete(NEW, "a", "default")
        found += [await anext(events) for _ in range(3)]
    assert [(event.type, event.object["apiVersion"], event.object["spec"]) for event in found] == [
        ("ADDED", "example.com/v1", {"size": 1}),
        ("MODIFIED", "example.com/v1", {"size": 7}),
        ("ADDED", "example.com/v1", {"size": 8}),
        ("DELETED", "example.com/v1", {"size": 7}),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda answer: {**answer, "uid": "other"}, "uid"),
        (lambda answer: {**answer, "convertedObjects": []}, "returned 0 objects, expected 1"),
        (lambda answer: {**answer, "result": {"status": "Failed", "message": "not today"}}, "not today"),
        (lambda answer: {**answer, "convertedObjects": [{"kind": "Other"}]}, "another kind or version"),
        (lambda answer: None, "no response"),
    ],
)
async def test_a_webhook_that_answers_wrongly_is_told_on(
    widgets: API, webhook: Webhook, change: Callable[[Any], Any], message: str
) -> None:
    webhook.answer = lambda request: change(webhook.converted(request))
    with pytest.raises(APIError, match=message) as refused:
        await widgets.create(old_widget("a"))
    assert str(refused.value).startswith("conversion webhook for example.com/v1, Kind=Widget failed: ")


async def test_a_webhook_may_change_labels_but_not_who_an_object_is(widgets: API, webhook: Webhook) -> None:
    await widgets.create(old_widget("a"))

    def relabel(request: Object) -> Object:
        answer = webhook.converted(request)
        for obj in answer["convertedObjects"]:
            obj["metadata"] = {**obj["metadata"], "labels": {"x": "y"}, "generation": 99, "finalizers": ["a/b"]}
        return answer

    webhook.answer = relabel
    metadata = (await widgets.get(OLD, "a", "default"))["metadata"]
    assert metadata["labels"] == {"x": "y"}
    assert (metadata["generation"], metadata.get("finalizers")) == (1, None)
