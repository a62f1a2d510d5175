"""Warnings of kinds that are not pods."""

from __future__ import annotations

from kapstan.apiserver.strategy.warnings.common import (
    DEPRECATED_LABELS,
    Object,
    Warnings,
    address_warning,
    node_term_labels,
    range_warnings,
)
from kapstan.apiserver.strategy.warnings.keypairs import key_pair_error
from kapstan.apiserver.strategy.warnings.pods import claim_size
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import Path

__all__ = (
    "account_warnings",
    "balancer_warnings",
    "capacity_warnings",
    "claim_warnings",
    "driver_warnings",
    "endpoints_warnings",
    "ingress_warnings",
    "node_warnings",
    "policy_warnings",
    "quota_warnings",
    "runtime_warnings",
    "secret_warnings",
    "service_warnings",
    "slice_warnings",
    "static_name_warnings",
    "storage_class_warnings",
    "volume_warnings",
)

_SPEC = Path("spec")
_ANNOTATIONS = Path("metadata", "annotations")
_CLASS = "volume.beta.kubernetes.io/storage-class"
_CLASS_MESSAGE = 'deprecated since v1.8; use "storageClassName" attribute instead'
_HINTS = "service.kubernetes.io/topology-aware-hints"
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_VOLUMES = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


def _annotations(obj: Object) -> Object:
    return obj["metadata"].get("annotations") or {}


def service_warnings(obj: Object, old: Object | None) -> Warnings:
    spec = obj["spec"]
    kind, external = spec.get("type", ""), spec.get("externalIPs") or ()
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if _HINTS in _annotations(obj):
        yield f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    else:
        for position, address in enumerate(spec.get("clusterIPs") or ()):
            yield from address_warning(address, _SPEC.child("clusterIPs").index(position))
    for position, address in enumerate(external):
        yield from address_warning(address, _SPEC.child("externalIPs").index(position))
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from address_warning(spec.get("loadBalancerIP", ""), _SPEC.child("loadBalancerIP"))
    for position, one in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from range_warnings(one, _SPEC.child("loadBalancerSourceRanges").index(position))
    if kind == "ExternalName" and external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def balancer_warnings(obj: Object, old: Object | None) -> Warnings:
    """Addresses in the status of services and ingresses."""
    path = Path("status", "loadBalancer", "ingress")
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    for position, point in enumerate(points):
        yield from address_warning(point.get("ip", ""), path.index(position))


def secret_warnings(obj: Object, old: Object | None) -> Warnings:
    if obj.get("type") != "kubernetes.io/tls":
        return
    data = obj.get("data") or {}
    if why := key_pair_error(data.get("tls.crt", ""), data.get("tls.key", "")):
        yield why


def node_warnings(obj: Object, old: Object | None) -> Warnings:
    spec = obj["spec"]
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for position, one in enumerate(spec.get("podCIDRs") or ()):
        yield from range_warnings(one, _SPEC.child("podCIDRs").index(position))


def volume_warnings(obj: Object, old: Object | None) -> Warnings:
    mount_options = "volume.beta.kubernetes.io/mount-options"
    for key, message in (
        (_CLASS, _CLASS_MESSAGE),
        (mount_options, 'deprecated since v1.31; use "mountOptions" attribute instead'),
    ):
        if key in _annotations(obj):
            yield f"{_ANNOTATIONS.key(key)}: {message}"
    spec = obj["spec"]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        advice = "Instead, the recommended approach is to use dynamic provisioning."
        yield f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {advice}"
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for position, term in enumerate(terms):
        at = _SPEC.child("nodeAffinity", "required", "nodeSelectorTerms").index(position)
        yield from node_term_labels(term, at)
    for kind, message in _VOLUMES.items():
        if spec.get(kind) is not None:
            yield f"{_SPEC.child('storageOS' if kind == 'storageos' else kind)}: {message}"


def claim_warnings(obj: Object, old: Object | None) -> Warnings:
    if _CLASS in _annotations(obj):
        yield f"{_ANNOTATIONS.key(_CLASS)}: {_CLASS_MESSAGE}"
    yield from claim_size(obj["spec"], _SPEC)


def account_warnings(obj: Object, old: Object | None) -> Warnings:
    if _MOUNTABLE in _annotations(obj) and (old is None or _MOUNTABLE not in _annotations(old)):
        advice = "prefer separate namespaces to isolate access to mounted secrets"
        yield f"{_ANNOTATIONS.key(_MOUNTABLE)}: deprecated in v1.32+; {advice}"


def endpoints_warnings(obj: Object, old: Object | None) -> Warnings:
    for position, subset in enumerate(obj.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for index, address in enumerate(subset.get(field) or ()):
                at = Path("subsets").index(position).child(field).index(index).child("ip")
                yield from address_warning(address["ip"], at)


def quota_warnings(obj: Object, old: Object | None) -> Warnings:
    hard = obj["spec"].get("hard") or {}
    if old is not None:
        return
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        request = f"requests.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        limit = f"limits.{name}"
        if request in hard and limit in hard and Quantity(hard[request]) > Quantity(hard[limit]):
            yield f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"


def slice_warnings(obj: Object, old: Object | None) -> Warnings:
    if old is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    for position, endpoint in enumerate(obj.get("endpoints") or ()):
        for index, address in enumerate(endpoint.get("addresses") or ()):
            at = Path("endpoints").index(position).child("addresses").index(index)
            yield from address_warning(address, at)


def ingress_warnings(obj: Object, old: Object | None) -> Warnings:
    if old is None and _INGRESS_CLASS in _annotations(obj) and obj["spec"].get("ingressClassName") is None:
        yield f"annotation \"{_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


def policy_warnings(obj: Object, old: Object | None) -> Warnings:
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for position, rule in enumerate(obj["spec"].get(direction) or ()):
            for index, peer in enumerate(rule.get(side) or ()):
                block = peer.get("ipBlock") or {}
                at = _SPEC.child(direction).index(position).child(side).index(index).child("ipBlock")
                yield from range_warnings(block.get("cidr", ""), at.child("cidr"))
                for number, excepted in enumerate(block.get("except") or ()):
                    yield from range_warnings(excepted, at.child("except").index(number))


def runtime_warnings(obj: Object, old: Object | None) -> Warnings:
    for key in sorted((obj.get("scheduling") or {}).get("nodeSelector") or ()):
        if key in DEPRECATED_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"


def driver_warnings(obj: Object, old: Object | None) -> Warnings:
    spec = obj["spec"]
    requests = spec.get("tokenRequests")
    if old is not None and requests == old["spec"].get("tokenRequests"):
        return
    if requests and spec.get("serviceAccountTokenInSecrets") is None:
        advice = "set to true to prevent possible logging of tokens in volume attributes"
        yield f"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, {advice}"


def storage_class_warnings(obj: Object, old: Object | None) -> Warnings:
    for position, topology in enumerate(obj.get("allowedTopologies") or ()):
        for index, expression in enumerate(topology.get("matchLabelExpressions") or ()):
            key = expression.get("key", "")
            if key in DEPRECATED_LABELS:
                at = Path("allowedTopologies").index(position).child("matchLabelExpressions").index(index)
                yield f"{at.child('key')}: {DEPRECATED_LABELS[key]}"


def capacity_warnings(obj: Object, old: Object | None) -> Warnings:
    topology, path = obj.get("nodeTopology") or {}, Path("nodeTopology")
    yield from node_term_labels(topology, path)
    for key in sorted(topology.get("matchLabels") or ()):
        if key in DEPRECATED_LABELS:
            yield f"{path.child('matchLabels', key)}: {DEPRECATED_LABELS[key]}"


def static_name_warnings(obj: Object, old: Object | None) -> Warnings:
    if obj["metadata"].get("name", "").endswith(".static.k8s.io"):
        reserved = "are reserved for static manifest-based configurations and cannot be managed via the API"
        yield f'metadata.name: names ending with ".static.k8s.io" {reserved}'
