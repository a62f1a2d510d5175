"""Tokens: signed, read and refused."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from kapstan.apiserver.authn.jwt import InvalidToken, Signer, Token, Verifier, encode_segment
from kapstan.machinery.pki import InvalidPEM, KeyAlgorithm, new_signing_key

ALGORITHMS = [(KeyAlgorithm.ECDSA_P256, "ES256"), (KeyAlgorithm.ECDSA_P384, "ES384"), (KeyAlgorithm.RSA_2048, "RS256")]


@pytest.mark.parametrize(("key", "algorithm"), ALGORITHMS)
def test_a_signed_token_checks_with_its_key_and_no_other(key: KeyAlgorithm, algorithm: str) -> None:
    signer, other = Signer(new_signing_key(key).key_pem), Signer(new_signing_key(key).key_pem)
    token = Token(signer.sign({"sub": "x", "n": 1}))
    assert token.header == {"alg": algorithm, "kid": signer.verifier.key_id}
    assert token.claims == {"sub": "x", "n": 1}
    signer.verifier.check(token)
    with pytest.raises(InvalidToken):
        other.verifier.check(token)


def test_p521_keys_work_too() -> None:
    pem = ec.generate_private_key(ec.SECP521R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    signer = Signer(pem)
    token = Token(signer.sign({}))
    signer.verifier.check(token)
    assert token.header["alg"] == "ES512"
    assert len(base64.urlsafe_b64decode(signer.verifier.jwk()["x"] + "==")) == 66


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS256", "ES384", None])
def test_a_token_cannot_choose_its_algorithm(algorithm: str | None) -> None:
    signer = Signer(new_signing_key().key_pem)
    _, payload, signature = signer.sign({"sub": "x"}).split(".")
    header = encode_segment(json.dumps({"alg": algorithm, "kid": signer.verifier.key_id}).encode())
    with pytest.raises(InvalidToken):
        signer.verifier.check(Token(f"{header}.{payload}.{signature}"))


def test_a_changed_claim_breaks_the_signature() -> None:
    signer = Signer(new_signing_key().key_pem)
    header, _, signature = signer.sign({"sub": "x"}).split(".")
    forged = f"{header}.{encode_segment(json.dumps({'sub': 'admin'}).encode())}.{signature}"
    with pytest.raises(InvalidToken):
        signer.verifier.check(Token(forged))


@given(st.text(alphabet="abcXYZ019-_.={} \n", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        token = Token(text)
    except InvalidToken:
        return
    assert isinstance(token.claims, dict)


@pytest.mark.parametrize(
    "text", ["", "a.b", "e30.e30", "e30.e30.e30.e30", "e30=.e30.e30", "W10.e30.", "e30.W10.", "e3 0.e30."]
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(InvalidToken):
        Token(text)


def test_keys_are_described_for_others() -> None:
    """Checked with numbers that another implementation must be able to read back."""
    key = new_signing_key()
    jwk = Verifier(key.public_pem).jwk()
    public = serialization.load_pem_public_key(key.public_pem)
    assert isinstance(public, ec.EllipticCurvePublicKey)
    numbers = public.public_numbers()
    assert (jwk["kty"], jwk["crv"], jwk["alg"], jwk["use"]) == ("EC", "P-256", "ES256", "sig")
    assert int.from_bytes(base64.urlsafe_b64decode(jwk["x"] + "=")) == numbers.x
    assert int.from_bytes(base64.urlsafe_b64decode(jwk["y"] + "=")) == numbers.y


def test_what_is_no_key_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidPEM, match="not an unencrypted PEM private key") as caught:
        Signer(b"-----BEGIN SECRET-----")
    assert "SECRET" not in str(caught.value)
    with pytest.raises(InvalidPEM, match="not a PEM public key"):
        Verifier(b"nonsense")
