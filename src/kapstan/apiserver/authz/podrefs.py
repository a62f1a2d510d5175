"""What the pods of each node refer to: a kubelet may read that and nothing else of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kapstan.apiserver.storage.interface import Event, Record, Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource

__all__ = ("MIRROR", "NodeReferences", "Reference", "pod_references")

_PODS = GroupResource("", "pods")
MIRROR = "kubernetes.io/config.mirror"
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


class Reference(NamedTuple):
    """An object that a pod needs."""

    resource: str
    namespace: str
    name: str


class NodeReferences:
    """References by node. Built when first asked, current with every write to pods from then on."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._pods: dict[str, tuple[str, frozenset[Reference]]] | None = None  # by key: node and references
        self._nodes: dict[str, dict[Reference, set[str]]] = {}  # by node: which pods refer to it

    def has(self, node: str, reference: Reference) -> bool:
        if self._pods is None:
            self._pods = {}
            for record in self._storage.list(_PODS):
                self._put(record)
            self._storage.observe(self._changed, _PODS)
        return reference in self._nodes.get(node, ())

    def _changed(self, event: Event) -> None:
        self._remove(event.record.key)
        if event.type != "DELETED":
            self._put(event.record)

    def _put(self, record: Record) -> None:
        assert self._pods is not None
        pod = codec.decode_any(record.value)
        node = (pod.get("spec") or {}).get("nodeName")
        if node:
            references = frozenset(pod_references(pod))
            self._pods[record.key] = (node, references)
            known = self._nodes.setdefault(node, {})
            for reference in references:
                known.setdefault(reference, set()).add(record.key)

    def _remove(self, key: str) -> None:
        assert self._pods is not None
        node, references = self._pods.pop(key, ("", frozenset()))
        known = self._nodes.get(node, {})
        for reference in references:
            known[reference].discard(key)
            if not known[reference]:
                del known[reference]
        if node and not known:
            del self._nodes[node]


def pod_references(pod: Mapping[str, Any]) -> Iterator[Reference]:
    """The pod itself and all that it names in its own namespace."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    namespace = metadata["namespace"]
    yield Reference("pods", namespace, metadata["name"])
    if MIRROR in (metadata.get("annotations") or {}):
        return
    found: list[tuple[str, str | None]] = [("serviceaccounts", spec.get("serviceAccountName"))]
    found += (("secrets", one.get("name")) for one in spec.get("imagePullSecrets") or ())
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            found += _environment(container)
    for volume in spec.get("volumes") or ():
        found += _volume(volume, metadata["name"])
    found += _claims(pod)
    for resource, name in found:
        if name:
            yield Reference(resource, namespace, name)


def _environment(container: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    sources = list(container.get("envFrom") or ())
    sources += [variable.get("valueFrom") or {} for variable in container.get("env") or ()]
    for source in sources:
        for resource, keys in (
            ("secrets", ("secretRef", "secretKeyRef")),
            ("configmaps", ("configMapRef", "configMapKeyRef")),
        ):
            for key in keys:
                yield resource, (source.get(key) or {}).get("name")


def _volume(volume: Mapping[str, Any], pod_name: str) -> Iterator[tuple[str, str | None]]:
    for key, source in volume.items():
        if not isinstance(source, dict):
            continue
        match key:
            case "persistentVolumeClaim":
                yield "persistentvolumeclaims", source.get("claimName")
            case "ephemeral":
                yield "persistentvolumeclaims", f"{pod_name}-{volume['name']}"
            case "configMap":
                yield "configmaps", source.get("name")
            case "projected":
                yield from _projected(source.get("sources") or ())
            case _:  # drivers say it in one of these ways
                yield "secrets", source.get("secretName")
                for reference in ("secretRef", "nodePublishSecretRef"):
                    yield "secrets", (source.get(reference) or {}).get("name")


def _projected(sources: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str | None]]:
    for source in sources:
        yield "secrets", (source.get("secret") or {}).get("name")
        yield "configmaps", (source.get("configMap") or {}).get("name")


def _claims(pod: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Resource claims are named by the pod, or by a controller in its status."""
    named = [*(pod["spec"].get("resourceClaims") or ())] if pod.get("spec") else []
    named += (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    for one in named:
        yield "resourceclaims", one.get("resourceClaimName")
