"""Certificates and keys that do not belong together, in the words of Go's TLS library."""

from __future__ import annotations

import base64
import binascii
import re

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

__all__ = ("key_pair_error",)

_BLOCK = re.compile(rb"-----BEGIN ([^-\n]+)-----\n.*?-----END \1-----", re.DOTALL)


def key_pair_error(certificate: str, key: str) -> str:
    """What is wrong with a pair in base64; nothing if that is the empty text."""
    try:
        cert_pem, key_pem = base64.b64decode(certificate), base64.b64decode(key)
    except binascii.Error:
        return ""
    kinds = [match[1].decode() for match in _BLOCK.finditer(cert_pem)]
    if "CERTIFICATE" not in kinds:
        return _no_certificate(kinds)
    found = [match[1].decode() for match in _BLOCK.finditer(key_pem)]
    if not any(kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY") for kind in found):
        return _no_key(found)
    return _mismatch(cert_pem, key_pem)


def _no_certificate(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched"
        )
    return f'tls: failed to find "CERTIFICATE" PEM block in certificate input {_skipped(kinds)}'


def _no_key(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if kinds == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return f'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input {_skipped(kinds)}'


def _skipped(kinds: list[str]) -> str:
    return f"after skipping PEM blocks of the following types: [{' '.join(kinds)}]"


def _mismatch(cert_pem: bytes, key_pem: bytes) -> str:
    try:
        certificate = x509.load_pem_x509_certificate(cert_pem)
    except ValueError:
        return "x509: malformed certificate"
    try:
        private = load_pem_private_key(key_pem, None)
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    shape = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if certificate.public_key().public_bytes(*shape) != private.public_key().public_bytes(*shape):
        return "tls: private key does not match public key"
    return ""
