"""Versions: a write as those see it who want the object in another version of its resource."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import clone

__all__ = ("Changing", "Pair", "Seen", "converted")

Object = dict[str, Any]
Pair = tuple[Object | None, Object | None]


async def converted(obj: Object, source: ServedKind, target: ServedKind) -> Object:
    """The object in another version of its resource; the given one stays as it is."""
    if source is target or obj.get("kind") != source.gvk.kind:  # a subresource with a kind of its own has one version
        return obj
    copy = clone(obj)
    converter = target.storage.converter
    if converter is not None:
        return (await converter.convert([copy], target.gvk.group_version))[0]
    copy["apiVersion"] = target.gvk.api_version
    return copy


class Seen:
    """The object and the old one, in every version that somebody wants to see; each is made once."""

    def __init__(self, attributes: AdmissionAttributes) -> None:
        self._written = attributes.kind
        self._pairs: dict[ServedKind, Pair] = {attributes.kind: (attributes.object, attributes.old)}

    async def by(self, kind: ServedKind) -> Pair:
        found = self._pairs.get(kind)
        if found is None:
            obj, old = self._pairs[self._written]
            found = self._pairs[kind] = (
                await converted(obj, self._written, kind) if obj is not None else None,
                await converted(old, self._written, kind) if old is not None else None,
            )
        return found


class Changing:
    """The object on its way through those that change it and may each want another version of it."""

    def __init__(self, attributes: AdmissionAttributes) -> None:
        self._attributes = attributes
        self.kind = attributes.kind
        self._old: dict[ServedKind, Object | None] = {attributes.kind: attributes.old}
        self.object = attributes.object

    async def seen_by(self, kind: ServedKind) -> Pair:
        """The object and the old one in that version, from here on."""
        written = self._attributes.kind
        if kind not in self._old:
            self._old[kind] = await converted(self._attributes.old, written, kind) if self._attributes.old else None
        if kind is not self.kind and self.object is not None:
            self.object = await converted(self.object, self.kind, kind)
            self.kind = kind
        return self.object, self._old[kind]

    async def settled(self) -> Object | None:
        """In the version in which it was written."""
        written = self._attributes.kind
        return await converted(self.object, self.kind, written) if self.object is not None else None
