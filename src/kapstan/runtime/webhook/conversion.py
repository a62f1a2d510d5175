"""Conversion: objects of one version of a kind made into another, by functions between two versions each.

The functions are edges of a graph; from any version to any other the shortest way is taken, usually over the hub,
which is the version that is stored. Metadata is carried over as it is, except for labels and annotations that a
function has changed; the API server would refuse anything else.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from typing import Any

import msgspec
from msgspec import Struct, field

from kapstan.client.interface import gvk_of
from kapstan.machinery.codec import convert, encode, to_builtins
from kapstan.machinery.errors import BadRequest, KapstanError
from kapstan.machinery.gvk import GroupKind, GroupVersion, GroupVersionKind
from kapstan.machinery.meta import ObjectMeta
from kapstan.machinery.model import Resource
from kapstan.runtime.webhook.declaration import Conversion

__all__ = ("Converter",)

log = logging.getLogger(__name__)

API_VERSION, KIND = "apiextensions.k8s.io/v1", "ConversionReview"


class _Request(Struct, rename="camel", kw_only=True):
    uid: str
    desired_api_version: str = field(default="", name="desiredAPIVersion")
    objects: list[dict[str, Any]] = field(default_factory=list)


class _Review(Struct, rename="camel", kw_only=True):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_decode_review = msgspec.json.Decoder(_Review).decode


class Converter:
    """Converts objects of every kind that it has functions for."""

    def __init__(self) -> None:
        self._edges: dict[GroupVersionKind, dict[GroupVersionKind, Conversion]] = {}
        self._types: dict[GroupVersionKind, type[Resource]] = {}

    def add(self, conversion: Conversion) -> None:
        """Know one more step; ValueError if there is another function for it."""
        source, target = gvk_of(conversion.source), gvk_of(conversion.target)
        steps = self._edges.setdefault(source, {})
        if target in steps:
            raise ValueError(f"there are two conversions from {source} to {target}")
        steps[target] = conversion
        self._types |= {source: conversion.source, target: conversion.target}

    @property
    def kinds(self) -> set[GroupKind]:
        return {gvk.group_kind for gvk in self._types}

    async def review(self, body: bytes) -> bytes:
        """Answer a ConversionReview. Any object that cannot be converted makes all of them fail, as the API wants."""
        try:
            review = _decode_review(body)
        except msgspec.MsgspecError as error:
            raise BadRequest(f"this is no ConversionReview: {error}") from error
        if review.kind != KIND or review.request is None:
            raise BadRequest(f"expected a {KIND} of {API_VERSION}, got {review.kind or 'nothing'}")
        request = review.request
        response: dict[str, Any] = {"uid": request.uid}
        try:
            response["convertedObjects"] = [
                await self.convert(obj, request.desired_api_version) for obj in request.objects
            ]
            response["result"] = {"status": "Success"}
        except (KapstanError, ValueError) as error:
            response["result"] = {"status": "Failure", "message": str(error)}
        return encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})

    async def convert(self, obj: dict[str, Any], api_version: str) -> dict[str, Any]:
        """An object in another version; BadRequest if there is no way to it, or it does not fit its type."""
        source = gvk_of(obj)
        target = GroupVersion.parse(api_version).kind(source.kind)
        for step in self._way(source, target):
            obj = await self._step(step, obj)
        return obj

    def _way(self, source: GroupVersionKind, target: GroupVersionKind) -> list[Conversion]:
        """The shortest chain of functions."""
        ways: dict[GroupVersionKind, list[Conversion]] = {source: []}
        queue = deque([source])
        while queue:
            place = queue.popleft()
            if place == target:
                return ways[place]
            for following, conversion in self._edges.get(place, {}).items():
                if following not in ways:
                    ways[following] = [*ways[place], conversion]
                    queue.append(following)
        raise BadRequest(f"there is no conversion from {source} to {target}")

    async def _step(self, conversion: Conversion, obj: dict[str, Any]) -> dict[str, Any]:
        try:
            source = convert(obj, conversion.source)
        except msgspec.ValidationError as error:
            raise BadRequest(f"the object does not fit {gvk_of(conversion.source)}: {error}") from error
        given = convert(obj.get("metadata", {}), ObjectMeta)
        result = conversion.function(source)
        target = await result if inspect.isawaitable(result) else result
        if not isinstance(target, conversion.target):
            raise TypeError(f"a conversion to {gvk_of(conversion.target)} returned {type(target).__qualname__}")
        gvk = gvk_of(conversion.target)
        converted = {**to_builtins(target), "apiVersion": gvk.api_version, "kind": gvk.kind}
        return {**converted, "metadata": _metadata(obj.get("metadata", {}), given, target.metadata)}


def _metadata(document: dict[str, Any], before: ObjectMeta, after: ObjectMeta) -> dict[str, Any]:
    metadata = dict(document)
    if not after.name and not after.labels and not after.annotations:
        return metadata  # the function did not care about it
    for name in ("labels", "annotations"):
        said = getattr(after, name)
        if said != getattr(before, name):
            metadata[name] = said
    return metadata
