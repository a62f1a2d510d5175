"""Fields of a service that belong together: one follows from others, or has no meaning without them."""

from __future__ import annotations

from typing import Any

from kapstan.apiserver.strategy.merging import restore

__all__ = (
    "drop_type_dependent",
    "is_external",
    "keep_allocated",
    "needs_cluster_ip",
    "needs_health_check",
    "needs_node_ports",
    "normalize_cluster_ips",
    "wants_node_ports",
)

Object = dict[str, Any]


def needs_cluster_ip(spec: Object) -> bool:
    return bool(spec.get("type") != "ExternalName")


def needs_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def wants_node_ports(spec: Object) -> bool:
    """Whether ports that have no node port get one."""
    if spec.get("type") == "LoadBalancer":
        return bool(spec.get("allocateLoadBalancerNodePorts", True))
    return spec.get("type") == "NodePort"


def needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_external(spec: Object) -> bool:
    """Whether the service is reached from outside of the cluster."""
    return needs_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def normalize_cluster_ips(spec: Object, old: Object | None) -> None:
    """`clusterIP` is the first of `clusterIPs`; clients may know only the one."""
    one, many = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if old is None:
        if one and not many:
            spec["clusterIPs"] = [one]
        return
    old_one, old_many = old.get("clusterIP") or "", old.get("clusterIPs") or []
    if old_many and not many and old_one == one:
        spec["clusterIPs"] = many = list(old_many)
    if old_one != one and many == old_many:
        if old_one and not one:
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [one]


def keep_allocated(spec: Object, old: Object) -> None:
    """Who sends a service again as it was before it got its addresses and ports keeps them."""
    if needs_cluster_ip(old) and needs_cluster_ip(spec):
        if not spec.get("clusterIP"):
            restore(spec, old, "clusterIP")
        if not spec.get("clusterIPs") and old.get("clusterIPs"):
            spec["clusterIPs"] = list(old["clusterIPs"])
    if needs_node_ports(old) and needs_node_ports(spec):
        _keep_node_ports(spec, old)
    if needs_health_check(old) and needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        restore(spec, old, "healthCheckNodePort")


def _keep_node_ports(spec: Object, old: Object) -> None:
    ports, old_ports = spec.get("ports") or [], old.get("ports") or []
    used = {port.get("nodePort", 0) for port in ports} & {port.get("nodePort", 0) for port in old_ports}
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in old_ports}
    for port in ports:
        before = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before


def drop_type_dependent(service: Object, old_service: Object) -> None:
    """What a service of another type had and nobody changed is dropped when its type changes."""
    spec, old = service["spec"], old_service["spec"]
    if needs_cluster_ip(old) and not needs_cluster_ip(spec):
        _drop_same(spec, old, "clusterIP", "clusterIPs")
        _drop_same(spec, old, "ipFamilies")
        _drop_same(spec, old, "ipFamilyPolicy")
        _drop_same(spec, old, "internalTrafficPolicy")
    if needs_node_ports(old) and not needs_node_ports(spec):
        _drop_node_ports(spec, old)
    if needs_health_check(old) and not needs_health_check(spec):
        _drop_same(spec, old, "healthCheckNodePort")
    if old.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_same(spec, old, "allocateLoadBalancerNodePorts")
        _drop_same(spec, old, "loadBalancerClass")
    if is_external(old) and not is_external(spec):
        _drop_same(spec, old, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer":
        service["status"] = {**service["status"], "loadBalancer": {}}


def _drop_same(spec: Object, old: Object, *names: str) -> None:
    if all(spec.get(name) == old.get(name) for name in names):
        for name in names:
            spec.pop(name, None)


def _drop_node_ports(spec: Object, old: Object) -> None:
    ports = spec.get("ports") or []
    before = {port.get("nodePort", 0) for port in old.get("ports") or ()}
    if all(port.get("nodePort", 0) in before | {0} for port in ports):
        for port in ports:
            port.pop("nodePort", None)
