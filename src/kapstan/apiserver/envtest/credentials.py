"""Who is believed by a server that envtest starts: certificates, keys and tokens from the files that its flags name."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from kapstan.apiserver.credentials import ISSUER, Credentials
from kapstan.apiserver.envtest.flags import Flags
from kapstan.apiserver.request import UserInfo
from kapstan.machinery.errors import ConfigError
from kapstan.machinery.pki import (
    InvalidPEM,
    KeyPair,
    load_certificates,
    load_key_pair,
    load_signing_key,
    new_ca,
    new_signing_key,
)

__all__ = ("FileCredentials", "static_tokens")


class FileCredentials(Credentials):
    """Serves with somebody else's certificate, and accepts clients of their authority besides its own."""

    def __init__(self, flags: Flags) -> None:
        signing = flags.file("service-account-signing-key-file")
        self._clients = flags.file("client-ca-file")
        try:
            super().__init__(new_ca("kubernetes"), load_signing_key(signing) if signing else new_signing_key())
            self._pair = _pair(flags)
            if self._clients:
                load_certificates(self._clients)
        except InvalidPEM as error:
            raise ConfigError(f"cannot use the certificates and keys that were given: {error}") from error
        self.issuer = flags.values.get("service-account-issuer", ISSUER)

    @property
    def client_authorities(self) -> bytes:
        return self.ca.cert_pem + self._clients

    def serving(self, hosts: Iterable[str]) -> KeyPair:
        return self._pair or super().serving(hosts)


def static_tokens(flags: Flags) -> dict[str, UserInfo]:
    """Users by their token."""
    try:
        lines = list(csv.reader(flags.file("token-auth-file").decode().splitlines(), skipinitialspace=True))
    except (UnicodeDecodeError, csv.Error):
        raise ConfigError("--token-auth-file: the file is no text of comma-separated values") from None
    return {row[0]: _user(row) for row in lines if row}


def _user(row: Sequence[str]) -> UserInfo:
    if len(row) < 3 or not row[0]:
        raise ConfigError("--token-auth-file: a line needs a token, a user name and a uid")
    groups = tuple(group.strip() for group in row[3].split(",")) if len(row) > 3 and row[3] else ()
    return UserInfo(row[1], row[2], groups)


def _pair(flags: Flags) -> KeyPair | None:
    """The certificate to serve with; None if one has to be made."""
    certificate, key = flags.file("tls-cert-file"), flags.file("tls-private-key-file")
    if not certificate and "cert-dir" in flags.values:
        folder = Path(flags.values["cert-dir"])
        certificate, key = _read_if_there(folder / "apiserver.crt"), _read_if_there(folder / "apiserver.key")
    return load_key_pair(certificate, key) if certificate else None


def _read_if_there(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(f"--cert-dir: cannot read {path}: {error.strerror}") from error
