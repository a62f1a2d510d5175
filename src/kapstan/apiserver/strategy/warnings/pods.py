"""Pods and templates of pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapstan.apiserver.strategy.warnings.common import (
    DEPRECATED_LABELS,
    Object,
    Warnings,
    address_warning,
    fractional_bytes,
    node_term_labels,
)
from kapstan.apiserver.strategy.warnings.paths import overlapping_paths
from kapstan.machinery.golang import quote
from kapstan.machinery.names import label_value_errors
from kapstan.machinery.validation import Path

__all__ = ("claim_size", "pod_warnings")

_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "ephemeral": "",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: Object, path: Path, *, is_template: bool) -> Warnings:
    """What is allowed in a pod but will not do what its author hopes for."""
    spec, at = pod["spec"], path.child("spec")
    annotations = pod["metadata"].get("annotations") or {}
    yield from _node_labels(spec, at)
    for key, message in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{path.child('metadata', 'annotations').key(key)}: {message}"
    yield from _volumes(spec.get("volumes") or (), at.child("volumes"))
    yield from _duplicates(spec, at)
    for name in ("memory", "ephemeral-storage"):
        yield from fractional_bytes(spec.get("overhead"), name, at.child("overhead"))
    yield from _profiles(spec, annotations, path, is_template=is_template)
    yield from _ports(spec, at)
    yield from _pod_affinity(spec.get("affinity") or {}, at.child("affinity"))
    for position, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from address_warning(server, at.child("dnsConfig", "nameservers").index(position))
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address_warning(alias.get("ip", ""), at.child("hostAliases").index(position).child("ip"))


def _containers(spec: Object, path: Path) -> Iterator[tuple[Object, Path]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            yield container, path.child(field).index(position)


def _node_labels(spec: Object, path: Path) -> Warnings:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in DEPRECATED_LABELS:
            yield f"{path.child('nodeSelector').key(key)}: {DEPRECATED_LABELS[key]}"
    affinity, at = (spec.get("affinity") or {}).get("nodeAffinity") or {}, path.child("affinity", "nodeAffinity")
    for position, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from node_term_labels(term, at.child(_REQUIRED, "nodeSelectorTerms").index(position))
    for position, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = at.child(_PREFERRED).index(position).child("preference")
        yield from node_term_labels(weighted["preference"], where)
        yield from _label_values(weighted["preference"], where)
    for position, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = path.child("topologySpreadConstraints").index(position), constraint.get("topologyKey", "")
        if key in DEPRECATED_LABELS:
            yield f"{where.child('topologyKey')}: {key} is {DEPRECATED_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where.child('labelSelector')}: {_NO_SELECTOR}"


def _label_values(term: Object, path: Path) -> Warnings:
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        for index, value in enumerate(expression.get("values") or ()):
            for complaint in label_value_errors(value):
                at = path.child("matchExpressions").index(position).child("values").index(index)
                yield f"{at}: {value} is invalid, {complaint}"


def _volumes(volumes: Sequence[Object], path: Path) -> Warnings:
    for position, volume in enumerate(volumes):
        at = path.index(position)
        for kind, message in _VOLUMES.items():
            if volume.get(kind) is None:
                continue
            if kind == "ephemeral":
                template = volume[kind].get("volumeClaimTemplate") or {}
                yield from claim_size(template.get("spec") or {}, at.child("ephemeral", "volumeClaimTemplate", "spec"))
            else:
                yield f"{at.child('storageOS' if kind == 'storageos' else kind)}: {message}"
    yield from overlapping_paths(volumes)


def claim_size(spec: Object, path: Path) -> Warnings:
    for side in ("requests", "limits"):
        amounts = (spec.get("resources") or {}).get(side)
        yield from fractional_bytes(amounts, "storage", path.child("resources", side))


def _duplicates(spec: Object, path: Path) -> Warnings:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for position, item in enumerate(spec.get(field) or ()):
            value = item.get(key, "")
            if value in seen:
                yield f"{path.child(field).index(position).child(key)}: duplicate {key} {quote(value)}"
            seen.add(value)
    for position, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            at = path.child("imagePullSecrets").index(position).child("name")
            yield f'{at}: invalid empty name ""'


def _profiles(spec: Object, annotations: Object, path: Path, *, is_template: bool) -> Warnings:
    """Annotations that have become fields; amounts and variables of each container."""
    context, at = spec.get("securityContext") or {}, path.child("metadata", "annotations")
    key = "seccomp.security.alpha.kubernetes.io/pod"
    if context.get("seccompProfile") is None and key in annotations:
        yield f"{at.key(key)}: {_SECCOMP}"
    for container, where in _containers(spec, path.child("spec")):
        own = container.get("securityContext") or {}
        key = f"container.seccomp.security.alpha.kubernetes.io/{container['name']}"
        if own.get("seccompProfile") is None and key in annotations:
            yield f"{at.key(key)}: {_SECCOMP}"
        key = f"container.apparmor.security.beta.kubernetes.io/{container['name']}"
        armored = own.get("appArmorProfile") is not None or context.get("appArmorProfile") is not None
        if is_template and not armored and key in annotations:
            yield f'{at.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead'
        for name in ("memory", "ephemeral-storage"):
            for side in ("limits", "requests"):
                amounts = (container.get("resources") or {}).get(side)
                yield from fractional_bytes(amounts, name, where.child("resources", side))
        yield from _hidden_variables(container.get("env") or (), where.child("env"))


def _hidden_variables(variables: Sequence[Object], path: Path) -> Warnings:
    seen: set[str] = set()
    for position, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        extends = variable.get("valueFrom") is None and reference in value and value != reference
        if name in seen and not extends:
            hides = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
            yield f"{path.index(position)}: {hides}"
        seen.add(name)


def _ports(spec: Object, path: Path) -> Warnings:
    numbered: dict[tuple[int, str], list[tuple[Path, Object]]] = {}
    for container, where in _containers(spec, path):
        for position, port in enumerate(container.get("ports") or ()):
            at = where.child("ports").index(position)
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{at}: hostIP set without hostPort: {_shown(port)}"
            others = numbered.setdefault((port["containerPort"], port.get("protocol", "")), [])
            for other_path, other in others:
                if clash := _clash(port, other):
                    yield f"{at}: {clash} port definition with {other_path}"
            others.append((at, port))
    named: dict[str, Path] = {}
    for container, where in _containers(spec, path):
        for position, port in enumerate(container.get("ports") or ()):
            at, name = where.child("ports").index(position), port.get("name", "")
            first = named.setdefault(name, at) if name else at
            if first != at:
                effect = f"services and probes that select ports by name will use {first}"
                yield f"{at}: duplicate port name {quote(name)} with {first}, {effect}"


def _shown(port: Object) -> str:
    """How Go writes a port."""
    fields = {"Name": "name", "HostPort": "hostPort", "ContainerPort": "containerPort", "Protocol": "protocol"}
    numbers = ("HostPort", "ContainerPort")
    shown = (f"{name}:{port.get(field, 0 if name in numbers else '')}" for name, field in fields.items())
    return "{" + " ".join(shown) + f" HostIP:{port.get('hostIP', '')}" + "}"


def _clash(port: Object, other: Object) -> str:
    (ip, number), (other_ip, other_number) = ((one.get("hostIP", ""), one.get("hostPort", 0)) for one in (port, other))
    if (ip, number) == (other_ip, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    return "dangerously ambiguous" if number == other_number and bool(ip) != bool(other_ip) else ""


def _pod_affinity(affinity: Object, path: Path) -> Warnings:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        for position, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path.child(side, _REQUIRED).index(position).child('labelSelector')}: {_NO_SELECTOR}"
        for position, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if weighted["podAffinityTerm"].get("labelSelector") is None:
                at = path.child(side, _PREFERRED).index(position).child("podAffinityTerm", "labelSelector")
                yield f"{at}: {_NO_SELECTOR}"
