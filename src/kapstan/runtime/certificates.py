"""Serving certificates: from files that are read again when they change, or made for this process alone."""

from __future__ import annotations

import asyncio
import logging
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kapstan.machinery.errors import ConfigError
from kapstan.runtime.metrics import Registry

__all__ = ("CertificateFiles", "self_signed_context", "server_context")

log = logging.getLogger(__name__)

POLL = 10.0  # seconds; a Secret that is mounted arrives within a minute or two anyway


def server_context() -> ssl.SSLContext:
    """TLS as a server should speak it, without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class CertificateFiles:
    """A certificate and its key in files. A change is used for connections that begin after it."""

    def __init__(self, certificate: Path, key: Path, *, what: str, metrics: Registry | None = None) -> None:
        self.context = server_context()
        self._files, self._what = (certificate, key), what
        self._seen: tuple[bytes, bytes] | None = None
        registry = metrics or Registry()
        self._reads = registry.counter(
            "certwatcher_read_certificate_total", "Total number of certificate reads"
        ).labels()
        self._errors = registry.counter(
            "certwatcher_read_certificate_errors_total", "Total number of certificate read errors"
        ).labels()

    def load(self) -> None:
        """Read the files; ConfigError says what is wrong with them."""
        self._reads.inc()
        try:
            content = tuple(file.read_bytes() for file in self._files)
        except OSError as error:
            self._errors.inc()
            raise ConfigError(
                f"the {self._what} certificate cannot be read: {error.filename}: {error.strerror}; "
                "mount it there, name another folder, or have one made (self-signed)"
            ) from error
        if content == self._seen:
            return
        try:
            self.context.load_cert_chain(*self._files)
        except ssl.SSLError as error:
            self._errors.inc()
            raise ConfigError(
                f"the {self._what} certificate {self._files[0]} and its key {self._files[1]} do not fit: {error.reason}"
            ) from error
        if self._seen is not None:
            log.info("The %s certificate has changed and is used from now on", self._what)
        self._seen = (content[0], content[1])

    async def run(self) -> None:
        """Look for changes until cancelled. What cannot be read leaves the last certificate in use."""
        while True:
            await asyncio.sleep(POLL)
            try:
                self.load()
            except ConfigError as error:
                log.warning("%s", error)


def self_signed_context(names: Sequence[str] = ("localhost",)) -> ssl.SSLContext:
    """TLS with a certificate that nobody signed but us, valid for this process: better than none."""
    from kapstan.machinery.pki import Usage, new_ca

    pair = new_ca("kapstan self-signed").issue(
        names[0], dns_names=names, ip_addresses=["127.0.0.1"], usages=[Usage.SERVER]
    )
    context = server_context()
    with tempfile.TemporaryDirectory(prefix="kapstan-") as folder:  # OpenSSL reads files only; readable by us alone
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        certificate.write_bytes(pair.cert_pem)
        key.touch(mode=0o600)
        key.write_bytes(pair.key_pem)
        context.load_cert_chain(certificate, key)
    return context
