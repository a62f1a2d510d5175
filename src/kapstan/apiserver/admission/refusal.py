"""How a plugin refuses a write."""

from __future__ import annotations

from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.webhook.invocation import admission_name
from kapstan.apiserver.authz.interface import forbidden_object
from kapstan.machinery.errors import Forbidden

__all__ = ("refused",)


def refused(attributes: AdmissionAttributes, why: str) -> Forbidden:
    """403, naming the object, or what its name will begin with."""
    metadata = (attributes.object or {}).get("metadata") or {}
    name = admission_name(attributes) or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return forbidden_object(attributes.kind.gvr.group_resource, name, why)
