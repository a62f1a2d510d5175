"""Pods: their spec, of their own and in templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kapstan.apiserver.schema.objectmeta import validate_labels
from kapstan.apiserver.strategy.resources import aggregate, is_huge_page
from kapstan.apiserver.strategy.validation.addresses import ip_address
from kapstan.apiserver.strategy.validation.common import (
    Object,
    Rules,
    complaints,
    dns_label,
    dns_subdomain,
    in_range,
    labels,
    one_of,
    qualified_name,
    struct,
)
from kapstan.apiserver.strategy.validation.containers import (
    PodContext,
    containers,
    ephemeral_containers,
    image_spaces,
    init_containers,
)
from kapstan.apiserver.strategy.validation.resources import pod_resource_name, requirements
from kapstan.apiserver.strategy.validation.scheduling import affinity, spread_constraints, tolerations
from kapstan.apiserver.strategy.validation.security import pod_security
from kapstan.apiserver.strategy.validation.volumes import volumes
from kapstan.machinery.names import qualified_name_errors
from kapstan.machinery.quantity import Quantity
from kapstan.machinery.validation import FieldError, Path

__all__ = ("pod_create", "pod_metadata_and_spec", "pod_spec", "pod_template")

_SPEC = Path("spec")
_MAX_INT32 = 2**31 - 1
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_ANNOTATIONS_LIMIT = 256 * 1024
_SEARCH_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*"
_LINEAR_LABEL = "_?[a-z0-9][-_a-z0-9]*+(?<![-_])"
_SEARCH_RE = re.compile(rf"{_LINEAR_LABEL}(?:\.{_LINEAR_LABEL})*+")


def pod_create(pod: Object) -> Rules:
    yield from pod_metadata_and_spec(pod)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        yield FieldError.forbidden(_SPEC.child("ephemeralContainers"), "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield FieldError.forbidden(_SPEC.child("nodeName"), detail)


def pod_metadata_and_spec(pod: Object) -> Rules:
    metadata, spec = pod["metadata"], pod["spec"]
    yield from _annotations(metadata.get("annotations") or {}, spec, Path("metadata", "annotations"))
    yield from pod_spec(spec, metadata, _SPEC, is_pod=True)
    if not spec.get("serviceAccountName"):
        yield from _tokens_without_account(spec.get("volumes") or (), _SPEC.child("volumes"))
    for field in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            yield from image_spaces(container, _SPEC.child(field).index(position))


def _annotations(annotations: Object, spec: Object, path: Path) -> Rules:
    if _MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield FieldError.invalid(path.key(_MIRROR), annotations[_MIRROR], detail)
    cost = annotations.get(_DELETION_COST, "0")
    if not cost.lstrip("-").isdecimal() or not -(2**31) <= int(cost) <= _MAX_INT32:
        yield FieldError.invalid(path.key(_DELETION_COST), cost, "must be a 32bit integer")


def _tokens_without_account(found: Sequence[Object], path: Path) -> Rules:
    for position, volume in enumerate(found):
        for index, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                at = path.index(position).child("projected", "sources").index(index).child("serviceAccountToken")
                yield FieldError.forbidden(at, "must not be specified when serviceAccountName is not set")


def pod_template(template: Object, path: Path) -> Rules:
    """A template of pods: its labels, annotations and spec."""
    metadata = template["metadata"]
    yield from labels(metadata.get("labels"), path.child("labels"))
    annotations, at = metadata.get("annotations") or {}, path.child("annotations")
    for key in annotations:
        for complaint in qualified_name_errors(key.lower()):
            yield FieldError.invalid(at, key, complaint)
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield FieldError.too_long(at, _ANNOTATIONS_LIMIT)
    yield from _annotations(annotations, template["spec"], at)
    yield from pod_spec(template["spec"], None, path.child("spec"))
    if template["spec"].get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        yield FieldError.forbidden(path.child("spec", "ephemeralContainers"), detail)


def pod_spec(spec: Object, metadata: Object | None, path: Path, *, is_pod: bool = False) -> Rules:
    """In Kubernetes' order: what is in the pod first, then how it runs, then where."""
    good, wrong = volumes(spec.get("volumes") or (), metadata, path.child("volumes"), is_pod=is_pod)
    yield from wrong
    claims = [one.get("name", "") for one in spec.get("resourceClaims") or () if one.get("name")]
    yield from _resource_claims(spec.get("resourceClaims") or (), path.child("resourceClaims"))
    context = PodContext(
        volumes=good,
        claim_names=claims,
        grace_period=spec.get("terminationGracePeriodSeconds", 30),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers", True),
        os=(spec.get("os") or {}).get("name"),
    )
    yield from containers(spec.get("containers"), context, path.child("containers"))
    yield from init_containers(
        spec.get("initContainers"), spec.get("containers"), context, path.child("initContainers")
    )
    yield from ephemeral_containers(spec.get("ephemeralContainers"), spec, context, path.child("ephemeralContainers"))
    yield from _pod_resources(spec, claims, path.child("resources"))
    yield from _host_network(spec, path.child("containers"), is_pod=is_pod)
    yield from one_of(spec.get("restartPolicy"), path.child("restartPolicy"), _RESTART_POLICIES)
    yield from one_of(spec.get("dnsPolicy"), path.child("dnsPolicy"), _DNS_POLICIES)
    yield from validate_labels(spec.get("nodeSelector") or {}, path.child("nodeSelector"))
    yield from pod_security(spec.get("securityContext") or {}, spec, path.child("securityContext"))
    yield from affinity(spec.get("affinity"), path.child("affinity"))
    yield from _dns_config(spec, path.child("dnsConfig"))
    yield from _gates(spec, path)
    yield from spread_constraints(spec.get("topologySpreadConstraints") or (), path.child("topologySpreadConstraints"))
    yield from _host_users(spec, path)
    yield from _names(spec, path)


def _resource_claims(claims: Sequence[Object], path: Path) -> Rules:
    names: set[str] = set()
    for position, claim in enumerate(claims):
        at, name = path.index(position), claim.get("name", "")
        if not name:
            yield FieldError.required(at.child("name"))
        elif name in names:
            yield FieldError.duplicate(at.child("name"), name)
        else:
            yield from dns_label(name, at.child("name"))
            names.add(name)
        fields = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
        shown = struct(
            Name=name,
            ResourceClaimName=claim.get("resourceClaimName"),
            ResourceClaimTemplateName=claim.get("resourceClaimTemplateName"),
        )
        if len(fields) == 2:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield FieldError.invalid(at, shown, detail)
        if not fields:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield FieldError.invalid(at, shown, detail)
        for field in fields:
            yield from dns_subdomain(claim[field], at.child(field))


def _pod_resources(spec: Object, claims: Sequence[str], path: Path) -> Rules:
    resources = spec.get("resources")
    if resources is None:
        return
    if resources.get("claims"):
        yield FieldError.forbidden(path.child("claims"), "claims may not be set for Resources at pod-level")
    yield from requirements(resources, path, pod_resource_name, claims)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in aggregate(spec, "requests").items():
        if name in requests and Quantity(amount) > Quantity(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {amount}"
            yield FieldError.invalid(path.child("requests").key(name), requests[name], detail)
    for name, amount in aggregate(spec, "limits").items():
        if is_huge_page(name) and name in limits and Quantity(amount) > Quantity(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {amount}"
            yield FieldError.invalid(path.child("limits").key(name), limits[name], detail)
    for position, container in enumerate(spec.get("containers") or ()):
        for name, limit in (container["resources"].get("limits") or {}).items():
            if name in limits and Quantity(limit) > Quantity(limits[name]):
                at = path.child("containers").index(position).key(name).child("limits")
                yield FieldError.invalid(at, limit, f"must be less than or equal to pod limits of {limits[name]}")


def _host_network(spec: Object, path: Path, *, is_pod: bool) -> Rules:
    if not spec.get("hostNetwork"):
        return
    for position, container in enumerate(spec.get("containers") or ()):
        for index, one in enumerate(container.get("ports") or ()):
            host = one.get("hostPort", 0)
            if (is_pod or host) and host != one["containerPort"]:
                at = path.index(position).child("ports").index(index).child("hostPort")
                yield FieldError.invalid(at, host, "must match `containerPort` when `hostNetwork` is true")


def _dns_config(spec: Object, path: Path) -> Rules:
    config, policy = spec.get("dnsConfig"), spec.get("dnsPolicy")
    if policy == "None" and config is None:
        yield FieldError.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if policy == "None" and not servers:
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield FieldError.required(path.child("nameservers"), detail)
        return
    if len(servers) > 3:
        yield FieldError.invalid(path.child("nameservers"), servers, "must not have more than 3 nameservers")
    for position, server in enumerate(servers):
        yield from ip_address(server, path.child("nameservers").index(position))
    yield from _searches(searches, path.child("searches"))
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield FieldError.required(path.child("options").index(position), "must not be empty")


def _searches(searches: Sequence[str], path: Path) -> Rules:
    if len(searches) > 32:
        yield FieldError.invalid(path, searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        yield FieldError.invalid(path, searches, detail)
    for position, search in enumerate(searches):
        if search != ".":
            yield from complaints(search.removesuffix("."), path.index(position), _search_errors)


def _search_errors(search: str) -> list[str]:
    """A domain in which underscores are let pass, as in the names of service records."""
    errors = ["must be no more than 253 characters"] if len(search.encode()) > 253 else []
    if not _SEARCH_RE.fullmatch(search):
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
            "must start and end with an alphanumeric character"
        )
        errors.append(f"{rule} (e.g. 'example.com', regex used for validation is '{_SEARCH}')")
    return errors


def _gates(spec: Object, path: Path) -> Rules:
    for position, gate in enumerate(spec.get("readinessGates") or ()):
        at = path.child("readinessGates").index(position).child("conditionType")
        yield from qualified_name(gate.get("conditionType", ""), at)
    seen: set[str] = set()
    for position, gate in enumerate(spec.get("schedulingGates") or ()):
        at, name = path.child("schedulingGates").index(position), gate.get("name", "")
        yield from qualified_name(name, at)
        if name in seen:
            yield FieldError.duplicate(at, name)
        seen.add(name)


def _host_users(spec: Object, path: Path) -> Rules:
    if spec.get("hostUsers", True):
        return
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield FieldError.forbidden(path.child(shown), "when `hostUsers` is false")
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            if container.get("volumeDevices"):
                at = path.child(field).index(position).child("volumeDevices")
                yield FieldError.forbidden(at, "when `hostUsers` is false")


def _names(spec: Object, path: Path) -> Rules:
    """Names of other objects, and the last few fields."""
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            yield from dns_subdomain(spec[field], path.child(field))
    yield from in_range(spec.get("activeDeadlineSeconds"), path.child("activeDeadlineSeconds"), 1, _MAX_INT32)
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            yield from dns_label(spec[field], path.child(field))
    yield from tolerations(spec.get("tolerations") or (), path.child("tolerations"))
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        at = path.child("hostAliases").index(position)
        yield from ip_address(alias.get("ip", ""), at.child("ip"))
        for index, name in enumerate(alias.get("hostnames") or ()):
            yield from dns_subdomain(name, at.child("hostnames").index(index))
    if spec.get("priorityClassName"):
        yield from dns_subdomain(spec["priorityClassName"], path.child("priorityClassName"))
    if spec.get("runtimeClassName") is not None:
        yield from dns_subdomain(spec["runtimeClassName"], path.child("runtimeClassName"))
    if spec.get("preemptionPolicy") is not None:
        supported = ("PreemptLowerPriority", "Never")
        yield from one_of(spec["preemptionPolicy"], path.child("preemptionPolicy"), supported)
    overhead: Any = spec.get("overhead")
    if overhead is not None:
        yield from requirements({"limits": overhead}, path.child("overhead"))
    yield from _os(spec.get("os"), path.child("os"))


def _os(os: Object | None, path: Path) -> Rules:
    if os is None:
        return
    if not os.get("name"):
        yield FieldError.required(path.child("name"))
    elif os["name"] not in ("linux", "windows"):
        yield FieldError.not_supported(path, os["name"], ("linux", "windows"))
