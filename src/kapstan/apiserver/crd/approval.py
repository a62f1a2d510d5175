"""Approval: whether a definition in one of Kubernetes' own groups (`*.k8s.io`, `*.kubernetes.io`) may be there.

Nobody is hindered; a condition says what the annotation says, and validation insists that there is one.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ("ANNOTATION", "Approval", "approval")

Object = dict[str, Any]

ANNOTATION = "api-approved.kubernetes.io"
_POLICY = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(NamedTuple):
    """The condition `KubernetesAPIApprovalPolicyConformant`."""

    status: str
    reason: str
    message: str


def approval(crd: Object) -> Approval | None:
    """What is to be said of a definition; nothing, if its group is somebody else's."""
    if not _is_protected(crd["spec"].get("group") or ""):
        return None
    annotation = (crd["metadata"].get("annotations") or {}).get(ANNOTATION) or ""
    needed = f'protected groups must have approval annotation "{ANNOTATION}"'
    if not annotation:
        return Approval("False", "MissingAnnotation", f"{needed}, {_POLICY}")
    if annotation.startswith("unapproved"):
        return Approval("False", "UnapprovedAnnotation", f'not approved: "{annotation}"')
    if _is_url(annotation):
        return Approval("True", "ApprovedAnnotation", f"approved in {annotation}")
    either = 'with either a URL or a reason starting with "unapproved"'
    return Approval("False", "InvalidAnnotation", f"{needed} {either}, {_POLICY}")


def _is_protected(group: str) -> bool:
    return any(group == own or group.endswith(f".{own}") for own in ("k8s.io", "kubernetes.io"))


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
    except ValueError:
        return False
    return bool(url.scheme and url.netloc)
