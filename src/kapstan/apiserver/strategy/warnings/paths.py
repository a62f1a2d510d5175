"""Files of volumes that are put over each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kapstan.apiserver.strategy.warnings.common import Object, Warnings
from kapstan.machinery.golang import quote

__all__ = ("overlapping_paths",)


class _File(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f"{quote(self.path)} ({self.source})" if self.source else quote(self.path)


def overlapping_paths(volumes: Sequence[Object]) -> Warnings:
    for volume in volumes:
        name = quote(volume["name"])
        for field, kind, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            source = volume.get(field)
            if source is not None:
                about = f"volume {name} ({kind} {quote(source.get(key, ''))})"
                yield from _overlaps(_files(source), about)
        if volume.get("downwardAPI") is not None:
            yield from _overlaps(_files(volume["downwardAPI"]), f"volume {name} (DownwardAPI)")
        if volume.get("projected") is not None:
            yield from _projected(volume["projected"].get("sources") or (), name)


def _projected(sources: Sequence[Object], name: str) -> Warnings:
    files: list[_File] = []
    for source in sources:
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
        files += _projected_files(source)
    yield from _overlaps(files, f"volume {name} (Projected)")


def _projected_files(source: Object) -> Iterable[_File]:
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if source.get(field) is not None and source[field].get("items"):
            return _files(source[field], f"{kind} {quote(source[field].get('name', ''))}")
    if source.get("downwardAPI") is not None and source["downwardAPI"].get("items"):
        return _files(source["downwardAPI"], "DownwardAPI")
    if source.get("serviceAccountToken") is not None:
        return [_File(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    bundle = source.get("clusterTrustBundle")
    if bundle is not None:
        name = bundle.get("name", bundle.get("signerName", ""))
        return [_File(bundle.get("path", ""), f"ClusterTrustBundle {quote(name)}")]
    return []


def _files(source: Object, about: str = "") -> list[_File]:
    return [_File(item.get("path", ""), about) for item in source.get("items") or ()]


def _overlaps(files: Iterable[_File], about: str) -> Warnings:
    seen: list[_File] = []
    for file in (_File(file.path.rstrip("/"), file.source) for file in files):
        for other in seen:
            both = sorted((f"{file.path}/", f"{other.path}/"), key=len)
            if file.path and other.path and both[1].startswith(both[0]):
                yield f"{about}: overlapping paths: {file} with {other}"
        seen.append(file)
