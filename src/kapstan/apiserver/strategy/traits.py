"""Traits: the small differences between built-in kinds, as one table.

What is not in the table has Kubernetes' most common answer: names are DNS subdomains, PUT changes but never creates and
needs no resourceVersion, and nothing counts generations.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kapstan.apiserver.strategy.base import FieldPath, GarbageCollection
from kapstan.apiserver.strategy.validation.addresses import canonical_ip
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.names import NameCheck, name_is_dns_label, name_is_dns_subdomain, name_is_path_segment
from kapstan.machinery.validation import Path

__all__ = ("TRAITS", "Traits", "traits_of")

_METADATA: FieldPath = ("metadata",)
_SPEC: FieldPath = ("spec",)


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What is particular about a kind without any code of its own."""

    name: NameCheck = name_is_dns_subdomain
    generation: tuple[str, ...] = ()  # the parts whose changes count as a new generation; none if there is no counter
    first_generation: int = 1
    create_on_update: bool = False  # PUT on a missing name creates
    unconditional_update: bool = True  # PUT needs no resourceVersion
    garbage_collection: GarbageCollection = "DeleteDependents"
    keeps_status_on_create: bool = False  # a new object may bring its status
    status_resets: tuple[FieldPath, ...] = (_SPEC,)  # what `/status` leaves as it was


def any_name(name: str, prefix: bool = False) -> list[str]:
    """No rule: whatever fits into a URL, which is checked before."""
    return []


def named_by_address(name: str, prefix: bool = False) -> list[str]:
    """Addresses, in the form that everybody writes alike."""
    return [error.detail for error in canonical_ip(name, Path())]


_PATH_NAMED = Traits(name=name_is_path_segment, create_on_update=True)
_SPEC_COUNTED = Traits(generation=("spec",))
_STRICT = Traits(unconditional_update=False)
_STATUS_ONLY = (_METADATA, _SPEC)

_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_STORAGE = "storage.k8s.io"
_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"
_NETWORKING = "networking.k8s.io"
_RESOURCE = "resource.k8s.io"


TRAITS: Mapping[GroupResource, Traits] = {
    GroupResource("", "endpoints"): Traits(create_on_update=True),
    GroupResource("", "events"): Traits(
        name=name_is_path_segment, create_on_update=True, garbage_collection="Unsupported"
    ),
    GroupResource("", "limitranges"): Traits(create_on_update=True),
    GroupResource("", "namespaces"): Traits(name=name_is_dns_label),
    GroupResource("", "nodes"): Traits(keeps_status_on_create=True),
    GroupResource("", "pods"): Traits(
        generation=("spec",),
        status_resets=(_SPEC, ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ),
    GroupResource("", "podtemplates"): Traits(generation=("template",)),
    GroupResource("", "replicationcontrollers"): Traits(generation=("spec",), garbage_collection="OrphanDependents"),
    GroupResource("", "services"): Traits(name=name_is_dns_label, create_on_update=True),
    GroupResource("events.k8s.io", "events"): Traits(create_on_update=True, garbage_collection="Unsupported"),
    GroupResource(_ADMISSION, "mutatingadmissionpolicies"): Traits(generation=("spec",), unconditional_update=False),
    GroupResource(_ADMISSION, "mutatingadmissionpolicybindings"): Traits(
        generation=("spec",), unconditional_update=False
    ),
    GroupResource(_ADMISSION, "mutatingwebhookconfigurations"): Traits(
        generation=("webhooks",), unconditional_update=False
    ),
    GroupResource(_ADMISSION, "validatingadmissionpolicies"): Traits(
        generation=("spec",), unconditional_update=False, status_resets=_STATUS_ONLY
    ),
    GroupResource(_ADMISSION, "validatingadmissionpolicybindings"): Traits(
        generation=("spec",), unconditional_update=False
    ),
    GroupResource(_ADMISSION, "validatingwebhookconfigurations"): Traits(
        generation=("webhooks",), unconditional_update=False
    ),
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): Traits(
        generation=("spec",), unconditional_update=False
    ),
    GroupResource("apiregistration.k8s.io", "apiservices"): Traits(
        name=name_is_path_segment, unconditional_update=False, status_resets=_STATUS_ONLY
    ),
    GroupResource("apps", "daemonsets"): _SPEC_COUNTED,
    GroupResource("apps", "deployments"): Traits(
        generation=("spec", "metadata.annotations"), status_resets=(_SPEC, ("metadata", "labels"))
    ),
    GroupResource("apps", "replicasets"): _SPEC_COUNTED,
    GroupResource("apps", "statefulsets"): Traits(name=name_is_dns_label, generation=("spec",)),
    GroupResource("batch", "cronjobs"): _SPEC_COUNTED,
    GroupResource("batch", "jobs"): Traits(generation=("spec",), garbage_collection="OrphanDependents"),
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): Traits(
        name=any_name, status_resets=(_SPEC, ("status", "conditions"))
    ),
    GroupResource("coordination.k8s.io", "leases"): Traits(create_on_update=True, unconditional_update=False),
    GroupResource("discovery.k8s.io", "endpointslices"): Traits(
        generation=("addressType", "endpoints", "ports", "metadata.labels")
    ),
    GroupResource(_FLOWCONTROL, "flowschemas"): Traits(generation=("spec",), status_resets=_STATUS_ONLY),
    GroupResource(_FLOWCONTROL, "prioritylevelconfigurations"): Traits(
        generation=("spec",), status_resets=_STATUS_ONLY
    ),
    GroupResource(_NETWORKING, "ingressclasses"): _SPEC_COUNTED,
    GroupResource(_NETWORKING, "ingresses"): _SPEC_COUNTED,
    GroupResource(_NETWORKING, "ipaddresses"): Traits(name=named_by_address),
    GroupResource(_NETWORKING, "networkpolicies"): _SPEC_COUNTED,
    GroupResource(_NETWORKING, "servicecidrs"): Traits(status_resets=_STATUS_ONLY),
    GroupResource("node.k8s.io", "runtimeclasses"): Traits(create_on_update=True, unconditional_update=False),
    GroupResource("policy", "poddisruptionbudgets"): Traits(generation=("spec",), unconditional_update=False),
    GroupResource(_RBAC, "clusterrolebindings"): _PATH_NAMED,
    GroupResource(_RBAC, "clusterroles"): _PATH_NAMED,
    GroupResource(_RBAC, "rolebindings"): _PATH_NAMED,
    GroupResource(_RBAC, "roles"): _PATH_NAMED,
    GroupResource(_RESOURCE, "deviceclasses"): _SPEC_COUNTED,
    GroupResource(_RESOURCE, "resourceclaims"): Traits(status_resets=_STATUS_ONLY),
    GroupResource(_RESOURCE, "resourceslices"): _SPEC_COUNTED,
    GroupResource("scheduling.k8s.io", "priorityclasses"): Traits(generation=("metadata.generation",)),
    GroupResource(_STORAGE, "csidrivers"): Traits(generation=("spec",), first_generation=0, unconditional_update=False),
    GroupResource(_STORAGE, "csinodes"): _STRICT,
    GroupResource(_STORAGE, "csistoragecapacities"): _STRICT,
    GroupResource(_STORAGE, "volumeattachments"): Traits(unconditional_update=False, status_resets=_STATUS_ONLY),
}

_ORDINARY = Traits()


def traits_of(resource: GroupResource) -> Traits:
    return TRAITS.get(resource, _ORDINARY)
