"""API services: which group and version is served by whom."""

from __future__ import annotations

import base64

from kapstan.apiserver.strategy.validation.common import Object, Rules, complaints, dns_subdomain, range_error
from kapstan.machinery.golang import quote
from kapstan.machinery.names import dns1035_label_errors
from kapstan.machinery.validation import FieldError, Path

__all__ = ("api_service", "api_service_status", "api_service_update")

_SPEC = Path("spec")
_STATUSES = ("True", "False", "Unknown")


def api_service(obj: Object) -> Rules:
    spec = obj["spec"]
    group, version, name = spec.get("group", ""), spec.get("version", ""), obj["metadata"].get("name", "")
    if name and name != f"{version}.{group}":
        detail = f'must be `spec.version+"."+spec.group`: {quote(f"{version}.{group}")}'
        yield FieldError.invalid(Path("metadata", "name"), name, detail)
    if group:
        yield from dns_subdomain(group, _SPEC.child("group"))
    elif version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        yield FieldError.required(_SPEC.child("group"), detail)
    yield from complaints(version, _SPEC.child("version"), dns1035_label_errors)
    for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1000)):
        if not 0 < spec.get(field, 0) <= most:
            yield FieldError.invalid(_SPEC.child(field), spec.get(field, 0), f"must be positive and less than {most}")
    yield from _service(spec)


def _service(spec: Object) -> Rules:
    service, bundle = spec.get("service"), spec.get("caBundle") or ""
    insecure, at = spec.get("insecureSkipTLSVerify", False), _SPEC.child("insecureSkipTLSVerify")
    if service is None:
        if bundle:
            size = f"{len(base64.b64decode(bundle))} bytes"
            yield FieldError.invalid(_SPEC.child("caBundle"), size, "local APIServices may not have a caBundle")
        if insecure:
            yield FieldError.invalid(at, insecure, "local APIServices may not have insecureSkipTLSVerify")
        return
    for field in ("namespace", "name"):
        if not service.get(field):
            yield FieldError.required(_SPEC.child("service", field))
    port = service.get("port", 0)
    if not 1 <= port <= 65535:
        detail = f"port is not valid: {range_error(1, 65535)}"
        yield FieldError.invalid(_SPEC.child("service", "port"), port, detail)
    if insecure and bundle:
        yield FieldError.invalid(at, insecure, "may not be true if caBundle is present")


def api_service_update(obj: Object, old: Object) -> Rules:
    return api_service(obj)


def api_service_status(obj: Object, old: Object) -> Rules:
    for position, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        if condition.get("status") not in _STATUSES:
            path = Path("status", "conditions").index(position).child("status")
            yield FieldError.not_supported(path, condition.get("status", ""), _STATUSES)
