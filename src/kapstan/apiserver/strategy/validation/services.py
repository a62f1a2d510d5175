"""Services: which fields go with which type, and what may not change once it is given out."""

from __future__ import annotations

from collections.abc import Sequence

from kapstan.apiserver.strategy.services.fields import is_external, needs_health_check
from kapstan.apiserver.strategy.validation.addresses import cidr, ip_address, parse_ip
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    dns_label,
    dns_subdomain,
    labels,
    one_of,
    port,
    port_number,
    qualified_name,
    struct,
)
from kapstan.machinery.validation import FieldError, Path

__all__ = ("cluster_ips", "endpoint_ip", "service", "service_status", "service_update")

_SPEC = Path("spec")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_MAX_AFFINITY = 86_400
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


def service(obj: Object) -> Rules:
    return _service(obj, None)


def service_update(obj: Object, old: Object) -> Rules:
    spec, before = obj["spec"], old["spec"]
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        yield from _address_change(spec, before)
        yield from _family_change(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        new_class, old_class = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
        if new_class != old_class:
            yield FieldError.invalid(_SPEC.child("loadBalancerClass"), new_class, "may not change once set")
    yield from _balancer_class(spec)
    stays_checked = needs_health_check(before) and needs_health_check(spec)
    if stays_checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        yield FieldError.forbidden(_SPEC.child("healthCheckNodePort"), "field is immutable")
    yield from _service(obj, old)


def _is_headless(spec: Object) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def _service(obj: Object, old: Object | None) -> Rules:
    spec = obj["spec"]
    kind, ports = spec.get("type", ""), spec.get("ports") or []
    if not ports and not _is_headless(spec) and kind != "ExternalName":
        yield FieldError.required(_SPEC.child("ports"))
    yield from _type_rules(spec, kind)
    names: set[str] = set()
    for position, one in enumerate(ports):
        yield from _port(one, len(ports) > 1, names, _SPEC.child("ports").index(position))
    yield from labels(spec.get("selector"), _SPEC.child("selector"))
    yield from _affinity(spec)
    yield from cluster_ips(spec)
    for position, address in enumerate(spec.get("externalIPs") or ()):
        at = _SPEC.child("externalIPs").index(position)
        wrong = list(ip_address(address, at))
        yield from wrong or endpoint_ip(address, at)
    yield from one_of(kind, _SPEC.child("type"), ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))
    yield from _port_numbers(kind, ports)
    yield from _source_ranges(obj, kind)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield FieldError.forbidden(_SPEC.child("allocateLoadBalancerNodePorts"), _ONLY_BALANCED)
    yield from _balancer_class(spec)
    yield from _traffic(spec)


def _type_rules(spec: Object, kind: str) -> Rules:
    if kind in ("LoadBalancer", "NodePort"):
        if _is_headless(spec):
            detail = f"may not be set to 'None' for {kind} services"
            yield FieldError.invalid(_SPEC.child("clusterIPs").index(0), "None", detail)
    elif kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                yield FieldError.forbidden(_SPEC.child(field), "may not be set for ExternalName services")
        name = spec.get("externalName", "").removesuffix(".")
        if name:
            yield from dns_subdomain(name, _SPEC.child("externalName"))
        else:
            yield FieldError.required(_SPEC.child("externalName"))


def _port(one: Object, needs_name: bool, names: set[str], path: Path) -> Rules:
    name = one.get("name", "")
    if needs_name and not name:
        yield FieldError.required(path.child("name"))
    elif name:
        yield from dns_label(name, path.child("name"))
        if name in names:
            yield FieldError.duplicate(path.child("name"), name)
        names.add(name)
    yield from port_number(one["port"], path.child("port"))
    yield from one_of(one.get("protocol"), path.child("protocol"), _PROTOCOLS)
    yield from port(one["targetPort"], path.child("targetPort"))
    if one.get("appProtocol") is not None:
        yield from qualified_name(one["appProtocol"], path.child("appProtocol"))


def _affinity(spec: Object) -> Rules:
    kind, path = spec.get("sessionAffinity"), _SPEC.child("sessionAffinityConfig")
    yield from one_of(kind, _SPEC.child("sessionAffinity"), ("ClientIP", "None"))
    config = spec.get("sessionAffinityConfig")
    if kind == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
        if seconds is not None and not 0 < seconds <= _MAX_AFFINITY:
            at = path.child("clientIP", "timeoutSeconds")
            yield FieldError.invalid(at, seconds, f"must be greater than 0 and less than {_MAX_AFFINITY}")
    elif kind == "None" and config is not None:
        yield FieldError.forbidden(path, "must not be set when session affinity is None")


def cluster_ips(spec: Object) -> Rules:
    """The addresses of a service and their families; the server checks them before it gives any out."""
    if spec.get("type") == "ExternalName":
        return
    one, many, path = spec.get("clusterIP", ""), spec.get("clusterIPs") or [], _SPEC.child("clusterIPs")
    if one and not many:
        yield FieldError.required(path)
    elif one and many[0] != one:
        yield FieldError.invalid(path, many, "first value must match `clusterIP`")
    elif not one and many:
        yield FieldError.invalid(path, many, "must be empty when `clusterIP` is not specified")
    yield from _families(spec)
    wrong = list(_addresses(many, path))
    yield from wrong
    if len(many) > 2:
        yield FieldError.invalid(path, many, "may only hold up to 2 values")
    if not wrong and many and many[0] != "None":
        yield from _address_families(spec, many, path)


def _families(spec: Object) -> Rules:
    seen: set[str] = set()
    for position, family in enumerate(spec.get("ipFamilies") or ()):
        at = _SPEC.child("ipFamilies").index(position)
        if family not in ("IPv4", "IPv6"):
            yield FieldError.not_supported(at, family, ("IPv4", "IPv6"))
        if family in seen:
            yield FieldError.duplicate(at, family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        yield FieldError.not_supported(_SPEC.child("ipFamilyPolicy"), policy, _FAMILY_POLICIES)


def _addresses(many: Sequence[str], path: Path) -> Rules:
    for position, address in enumerate(many):
        if position == 0 and address == "None":
            if len(many) > 1:
                yield FieldError.invalid(path, many, "'None' must be the first and only value")
        else:
            yield from ip_address(address, path.index(position))


def _address_families(spec: Object, many: Sequence[str], path: Path) -> Rules:
    versions = [address.version for address in map(parse_ip, many) if address is not None]
    if len(versions) > 1 and len(set(versions)) == 1:
        yield FieldError.invalid(path, many, "may specify no more than one IP for each IP family")
    for position, (address, family) in enumerate(zip(many, spec.get("ipFamilies") or (), strict=False)):
        if family in ("IPv4", "IPv6") and family != f"IPv{versions[position]}":
            detail = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
            yield FieldError.invalid(path.index(position), address, detail)


def endpoint_ip(text: str, path: Path) -> Rules:
    """An address that can be reached from elsewhere."""
    address = parse_ip(text)
    if address is None:
        yield FieldError.invalid(path, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        yield FieldError.invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield FieldError.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield FieldError.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if text.startswith("224.0.0.") or (address.version == 6 and text.lower().startswith("ff02:")):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield FieldError.invalid(path, text, detail)


def _port_numbers(kind: str, ports: Sequence[Object]) -> Rules:
    path = _SPEC.child("ports")
    if kind == "ClusterIP":
        for position, one in enumerate(ports):
            if one.get("nodePort"):
                at = path.index(position).child("nodePort")
                yield FieldError.forbidden(at, "may not be used when `type` is 'ClusterIP'")
    node_ports: set[tuple[str, int]] = set()
    for position, one in enumerate(ports):
        key = (one.get("protocol", ""), one.get("nodePort", 0))
        if key[1] and key in node_ports:
            yield FieldError.duplicate(path.index(position).child("nodePort"), key[1])
        node_ports.add(key)
    seen: set[tuple[str, int]] = set()
    for position, one in enumerate(ports):
        key = (one.get("protocol", ""), one["port"])
        if key in seen:
            shown = struct(Name="", Protocol=key[0], AppProtocol=None, Port=key[1], TargetPort=0, NodePort=0)
            yield FieldError.duplicate(path.index(position), shown)
        seen.add(key)


def _source_ranges(obj: Object, kind: str) -> Rules:
    ranges = obj["spec"].get("loadBalancerSourceRanges") or ()
    path = _SPEC.child("LoadBalancerSourceRanges")
    if ranges and kind != "LoadBalancer":
        yield FieldError.forbidden(path, _ONLY_BALANCED)
    for position, value in enumerate(ranges):
        yield from cidr(value.strip(), path.index(position))


def _balancer_class(spec: Object) -> Rules:
    name, path = spec.get("loadBalancerClass"), _SPEC.child("loadBalancerClass")
    if name is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from qualified_name(name, path)
    else:
        yield FieldError.forbidden(path, _ONLY_BALANCED)


def _traffic(spec: Object) -> Rules:
    policy, path = spec.get("externalTrafficPolicy", ""), _SPEC.child("externalTrafficPolicy")
    if is_external(spec):
        yield from one_of(policy, path, ("Cluster", "Local"))
    elif policy:
        yield FieldError.invalid(path, policy, "may only be set for externally-accessible services")
    node_port, at = spec.get("healthCheckNodePort", 0), _SPEC.child("healthCheckNodePort")
    if not needs_health_check(spec):
        if node_port:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield FieldError.invalid(at, node_port, detail)
    elif not node_port:
        yield FieldError.required(at)
    else:
        yield from port_number(node_port, at)
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in ("Cluster", "Local"):
        yield FieldError.not_supported(_SPEC.child("internalTrafficPolicy"), internal, ("Cluster", "Local"))
    distribution = spec.get("trafficDistribution")
    supported = ("PreferClose", "PreferSameZone", "PreferSameNode")
    if distribution is not None and distribution not in supported:
        yield FieldError.not_supported(_SPEC.child("trafficDistribution"), distribution, supported)


def _address_change(spec: Object, before: Object) -> Rules:
    if _is_headless(spec) and _is_headless(before):
        return
    new, old, path = spec.get("clusterIPs") or [], before.get("clusterIPs") or [], _SPEC.child("clusterIPs")
    if len(new) == len(old):
        for position, address in enumerate(old):
            if address != new[position]:
                yield FieldError.invalid(path.index(position), new, "may not change once set")
        return
    if len(old) > len(new) and not new:
        yield FieldError.invalid(path.index(0), None, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        yield FieldError.invalid(path.index(0), new, "may not change once set")
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield FieldError.invalid(_SPEC.child("ipFamilyPolicy"), spec.get("ipFamilyPolicy"), detail)


def _family_change(spec: Object, before: Object) -> Rules:
    if _is_headless(spec) or _is_headless(before):
        return
    new, old, path = spec.get("ipFamilies") or [], before.get("ipFamilies") or [], _SPEC.child("ipFamilies")
    if new and old and new[0] != old[0]:
        yield FieldError.invalid(path.index(0), new, "may not change once set")


def service_status(obj: Object, old: Object) -> Rules:
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    path = Path("status", "loadBalancer", "ingress")
    if points and obj["spec"].get("type") != "LoadBalancer":
        yield FieldError.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for position, point in enumerate(points):
        at, address, mode = path.index(position), point.get("ip", ""), point.get("ipMode")
        if address:
            yield from ip_address(address, at.child("ip"))
        if mode is None:
            if address:
                yield FieldError.required(at.child("ipMode"), "must be specified when `ip` is set")
        elif not address:
            yield FieldError.forbidden(at.child("ipMode"), "may not be specified when `ip` is not set")
        elif mode not in ("Proxy", "VIP"):
            yield FieldError.not_supported(at.child("ipMode"), mode, ("Proxy", "VIP"))
        if point.get("hostname"):
            yield from dns_subdomain(point["hostname"], at.child("hostname"))
            if parse_ip(point["hostname"]) is not None:
                detail = "must be a DNS name, not an IP address"
                yield FieldError.invalid(at.child("hostname"), point["hostname"], detail)
