"""Mapping: where a kind is served. Pure: from a kind, a namespace and a name to a path."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

from msgspec import Struct

from kapstan.machinery.errors import BadRequest
from kapstan.machinery.gvk import GroupVersionKind
from kapstan.machinery.model import Resource, resource_info
from kapstan.machinery.names import path_segment_name_errors

__all__ = ("Mapping",)

_PLAIN = re.compile(r"[A-Za-z0-9._~:-]+")


class Mapping(Struct, frozen=True):
    """A kind, and the collection that holds its objects."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool

    @classmethod
    def of(cls, kind: type[Resource]) -> Mapping:
        """As the class says."""
        found = _MAPPINGS.get(kind)
        if found is None:
            info = resource_info(kind)
            found = _MAPPINGS[kind] = cls(info.gvk, info.plural, info.namespaced)
        return found

    def collection(self, namespace: str = "") -> str:
        """The path of all objects: of a namespace, or of all of them."""
        return _collection(self.gvk.group, self.gvk.version, self.plural, namespace if self.namespaced else "")

    def object(self, namespace: str, name: str, subresource: str = "") -> str:
        """The path of one object, or of a part of it. BadRequest if no object can be there."""
        if not name:
            raise BadRequest(f"{self.gvk.kind}: a name is needed")
        if self.namespaced and not namespace:
            raise BadRequest(f'{self.gvk.kind} "{name}": a namespace is needed, for every {self.gvk.kind} is in one')
        path = f"{self.collection(namespace)}/{_segment(name)}"
        return f"{path}/{subresource}" if subresource else path

    def creation(self, namespace: str) -> str:
        """The path to which a new object is sent."""
        if self.namespaced and not namespace:
            raise BadRequest(f"{self.gvk.kind}: a namespace is needed, for every {self.gvk.kind} is in one")
        return self.collection(namespace)


_MAPPINGS: dict[type[Resource], Mapping] = {}


@lru_cache(maxsize=1024)
def _collection(group: str, version: str, plural: str, namespace: str) -> str:
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{prefix}/namespaces/{_segment(namespace)}/{plural}" if namespace else f"{prefix}/{plural}"


def _segment(name: str) -> str:
    if _PLAIN.fullmatch(name) and name not in (".", ".."):
        return name
    if errors := path_segment_name_errors(name):
        raise BadRequest(f'"{name}" {errors[0]}')
    return quote(name, safe="")
