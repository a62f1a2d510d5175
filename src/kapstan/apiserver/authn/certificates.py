"""Client certificates: the common name is the user, the organizations are the groups.

The TLS layer has checked the signature; what is left is what the certificate says, and whether it is still in force: a
connection may outlive it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

from kapstan.apiserver.authn.identity import CREDENTIAL_ID
from kapstan.apiserver.request import UserInfo

__all__ = ("InvalidCertificate", "user_of")

_UID = ObjectIdentifier("1.3.6.1.4.1.57683.2")


class InvalidCertificate(ValueError):
    """The certificate names nobody, or is not in force."""


class _Identity(NamedTuple):
    user: UserInfo | None
    not_before: datetime
    not_after: datetime


def user_of(certificate: bytes, now: datetime) -> UserInfo | None:
    """Whom a verified client certificate (DER) stands for; None if it has no common name."""
    identity = _identity(certificate)
    if not identity.not_before <= now <= identity.not_after:
        raise InvalidCertificate("the client certificate has expired or is not yet valid")
    return identity.user


@lru_cache(maxsize=1024)
def _identity(der: bytes) -> _Identity:
    certificate = x509.load_der_x509_certificate(der)
    return _Identity(_user(certificate, der), certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def _user(certificate: x509.Certificate, der: bytes) -> UserInfo | None:
    names = _values(certificate, NameOID.COMMON_NAME)
    uids = _values(certificate, _UID)
    if not names or not names[-1]:
        return None
    if len(uids) > 1 or "" in uids:
        raise InvalidCertificate("the client certificate has several UIDs or an empty one")
    return UserInfo(
        names[-1],
        uid=uids[0] if uids else "",
        groups=tuple(_values(certificate, NameOID.ORGANIZATION_NAME)),
        extra={CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)},
    )


def _values(certificate: x509.Certificate, oid: ObjectIdentifier) -> list[str]:
    values = [attribute.value for attribute in certificate.subject.get_attributes_for_oid(oid)]
    return [value if isinstance(value, str) else value.decode("utf-8", "replace") for value in values]
