"""Ingresses and their classes, addresses and ranges of services."""

from __future__ import annotations

import re

from kapstan.apiserver.strategy.validation.addresses import canonical_cidr, ip_address, parse_cidr, parse_ip
from kapstan.apiserver.strategy.validation.common import (
    IMMUTABLE,
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    immutable,
    path_segment,
    port_name_errors,
    port_number,
    prefixed_path,
    struct,
)
from kapstan.machinery.names import dns1123_subdomain_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = (
    "ingress",
    "ingress_class",
    "ingress_class_update",
    "ingress_status",
    "ingress_update",
    "ip_address_object",
    "ip_address_update",
    "service_cidr",
    "service_cidr_update",
)

_SPEC = Path("spec")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_NOT_AN_ADDRESS = "must be a DNS name, not an IP address"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_LABEL}(\.{_LABEL})*"
_WILDCARD_RE = re.compile(_WILDCARD)
_MAX_CONTROLLER = 250


def ingress(obj: Object) -> Rules:
    yield from _ingress(obj)
    named, annotated = obj["spec"].get("ingressClassName"), _class_annotation(obj)
    if annotated is not None and named is not None and annotated != named:
        detail = "must match `ingressClassName` when both are specified"
        yield FieldError.invalid(Path("annotations", _CLASS_ANNOTATION), annotated, detail)


def _class_annotation(obj: Object) -> str | None:
    found: str | None = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    return found


def ingress_update(obj: Object, old: Object) -> Rules:
    return _ingress(obj)


def _ingress(obj: Object) -> Rules:
    spec = obj["spec"]
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        yield FieldError.invalid(_SPEC, None, "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend(backend, _SPEC.child("defaultBackend"))
    for position, rule in enumerate(rules):
        yield from _rule(rule, _SPEC.child("rules").index(position))
    for position, tls in enumerate(spec.get("tls") or ()):
        at = _SPEC.child("tls").index(position)
        for index, host in enumerate(tls.get("hosts") or ()):
            yield from _host(host, at.child("hosts").index(index))
        if tls.get("secretName"):
            yield from dns_subdomain(tls["secretName"], at.child("secretName"))
    if spec.get("ingressClassName") is not None:
        yield from dns_subdomain(spec["ingressClassName"], _SPEC.child("ingressClassName"))


def _host(host: str, path: Path) -> Rules:
    return complaints(host, path, _wildcard_errors if "*" in host else dns1123_subdomain_errors)


def _wildcard_errors(host: str) -> list[str]:
    errors = ["must be no more than 253 characters"] if len(host.encode()) > 253 else []
    if not _WILDCARD_RE.fullmatch(host):
        rule = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        errors.append(f"{rule} (e.g. '*.example.com', regex used for validation is '{_WILDCARD}')")
    return errors


def _rule(rule: Object, path: Path) -> Rules:
    host, http = rule.get("host", ""), rule.get("http")
    if host:
        if parse_ip(host) is not None:
            yield FieldError.invalid(path.child("host"), host, _NOT_AN_ADDRESS)
        yield from _host(host, path.child("host"))
    if http is None:
        return
    at = path.child("http", "paths")
    if not http.get("paths"):
        yield FieldError.required(at)
    for position, one in enumerate(http.get("paths") or ()):
        yield from _path(one, at.index(position))


def _path(one: Object, path: Path) -> Rules:
    kind, text, at = one.get("pathType"), one.get("path", ""), path.child("path")
    if kind is None:
        yield FieldError.required(path.child("pathType"), "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield FieldError.not_supported(path.child("pathType"), kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield FieldError.invalid(at, text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in ("//", "/./", "/../", "%2f", "%2F"):
            if part in text:
                yield FieldError.invalid(at, text, f"must not contain '{part}'")
        for end in ("/..", "/."):
            if text.endswith(end):
                yield FieldError.invalid(at, text, f"cannot end with '{end}'")
    yield from _backend(one["backend"], path.child("backend"))


def _backend(backend: Object, path: Path) -> Rules:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield FieldError.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _reference(resource, path.child("resource"))
    elif service is not None:
        yield from _service_backend(service, path)
    else:
        yield FieldError.invalid(path, "", "resource or service backend is required")


def _service_backend(service: Object, path: Path) -> Rules:
    at = path.child("service")
    if service.get("name"):
        yield from dns_label(service["name"], at.child("name"))
    else:
        yield FieldError.required(at.child("name"))
    wanted = service.get("port") or {}
    if wanted.get("name") and wanted.get("number"):
        yield FieldError.invalid(path, "", "cannot set both port name & port number")
    elif wanted.get("name"):
        yield from complaints(wanted["name"], at.child("port", "name"), port_name_errors)
    elif wanted.get("number"):
        yield from port_number(wanted["number"], at.child("port", "number"))
    else:
        yield FieldError.required(path, "port name or number is required")


def _reference(reference: Object, path: Path, *needed: str) -> Rules:
    """A reference to an object of some group, by its kind and name unless other fields are needed."""
    group = "group" if needed else "apiGroup"
    if reference.get(group) is not None and (reference[group] or not needed):
        yield from dns_subdomain(reference[group], path.child(group))
    for field in needed or ("kind", "name"):
        if reference.get(field):
            yield from path_segment(reference[field], path.child(field))
        else:
            yield FieldError.required(path.child(field))


def ingress_status(obj: Object, old: Object) -> Rules:
    points, path = _points(obj), Path("status", "loadBalancer", "ingress")
    known = {point["ip"] for point in _points(old) if point.get("ip")}
    for position, point in enumerate(points):
        at, host = path.index(position), point.get("hostname", "")
        if point.get("ip"):
            yield from ip_address(point["ip"], at.child("ip"), known)
        if host:
            yield from dns_subdomain(host, at.child("hostname"))
            if parse_ip(host) is not None:
                yield FieldError.invalid(at.child("hostname"), host, _NOT_AN_ADDRESS)


def _points(obj: Object) -> list[Object]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


# Classes --------------------------------------------------------------------------------------------------------------


def ingress_class(obj: Object) -> Rules:
    controller, path = obj["spec"].get("controller", ""), _SPEC.child("controller")
    if len(controller.encode()) > _MAX_CONTROLLER:
        yield FieldError.too_long(path, _MAX_CONTROLLER)
    yield from prefixed_path(controller, path)
    if obj["spec"].get("parameters") is not None:
        yield from _parameters(obj["spec"]["parameters"], _SPEC.child("parameters"))


def _parameters(parameters: Object, path: Path) -> Rules:
    yield from _reference(parameters, path)
    scope, namespace, at = parameters.get("scope"), parameters.get("namespace"), path.child("namespace")
    if scope is None:
        yield FieldError.required(path.child("scope"))
    elif scope not in ("Cluster", "Namespace"):
        yield FieldError.not_supported(path.child("scope"), scope, ("Cluster", "Namespace"))
    elif scope == "Cluster":
        if namespace is not None:
            yield FieldError.forbidden(at, "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield FieldError.required(at, "`parameters.scope` is set to 'Namespace'")
    else:
        yield from dns_label(namespace, at)


def ingress_class_update(obj: Object, old: Object) -> Rules:
    new, before = (one["spec"].get("controller", "") for one in (obj, old))
    yield from immutable(new, before, _SPEC.child("controller"))
    yield from ingress_class(obj)


# Addresses of services ------------------------------------------------------------------------------------------------


def ip_address_object(obj: Object) -> Rules:
    parent, path = obj["spec"].get("parentRef"), _SPEC.child("parentRef")
    if parent is None:
        yield FieldError.required(path)
        return
    yield from _reference(parent, path, "resource", "name")
    if parent.get("namespace"):
        yield from path_segment(parent["namespace"], path.child("namespace"))


def ip_address_update(obj: Object, old: Object) -> Rules:
    new, before = (one["spec"].get("parentRef") for one in (obj, old))
    if new != before:
        fields = ("group", "resource", "namespace", "name")
        shown = struct(**{field.capitalize(): new.get(field, "") for field in fields}) if new is not None else None
        yield FieldError.invalid(_SPEC.child("parentRef"), shown, IMMUTABLE)


def service_cidr(obj: Object) -> Rules:
    return _ranges(obj["spec"].get("cidrs") or [])


def _ranges(ranges: list[str]) -> Rules:
    path = _SPEC.child("cidrs")
    if not ranges:
        yield FieldError.required(path, "at least one CIDR required")
        return
    if len(ranges) > 2:
        yield FieldError.invalid(path, struct(CIDRs=ranges), "may only hold up to 2 values")
        return
    for position, one in enumerate(ranges):
        yield from canonical_cidr(one, path.index(position))
    versions = [found.version for found in map(parse_cidr, ranges) if found is not None]
    if len(versions) == 2 and len(set(versions)) == 1:
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield FieldError.invalid(path, ranges, detail)


def service_cidr_update(obj: Object, old: Object) -> Rules:
    """A second range may be added; nothing else changes."""
    new, before, path = obj["spec"].get("cidrs") or [], old["spec"].get("cidrs") or [], _SPEC.child("cidrs")
    if len(new) == len(before) or (len(new) == 2 and len(before) == 1):
        for position, one in enumerate(before):
            if new[position] != one:
                yield FieldError.invalid(path.index(position), new[position], IMMUTABLE)
        if len(new) != len(before):
            yield from _ranges(new)
    else:
        yield FieldError.invalid(path, new, IMMUTABLE)
