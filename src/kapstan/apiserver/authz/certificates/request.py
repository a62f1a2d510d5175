"""A CertificateSigningRequest: whom it is from, whom the certificate shall name and what it shall be for."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from kapstan.apiserver.request import UserInfo

__all__ = ("CONDITION_TRUE", "InvalidRequest", "SigningRequest", "has_condition")

CONDITION_TRUE = "True"


class InvalidRequest(ValueError):
    """The request is none, or was not signed with the key that it is about."""


class SigningRequest:
    """The parts of a CertificateSigningRequest that decide about it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """InvalidRequest if `spec.request` cannot be read."""
        spec = document.get("spec") or {}
        self.name: str = document["metadata"]["name"]
        self.signer: str = spec.get("signerName", "")
        self.usages = frozenset(spec.get("usages") or ())
        self.expiration_seconds: int | None = spec.get("expirationSeconds")
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        self.requester = UserInfo(spec.get("username", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)
        self.x509 = parse(spec.get("request", ""))

    @cached_property
    def common_name(self) -> str:
        values = self._subject(NameOID.COMMON_NAME)
        return values[-1] if values else ""

    @cached_property
    def organizations(self) -> list[str]:
        return self._subject(NameOID.ORGANIZATION_NAME)

    @cached_property
    def alternative_names(self) -> list[x509.GeneralName]:
        try:
            return list(self.x509.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
        except x509.ExtensionNotFound:
            return []

    def has_name_of(self, kind: type[x509.GeneralName]) -> bool:
        return any(isinstance(name, kind) for name in self.alternative_names)

    def _subject(self, oid: x509.ObjectIdentifier) -> list[str]:
        return [str(attribute.value) for attribute in self.x509.subject.get_attributes_for_oid(oid)]


def parse(encoded: str) -> x509.CertificateSigningRequest:
    """From base64 of PEM, as JSON carries it."""
    try:
        pem = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest("the request is not base64") from error
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in pem:
        raise InvalidRequest("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_pem_x509_csr(pem)
    except ValueError as error:
        raise InvalidRequest(f"the certificate request cannot be read: {error}") from error
    if not _has_own_signature(request):
        raise InvalidRequest("the certificate request was not signed with its own key")
    return request


def _has_own_signature(request: x509.CertificateSigningRequest) -> bool:
    """As in Go, SHA-1 will do here: the signature proves no more than that somebody has the key."""
    key = request.public_key()
    if not isinstance(request.signature_hash_algorithm, hashes.SHA1) or not isinstance(key, rsa.RSAPublicKey):
        return request.is_signature_valid
    try:
        key.verify(request.signature, request.tbs_certrequest_bytes, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303
    except InvalidSignature:
        return False
    return True


def has_condition(document: Mapping[str, Any], kind: str) -> bool:
    conditions = (document.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == kind and one.get("status", CONDITION_TRUE) == CONDITION_TRUE for one in conditions)
