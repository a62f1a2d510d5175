"""An authority of our own for webhooks, so that nobody needs cert-manager.

It makes a certificate authority and a serving certificate, keeps both in a Secret that all replicas share, renews
them in time, writes the certificate to where the webhook server reads it, and tells the API server to trust it, in
webhook configurations and CRDs. A new authority is added to the bundle before anything is signed with it and an old
one stays until it ends, so that at no moment a certificate is served that the API server does not trust.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from kapstan.client.client import Client
from kapstan.client.interface import Patch
from kapstan.k8s.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.k8s.core_v1 import Secret
from kapstan.machinery import pki
from kapstan.machinery.errors import AlreadyExists, Conflict, KapstanError
from kapstan.machinery.gvk import ObjectKey
from kapstan.machinery.meta import ObjectMeta
from kapstan.runtime.options import Certificate

__all__ = ("Authority", "AuthorityOptions")

log = logging.getLogger(__name__)

CHECK = 60.0  # seconds between two looks; three or four small reads


class AuthorityOptions(Struct, frozen=True, kw_only=True):
    """What is signed, where it is kept, and who shall trust it."""

    secret: ObjectKey
    service: str = ""  # in the Secret's namespace: the API server calls webhooks by its name
    dns_names: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    mutating: tuple[str, ...] = ()  # names of MutatingWebhookConfigurations
    validating: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()  # names of CustomResourceDefinitions with conversion webhooks
    ca_validity: timedelta = timedelta(days=3650)
    validity: timedelta = timedelta(days=365)

    @property
    def names(self) -> tuple[str, ...]:
        if not self.service:
            return self.dns_names
        name, namespace = self.service, self.secret.namespace
        return (
            f"{name}.{namespace}.svc",
            f"{name}.{namespace}",
            f"{name}.{namespace}.svc.cluster.local",
            *self.dns_names,
        )


class _Material(Struct, frozen=True):
    """What the Secret holds."""

    bundle: bytes  # every authority that is trusted, the one that signs first
    authority: pki.CertificateAuthority
    serving: pki.KeyPair

    @property
    def data(self) -> dict[str, bytes]:
        return {
            "ca.crt": self.bundle,
            "ca.key": self.authority.key_pem,
            "tls.crt": self.serving.cert_pem,
            "tls.key": self.serving.key_pem,
        }


class Authority:
    """Keeps webhooks certified."""

    def __init__(self, client: Client, options: AuthorityOptions, folder: str = "") -> None:
        self._client, self._options = client, options
        self._folder = Path(folder or tempfile.mkdtemp(prefix="kapstan-webhook-"))

    @property
    def certificate(self) -> Certificate:
        """Where the webhook server finds its certificate."""
        return Certificate(str(self._folder))

    async def run(self) -> None:
        """Look after everything until cancelled."""
        while True:
            await asyncio.sleep(CHECK)
            try:
                await self.ensure()
            except KapstanError as error:
                log.warning("Webhook certificates could not be looked after, trying again: %s", error)

    async def ensure(self) -> None:
        """Have a valid certificate in the Secret, in the folder, and trusted."""
        material = await self._stored()
        self._write(material)
        await self._trust(material.bundle)

    # --- The Secret -------------------------------------------------------------------------------------------------

    async def _stored(self) -> _Material:
        """What the Secret holds, made or renewed if need be. If another replica was faster, what that one made."""
        for _ in range(5):
            key = self._options.secret
            secret = await self._client.find(Secret, key.name, key.namespace)
            current = None if secret is None else _load(secret)
            wanted = self._renewed(current)
            if secret is not None and wanted is current:
                return wanted
            try:
                await self._store(secret, wanted)
            except (AlreadyExists, Conflict):
                continue
            return wanted
        raise KapstanError(f"Secret {self._options.secret} is changed by others faster than it can be renewed")

    async def _store(self, secret: Secret | None, material: _Material) -> None:
        key = self._options.secret
        if secret is None:
            metadata = ObjectMeta(name=key.name, namespace=key.namespace)
            await self._client.create(Secret(metadata=metadata, type="kubernetes.io/tls", data=material.data))
            log.info("Made a certificate authority for webhooks in Secret %s", key)
            return
        version = {"resourceVersion": secret.metadata.resource_version}
        await self._client.patch(secret, Patch.merge({"metadata": version, "data": material.data}))
        log.info("Renewed the webhook certificate in Secret %s", key)

    def _renewed(self, current: _Material | None) -> _Material:
        """The material as it should be: the same object if there is nothing to do."""
        if current is None:
            return self._signed(self._new_authority(), b"")
        if _is_due(current.authority):
            return self._signed(self._new_authority(), current.bundle)
        names = set(self._options.names) | set(self._options.ip_addresses)
        if _is_due(current.serving) or not names <= _names_of(current.serving):
            return self._signed(current.authority, current.bundle)
        return current

    def _new_authority(self) -> pki.CertificateAuthority:
        return pki.new_ca("kapstan webhooks", validity=self._options.ca_validity)

    def _signed(self, authority: pki.CertificateAuthority, bundle: bytes) -> _Material:
        names = self._options.names
        serving = authority.issue(
            (names or ("webhooks",))[0][:64],
            dns_names=names,
            ip_addresses=self._options.ip_addresses,
            usages=[pki.Usage.SERVER],
            validity=self._options.validity,
        )
        return _Material(_bundle(authority, bundle), authority, serving)

    # --- The folder -------------------------------------------------------------------------------------------------

    def _write(self, material: _Material) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(self._folder / "tls.key", material.serving.key_pem)
        _replace(self._folder / "tls.crt", material.serving.cert_pem)

    # --- Trust ------------------------------------------------------------------------------------------------------

    async def _trust(self, bundle: bytes) -> None:
        for name in self._options.mutating:
            await self._trust_in(await self._client.find(MutatingWebhookConfiguration, name), name, bundle)
        for name in self._options.validating:
            await self._trust_in(await self._client.find(ValidatingWebhookConfiguration, name), name, bundle)
        for name in self._options.definitions:
            await self._trust_in_definition(name, bundle)

    async def _trust_in(
        self,
        found: MutatingWebhookConfiguration | ValidatingWebhookConfiguration | None,
        name: str,
        bundle: bytes,
    ) -> None:
        if found is None:
            log.warning("Webhook configuration %s does not exist yet; its certificate will be set when it does", name)
            return
        stale = [webhook.name for webhook in found.webhooks if webhook.client_config.ca_bundle != bundle]
        if stale:
            changes = [{"name": webhook, "clientConfig": {"caBundle": bundle}} for webhook in stale]
            await self._client.patch(found, Patch.strategic({"webhooks": changes}))

    async def _trust_in_definition(self, name: str, bundle: bytes) -> None:
        found = await self._client.find(CustomResourceDefinition, name)
        if found is None:
            log.warning(
                "CustomResourceDefinition %s does not exist yet; its certificate will be set when it does", name
            )
            return
        webhook = found.spec.conversion.webhook if found.spec.conversion is not None else None
        if webhook is None or webhook.client_config is None or webhook.client_config.ca_bundle == bundle:
            return
        patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}
        await self._client.patch(found, Patch.merge(patch))


def _load(secret: Secret) -> _Material | None:
    """What a Secret holds; None if it is no good, which is the same as nothing."""
    data = secret.data
    try:
        authority = pki.load_ca(data.get("ca.crt", b""), data.get("ca.key", b""))
        serving = pki.load_key_pair(data.get("tls.crt", b""), data.get("tls.key", b""))
        if pki.is_signed_by(serving.cert_pem, authority.cert_pem):
            return _Material(data["ca.crt"], authority, serving)
    except pki.InvalidPEM as error:
        log.warning("Secret %s does not hold webhook certificates, they are made anew: %s", secret.key, error)
    return None


def _is_due(pair: pki.KeyPair) -> bool:
    """Whether two thirds of its time are over."""
    return pair.expires_within((pair.not_after - pair.not_before) / 3)


def _bundle(authority: pki.CertificateAuthority, others: bytes) -> bytes:
    """The authority that signs, and those before it that have not ended."""
    from cryptography.hazmat.primitives.serialization import Encoding

    now = datetime.now(UTC)
    before: Sequence[bytes] = ()
    if others:
        certificates = [one for one in pki.load_certificates(others) if one.not_valid_after_utc > now]
        before = [one.public_bytes(Encoding.PEM) for one in certificates]
    return b"".join(dict.fromkeys([authority.certificate.public_bytes(Encoding.PEM), *before]))


def _names_of(pair: pki.KeyPair) -> set[str]:
    from cryptography import x509

    try:
        names = pair.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return {*names.get_values_for_type(x509.DNSName), *addresses}


def _replace(file: Path, content: bytes) -> None:
    """Write a file that only we can read, so that a reader finds the old or the new one, never half of it."""
    fresh = file.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    fresh.replace(file)
