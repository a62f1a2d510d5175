"""Credentials: what a request carries to say who we are, renewed before it stops being true.

Files are read again every minute, which is half of the time that a projected service account token stays valid after
the kubelet has replaced it. A plugin is asked again when what it gave expires, or when the API server refuses it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import sys
import time
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from kapstan.client.config import Config
from kapstan.client.kubeconfig import Exec
from kapstan.machinery.errors import ConfigError

__all__ = ("Credential", "CredentialSource", "PluginSource", "RereadFile", "StoredSource", "credentials_of")

logger = logging.getLogger("kapstan.client")

REREAD_SECONDS = 60.0
PLUGIN_SECONDS = 120.0  # a plugin that nobody can talk to has this long


class Credential(NamedTuple):
    """What a request carries: a header, a client certificate with its key, both, or nothing."""

    authorization: str = ""
    identity: bytes = b""

    def __repr__(self) -> str:
        return f"Credential(authorization={bool(self.authorization)}, identity={bool(self.identity)})"


class CredentialSource(Protocol):
    """Where credentials come from."""

    def cached(self) -> Credential | None:
        """The present credential, or None if it has to be renewed first."""

    async def renew(self, refused: Credential | None = None) -> Credential:
        """A fresh credential. One that was `refused` is not returned again if there is another."""


class RereadFile:
    """A file that is read again once a minute; while it cannot be read, its last content stays."""

    def __init__(self, path: str, what: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._what = what
        self._clock = clock
        self._content: bytes | None = None
        self._until = 0.0

    def read(self) -> bytes:
        now = self._clock()
        if self._content is not None and now < self._until:
            return self._content
        try:
            content = self._checked()
        except ConfigError as error:
            if self._content is None:
                raise
            logger.warning("%s; the last one that could be read stays in use", error)
            content = self._content
        self._content, self._until = content, now + REREAD_SECONDS
        return content

    def expire(self) -> None:
        """Read it anew the next time."""
        self._until = 0.0

    def _checked(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                content = file.read().strip()
        except OSError as error:
            raise ConfigError(f"{self._what} {self.path} cannot be read: {error.strerror}") from None
        if not content:
            raise ConfigError(f"{self._what} {self.path} is empty")
        return content


class StoredSource:
    """Credentials that the config holds, or names the files of."""

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._files = {
            name: RereadFile(path, f"{config.source}: {what}" if config.source else what, clock=clock)
            for name, what, path in (
                ("token", "the token file", config.token_file),
                ("cert", "the client certificate", config.cert_file),
                ("key", "the client key", config.key_file),
            )
            if path
        }
        self._fixed = None if self._files else self._assemble()

    def cached(self) -> Credential:
        return self._fixed or self._assemble()

    async def renew(self, refused: Credential | None = None) -> Credential:
        for file in self._files.values():
            file.expire()
        return self.cached()

    def _assemble(self) -> Credential:
        return Credential(self._authorization(), self._identity())

    def _authorization(self) -> str:
        config = self._config
        if "token" in self._files:
            return f"Bearer {self._token()}"
        if config.token:
            return f"Bearer {config.token}"
        if config.username or config.password:
            return "Basic " + base64.b64encode(f"{config.username}:{config.password}".encode()).decode()
        return ""

    def _token(self) -> str:
        """The file's token; the one in the config until the file is there."""
        try:
            return self._files["token"].read().decode()
        except ConfigError:
            if self._config.token:
                return self._config.token
            raise

    def _identity(self) -> bytes:
        cert = self._files["cert"].read() if "cert" in self._files else self._config.cert
        key = self._files["key"].read() if "key" in self._files else self._config.key
        return cert.rstrip() + b"\n" + key.rstrip() + b"\n" if cert and key else b""


class _Status(msgspec.Struct, rename="camel"):
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class PluginSource:
    """Credentials that an exec plugin gives."""

    def __init__(self, config: Config, plugin: Exec) -> None:
        self._config = config
        self._plugin = plugin
        self._credential: Credential | None = None
        self._expires: datetime | None = None
        self._lock = asyncio.Lock()  # a plugin may ask a person: never twice at once

    def cached(self) -> Credential | None:
        if self._expires is not None and datetime.now(UTC) >= self._expires:
            return None
        return self._credential

    async def renew(self, refused: Credential | None = None) -> Credential:
        async with self._lock:
            current = self.cached()
            if current is not None and current is not refused:  # somebody else has renewed it meanwhile
                return current
            answer = self._parsed(await self._run())
            self._expires = answer.expiration_timestamp
            identity = answer.client_certificate_data.rstrip() + "\n" + answer.client_key_data.rstrip() + "\n"
            self._credential = Credential(
                f"Bearer {answer.token}" if answer.token else "",
                identity.encode() if answer.client_key_data else b"",
            )
            return self._credential

    async def _run(self) -> bytes:
        interactive = self._interactive()
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,  # stderr is ours: that is where plugins talk to people
                env=self._environment(interactive),
            )
        except OSError as error:
            raise self._failed(f"cannot be started: {error.strerror}{_hint(self._plugin)}") from None
        try:
            async with asyncio.timeout(None if interactive else PLUGIN_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            raise self._failed(f"gave no answer within {PLUGIN_SECONDS:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise self._failed(f"failed with exit code {process.returncode}; run it by hand to see why")
        return output

    def _interactive(self) -> bool:
        if self._plugin.interactive_mode == "Never":
            return False
        terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self._plugin.interactive_mode == "Always" and not terminal:
            raise self._failed("needs a terminal (interactiveMode: Always), and standard input is none")
        return terminal

    def _environment(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = _cluster_info(self._config)
        request = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        variables = {variable.name: variable.value for variable in self._plugin.env}
        return {**os.environ, **variables, "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()}

    def _parsed(self, output: bytes) -> _Status:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.ValidationError as error:
            raise self._failed(f"printed something else than an ExecCredential: {error}") from None
        except msgspec.DecodeError:
            raise self._failed("printed something else than JSON") from None
        if answer.api_version != self._plugin.api_version:
            raise self._failed(f'answered in "{answer.api_version}", but apiVersion says "{self._plugin.api_version}"')
        status = answer.status
        if status is None or not (status.token or status.client_certificate_data or status.client_key_data):
            raise self._failed("gave neither a token nor a client certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("gave a client certificate without its key, or a key without its certificate")
        return status

    def _failed(self, why: str) -> ConfigError:
        where = f"{self._config.source}: " if self._config.source else ""
        return ConfigError(f"{where}the credential plugin {self._plugin.command} {why}")


def credentials_of(config: Config) -> CredentialSource:
    """Where this config's credentials come from. A plugin is asked only if there is nothing else."""
    stored = config.token or config.token_file or config.username or config.cert or config.cert_file
    if config.exec is not None and not stored:
        return PluginSource(config, config.exec)
    return StoredSource(config)


def _cluster_info(config: Config) -> dict[str, Any]:
    ca = config.ca or (RereadFile(config.ca_file, "the certificate authority").read() if config.ca_file else b"")
    info = {
        "server": config.server,
        "tls-server-name": config.server_name,
        "insecure-skip-tls-verify": config.insecure,
        "certificate-authority-data": base64.b64encode(ca).decode(),
        "proxy-url": config.proxy_url,
        "disable-compression": not config.compression,
        "config": config.exec_config,
    }
    return {key: value for key, value in info.items() if value}


def _hint(plugin: Exec) -> str:
    """How to install it, as the kubeconfig says, with nothing in it that could steer a terminal."""
    hint = "".join(
        char for char in plugin.install_hint if char in "\n\t" or not unicodedata.category(char).startswith("C")
    )
    return f"\n{hint}" if hint else ""
