"""Slots: the two places that an API server of one control plane can have, so that a new one can start beside the old.

Both listen on the same port, which the system allows if both ask for it, and gives each a part of the connections:
also to one that does not serve yet, or never will. So a new one shows on another port that it works, before it has a
part in the tenants' connections. To tell then whether the *new* one is ready, a question has to be answered by the new
one: each slot has a certificate of its own, and an answer under another certificate does not count.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName
from kapstan.components.process import Command

__all__ = ("SHARING", "SlotProbe", "in_slot", "on_trial", "shares_port", "slot_name")

SHARING = "--permit-port-sharing=true"

_CERTIFICATES = ("apiserver", "apiserver-next")
_TIMEOUT = 2.0
# With two servers a connection reaches either by chance: so many in a row miss the same one once in a thousand times.
_TRIES = 10


def slot_name(slot: int) -> str:
    """The name of the process in a slot."""
    return ComponentName.API_SERVER if slot == 0 else f"{ComponentName.API_SERVER}-next"


def in_slot(command: Command, slot: int) -> Command:
    """A command for the first slot, as it is in another."""
    own, other = _CERTIFICATES[0], _CERTIFICATES[slot]
    swapped = {
        f"--{flag}={path}": f"--{flag}={path.parent / path.name.replace(own, other)}"
        for flag, path in _certificate_files(command)
    }
    return Command(tuple(swapped.get(argument, argument) for argument in command.argv), command.env)


def on_trial(command: Command, port: int) -> Command:
    """The same command on another port, of which nobody is told."""
    own = {"--secure-port": str(port), "--endpoint-reconciler-type": "none"}
    kept = [argument for argument in command.argv if argument.partition("=")[0] not in own]
    return Command((*kept, *(f"{flag}={value}" for flag, value in own.items())), command.env)


def shares_port(command: Command) -> bool:
    return SHARING in command.argv


def _certificate_files(command: Command) -> list[tuple[str, Path]]:
    pairs = [argument.removeprefix("--").partition("=") for argument in command.argv]
    return [(name, Path(value)) for name, _, value in pairs if name in ("tls-cert-file", "tls-private-key-file")]


class SlotProbe:
    """Asks the API server that has a certain certificate, among those that listen on a port."""

    def __init__(self, host: str, port: int, path: str, *, pki: Path, slot: int) -> None:
        self._address = (host, port)
        self._path = path
        self._pki = pki
        self._certificate = pki / f"{_CERTIFICATES[slot]}.crt"

    async def __call__(self) -> str | None:
        context = self._tls()
        expected = ssl.PEM_cert_to_DER_cert(self._certificate.read_text().partition("-----END")[0] + _END)
        reason: str | None = "it does not answer"
        for _ in range(_TRIES):
            try:
                async with asyncio.timeout(_TIMEOUT):
                    found, status = await self._ask(context, expected)
            except (TimeoutError, OSError, EOFError, ValueError) as error:
                reason = f"it cannot be asked ({error})" if str(error) else reason
                continue
            if found:
                return None if status == 200 else f"{self._path} says {status}"
            reason = "the one that it replaces answers"
        return reason

    async def _ask(self, context: ssl.SSLContext, expected: bytes) -> tuple[bool, int]:
        host, port = self._address
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        try:
            if writer.get_extra_info("ssl_object").getpeercert(binary_form=True) != expected:
                return False, 0
            writer.write(f"GET {self._path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n")
            return True, int(head.split(b" ", 2)[1])
        finally:
            writer.transport.abort()

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
        context.load_cert_chain(self._pki / "super-admin.crt", self._pki / "super-admin.key")
        return context


_END = "-----END CERTIFICATE-----\n"
