"""JSON Web Tokens, signed and checked with the keys of service accounts.

Only what Kubernetes issues: the compact form, ES256, ES384, ES512 and RS256, keys found by `kid`. The algorithm follows
from the key and never from the token, so a token cannot choose a weaker one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from kapstan.machinery.pki import InvalidPEM

__all__ = ("InvalidToken", "Signer", "Token", "Verifier", "encode_segment")

_PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
_CURVES: dict[str, tuple[str, str, hashes.HashAlgorithm]] = {
    "secp256r1": ("P-256", "ES256", hashes.SHA256()),
    "secp384r1": ("P-384", "ES384", hashes.SHA384()),
    "secp521r1": ("P-521", "ES512", hashes.SHA512()),
}


class InvalidToken(ValueError):
    """The token proves nothing; the text says why and holds nothing of the token."""


class Token:
    """The parts of a token; nothing in it may be believed before its signature was checked."""

    __slots__ = ("claims", "header", "signature", "signed")

    def __init__(self, text: str) -> None:
        """InvalidToken if the text has not the form of one."""
        segments = text.split(".")
        if len(segments) != 3:
            raise InvalidToken("not a JSON Web Token")
        try:
            self.header: dict[str, Any] = msgspec.json.decode(_decode_segment(segments[0]), type=dict[str, Any])
            self.claims: dict[str, Any] = msgspec.json.decode(_decode_segment(segments[1]), type=dict[str, Any])
            self.signature = _decode_segment(segments[2])
        except (binascii.Error, ValueError) as error:
            raise InvalidToken("not a JSON Web Token") from error
        self.signed = f"{segments[0]}.{segments[1]}".encode()


class Verifier:
    """A public key that checks tokens, and its description for those who check elsewhere."""

    def __init__(self, public_pem: bytes) -> None:
        self._key = _load_public(public_pem)
        der = self._key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = encode_segment(hashlib.sha256(der).digest())
        self.algorithm = "RS256" if isinstance(self._key, rsa.RSAPublicKey) else _CURVES[self._key.curve.name][1]

    def check(self, token: Token) -> None:
        """InvalidToken unless this key's owner signed it."""
        if token.header.get("alg") != self.algorithm:
            raise InvalidToken(f"the key {self.key_id} does not sign with this algorithm")
        try:
            if isinstance(self._key, rsa.RSAPublicKey):
                self._key.verify(token.signature, token.signed, padding.PKCS1v15(), hashes.SHA256())
            else:
                hash_algorithm = _CURVES[self._key.curve.name][2]
                self._key.verify(self._asn1(token.signature), token.signed, ec.ECDSA(hash_algorithm))
        except InvalidSignature as error:
            raise InvalidToken("the signature is wrong") from error

    def jwk(self) -> dict[str, str]:
        """As JSON Web Key."""
        shared = {"use": "sig", "kty": "EC", "kid": self.key_id}
        if isinstance(self._key, rsa.RSAPublicKey):
            numbers = self._key.public_numbers()
            key = {"alg": self.algorithm, "n": _encode_int(numbers.n), "e": _encode_int(numbers.e)}
            return shared | {"kty": "RSA"} | key
        point, size = self._key.public_numbers(), _coordinate_size(self._key)
        curve = {"crv": _CURVES[self._key.curve.name][0], "alg": self.algorithm}
        return shared | curve | {"x": _encode_int(point.x, size), "y": _encode_int(point.y, size)}

    def _asn1(self, signature: bytes) -> bytes:
        """Tokens hold the two numbers side by side, cryptography wants them as ASN.1."""
        assert isinstance(self._key, ec.EllipticCurvePublicKey)
        size = _coordinate_size(self._key)
        if len(signature) != 2 * size:
            raise InvalidToken("the signature has the wrong length")
        return encode_dss_signature(int.from_bytes(signature[:size]), int.from_bytes(signature[size:]))


class Signer:
    """A private key that signs tokens."""

    def __init__(self, key_pem: bytes) -> None:
        try:
            key = serialization.load_pem_private_key(key_pem, password=None)
        except (ValueError, TypeError) as error:
            raise InvalidPEM("the service-account key is not an unencrypted PEM private key") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise InvalidPEM("the service-account key is neither an ECDSA nor an RSA key")
        self._key = key
        self.verifier = Verifier(
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )

    def sign(self, claims: dict[str, Any]) -> str:
        header = {"alg": self.verifier.algorithm, "kid": self.verifier.key_id}
        signed = f"{encode_segment(msgspec.json.encode(header))}.{encode_segment(_payload(claims))}"
        return f"{signed}.{encode_segment(self._signature(signed.encode()))}"

    def _signature(self, data: bytes) -> bytes:
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(_CURVES[self._key.curve.name][2])))
        size = _coordinate_size(self._key.public_key())
        return r.to_bytes(size) + s.to_bytes(size)


def encode_segment(data: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode_segment(text: str) -> bytes:
    if len(text) % 4 == 1 or "=" in text:
        raise ValueError("not base64url without padding")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _payload(claims: dict[str, Any]) -> bytes:
    """Sorted, as Go writes maps."""
    return msgspec.json.encode(claims, order="sorted")


def _encode_int(number: int, size: int = 0) -> str:
    return encode_segment(number.to_bytes(size or (number.bit_length() + 7) // 8))


def _coordinate_size(key: ec.EllipticCurvePublicKey) -> int:
    return (key.key_size + 7) // 8


def _load_public(pem: bytes) -> _PublicKey:
    try:
        key = serialization.load_pem_public_key(pem)
    except ValueError as error:
        raise InvalidPEM("the service-account key is not a PEM public key") from error
    if isinstance(key, rsa.RSAPublicKey):
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return key
    raise InvalidPEM("the service-account key is neither RSA nor ECDSA on the curves P-256, P-384 or P-521")
