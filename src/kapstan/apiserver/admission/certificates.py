"""Certificate signing requests: who may approve and sign for which signer, and whom no client certificate may name."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID

from kapstan.apiserver.admission.interface import AdmissionAttributes, Plugin, Targets
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.authn.identity import MASTERS
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.request import Attributes, UserInfo
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource

__all__ = ("CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction")

_GROUP = "certificates.k8s.io"
_REQUESTS = GroupResource(_GROUP, "certificatesigningrequests")
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"

Object = dict[str, Any]


class _ForSigner(Plugin):
    """An update that needs a right on the signer."""

    verb: str

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def changes(self, old: Object, new: Object) -> bool:
        return True

    async def validate(self, attributes: AdmissionAttributes) -> None:
        old, new = attributes.old, attributes.object
        assert old is not None
        assert new is not None
        signer = old["spec"]["signerName"]
        if self.changes(old, new) and not self._allowed(attributes.user, signer):
            raise refused(attributes, f"user not permitted to {self.verb} requests with signerName {quote(signer)}")

    def _allowed(self, user: UserInfo, signer: str) -> bool:
        """On the signer itself, or on all of its domain."""
        domain = signer.partition("/")[0]
        return any(
            self._authorizer.authorize(
                Attributes(user=user, verb=self.verb, group=_GROUP, version="*", resource="signers", name=name)
            ).allowed
            for name in (signer, f"{domain}/*")
        )


class CertificateApproval(_ForSigner):
    """Approving or denying needs `approve` on the signer."""

    targets = Targets(("UPDATE",), (_REQUESTS,), ("approval",))
    verb = "approve"


class CertificateSigning(_ForSigner):
    """Writing a certificate or a condition needs `sign` on the signer."""

    targets = Targets(("UPDATE",), (_REQUESTS,), ("status",))
    verb = "sign"

    def changes(self, old: Object, new: Object) -> bool:
        before, after = old.get("status") or {}, new.get("status") or {}
        return any((before.get(key) or None) != (after.get(key) or None) for key in ("certificate", "conditions"))


class CertificateSubjectRestriction(Plugin):
    """Nobody becomes a master by way of a request."""

    targets = Targets(("CREATE",), (_REQUESTS,))

    async def validate(self, attributes: AdmissionAttributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        try:
            request = x509.load_pem_x509_csr(base64.b64decode(spec.get("request") or ""))
        except (ValueError, binascii.Error) as error:
            raise refused(attributes, f"failed to parse CSR: {error}") from error
        groups = [group.value for group in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        if MASTERS in groups:
            raise refused(attributes, f"use of {_CLIENT_SIGNER} signer with {MASTERS} group is not allowed")
