"""Which signatures of a certificate request prove that somebody has its key."""

from __future__ import annotations

import base64

import pytest

from kapstan.apiserver.authz.certificates.request import InvalidRequest, parse

# openssl req -new -newkey rsa:2048 -nodes -sha1 -subj /CN=old: cryptography makes none with SHA-1 any more.
SHA1 = """\
-----BEGIN CERTIFICATE REQUEST-----
MIICUzCCATsCAQAwDjEMMAoGA1UEAwwDb2xkMIIBIjANBgkqhkiG9w0BAQEFAAOC
AQ8AMIIBCgKCAQEA2UqFynl1L3uCt5YaaBMdDEZldzDwbpnsgXa7BcDc1G2jGbfP
5fCiZky1ktisjUDlhTLCqerkgMr/Xw394PYlCtIan9pEqN6e4oj6ZQDGgwESEaeC
TxrryIXHoQRXZZb8U75bMt7oXB9tThfKBkR0e26dXQkv/pHCPnd1bCY5raWmJZUz
GXRveHK9uJGNrbe1w56u9oxYpoWeOZRdSrqfxr4FcNwFU9PzHp4oE1b+pllxCQYa
iiLE5VkjfrzIlHffj/4GdFPrDhfQ4RXxP8WwBzFnlf3Urzmg/TUQUDEhdbkzBXKP
3SOoOyvg1nR1JaqN0s8PwYgyWtlGhSbHyYM1TwIDAQABoAAwDQYJKoZIhvcNAQEF
BQADggEBAF9D6sdXi+/uRpAHE/IFKFhQE2c3T9oQ5FevwUew1DnASRmzatYcW23/
1BGBpPqBKDtBc0E7NHreDyozt1a6Z0Ebn46Qe9XkeV6jA+104xyG1ky0NZbdXrkz
gL9ik1Z4vUtHtkE8WxNeznTY3wJQgqppQpOsvqKHh/nixkbl23SlYQDIsDrQPqnt
AyhDKiEZK7PpFYcHlJNxt90EqaUP7n2P9T/5JJaRskMP4YUYVnrEqtxzyeg+XYKb
jGW/lRaQNCPNrEmUAeASC+HF28V+7+KcHyJwTA8/UcSRasG1nUgGjbw5MOgprlH/
+frfJpItQ2pWeqhhptFeEzzbyF7ghLo=
-----END CERTIFICATE REQUEST-----
"""


def encoded(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()


def test_sha1_will_do_as_in_go() -> None:
    assert parse(encoded(SHA1)).subject.rfc4514_string() == "CN=old"


def test_a_signature_of_somebody_else_will_not() -> None:
    """The last letters of the signature are other ones."""
    head, _, tail = SHA1.rpartition("\n-----END")
    forged = f"{head[:-12]}{'A' * 10}{head[-2:]}\n-----END{tail}"
    with pytest.raises(InvalidRequest, match="not signed with its own key"):
        parse(encoded(forged))
