"""Conversion webhooks: objects of one version turned into another by whoever wrote the definition."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.admission.webhook.client import CallFailed
from kapstan.apiserver.admission.webhook.configuration import ClientConfig
from kapstan.apiserver.registry.errors import unclassified
from kapstan.machinery.codec import convert, encode
from kapstan.machinery.errors import APIError
from kapstan.machinery.gvk import GroupVersion

if TYPE_CHECKING:
    from kapstan.apiserver.cluster import LogicalCluster

__all__ = ("WebhookConverter", "webhook_converter")

Object = dict[str, Any]

_TIMEOUT = 30
_REVIEWS = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
# What a webhook may not change of an object's metadata; labels and annotations it may.
_CHANGEABLE = ("labels", "annotations")


def webhook_converter(cluster: LogicalCluster, crd: Object) -> WebhookConverter | None:
    """The converter of a definition; None if its versions differ in name only."""
    conversion = crd["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    return WebhookConverter(cluster, crd["metadata"]["name"], conversion.get("webhook") or {})


class WebhookConverter:
    """Asks a webhook, for many objects at once."""

    def __init__(self, cluster: LogicalCluster, name: str, webhook: Object) -> None:
        self._cluster = cluster
        self._name = name
        self._config = convert(webhook.get("clientConfig") or {}, ClientConfig)
        known = webhook.get("conversionReviewVersions") or ()
        versions = [f"apiextensions.k8s.io/{version}" for version in known]
        self._review_version = next((version for version in versions if version in _REVIEWS), _REVIEWS[0])

    async def convert(self, objects: list[Object], to: GroupVersion) -> list[Object]:
        wanted = str(to)
        pending = [position for position, obj in enumerate(objects) if obj.get("apiVersion") != wanted]
        if not pending:
            return objects
        answers = await self._ask([objects[position] for position in pending], wanted)
        found = list(objects)
        for position, answer in zip(pending, answers, strict=True):
            found[position] = self._checked(objects[position], answer, wanted)
        return found

    async def _ask(self, objects: list[Object], wanted: str) -> list[Object]:
        uid = str(uuid.uuid4())
        review = {
            "kind": "ConversionReview",
            "apiVersion": self._review_version,
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
        }
        client, services = self._cluster.webhook_client, self._cluster.services
        try:
            async with asyncio.timeout(_TIMEOUT):
                answer = await client.call(self._config, encode(review), timeout=_TIMEOUT, resolve=services)
        except (CallFailed, TimeoutError) as error:
            raise self._failed(str(error) or "context deadline exceeded", objects, wanted) from error
        return self._answered(answer, uid, objects, wanted)

    def _answered(self, answer: Any, uid: str, objects: list[Object], wanted: str) -> list[Object]:
        response = answer.get("response") if isinstance(answer, dict) else None
        if not isinstance(response, dict):
            raise self._failed("no response in it", objects, wanted)
        if response.get("uid") != uid:
            raise self._failed(f"expected response.uid={uid!r}, got {response.get('uid')!r}", objects, wanted)
        result = response.get("result") or {}
        if result.get("status") != "Success":
            raise self._failed(result.get("message") or "the webhook did not say why", objects, wanted)
        converted = response.get("convertedObjects")
        if not isinstance(converted, list) or len(converted) != len(objects):
            count = len(converted) if isinstance(converted, list) else 0
            raise self._failed(f"returned {count} objects, expected {len(objects)}", objects, wanted)
        return converted

    def _checked(self, before: Object, after: Any, wanted: str) -> Object:
        """What came back, if it is still the same object."""
        if not isinstance(after, dict) or after.get("apiVersion") != wanted or after.get("kind") != before.get("kind"):
            raise self._failed("invalid converted object: it has another kind or version", [before], wanted)
        old, new = before.get("metadata") or {}, after.get("metadata") or {}
        for name in ("name", "namespace", "uid"):
            if (old.get(name) or "") != (new.get(name) or ""):
                raise self._failed(f"invalid metadata of the converted object: {name} changed", [before], wanted)
        metadata = dict(old)
        for name in _CHANGEABLE:
            if new.get(name):
                metadata[name] = new[name]
            else:
                metadata.pop(name, None)
        return {**after, "metadata": metadata}

    def _failed(self, why: str, objects: list[Object], wanted: str) -> APIError:
        kind, version = objects[0].get("kind"), objects[0].get("apiVersion")
        return unclassified(f"conversion webhook for {version}, Kind={kind} failed: {why}")
