"""The caBundle of a conversion webhook: certificates, or a reason not to serve a definition that needs them."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from kapstan.machinery.pki import InvalidPEM, load_certificates

__all__ = ("bundle_complaint", "has_valid_bundle")

Object = dict[str, Any]


def bundle_complaint(bundle: str) -> str:
    """What is wrong with a bundle (base64 of PEM); "" if nothing is, or there is none."""
    if not bundle:
        return ""
    try:
        pem = base64.b64decode(bundle)
        if b"-----BEGIN " not in pem:
            return "unable to load root certificates: unable to parse bytes as PEM block"
        load_certificates(pem)
    except (binascii.Error, InvalidPEM):
        return "unable to load root certificates: failed to parse certificate: x509: malformed certificate"
    return ""


def has_valid_bundle(crd: Object) -> bool:
    """Whether the webhook of a definition could be called with its bundle."""
    webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
    return not bundle_complaint((webhook.get("clientConfig") or {}).get("caBundle") or "")
