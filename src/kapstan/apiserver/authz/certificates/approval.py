"""Automatic approval: a kubelet gets its client certificate if whoever asks for it may have one.

A bootstrap token asks for a node (`nodeclient`), a node asks again for itself (`selfnodeclient`); RBAC says who may.
"""

from __future__ import annotations

from kapstan.apiserver.authz.certificates.request import SigningRequest
from kapstan.apiserver.authz.certificates.signers import KUBELET_CLIENT, Unacceptable, check
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.request import Attributes

__all__ = ("automatic_approval",)


def automatic_approval(request: SigningRequest, authorizer: Authorizer) -> str:
    """The message of the approval; "" if a person has to decide."""
    if request.signer != KUBELET_CLIENT:
        return ""
    try:
        check(request)
    except Unacceptable:
        return ""
    own = request.requester.name == request.common_name
    if own and _may_create(request, authorizer, "selfnodeclient"):
        return "Auto approving self kubelet client certificate after SubjectAccessReview."
    if _may_create(request, authorizer, "nodeclient"):
        return "Auto approving kubelet client certificate after SubjectAccessReview."
    return ""


def _may_create(request: SigningRequest, authorizer: Authorizer, subresource: str) -> bool:
    attributes = Attributes(
        user=request.requester,
        verb="create",
        group="certificates.k8s.io",
        version="*",
        resource="certificatesigningrequests",
        subresource=subresource,
    )
    return authorizer.authorize(attributes).allowed
