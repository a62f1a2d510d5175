"""Flags of kube-apiserver, as far as envtest and those who configure it give them.

What has a meaning here is kept; of the rest the names are told, so that nobody believes a flag that does nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapstan.machinery.errors import ConfigError

__all__ = ("Flags", "parse", "usage")

_HELP: Mapping[str, str] = {
    "bind-address": "where to listen (default 127.0.0.1)",
    "cert-dir": "the folder of apiserver.crt and apiserver.key, with which to serve",
    "client-ca-file": "the authorities whose client certificates are accepted",
    "disable-admission-plugins": "admission plugins to leave out",
    "secure-port": "the port to listen on (default any that is free)",
    "service-account-issuer": "the issuer of service-account tokens",
    "service-account-signing-key-file": "the private key that signs service-account tokens",
    "service-cluster-ip-range": "the network of services (default 10.96.0.0/12)",
    "tls-cert-file": "the certificate to serve with, instead of cert-dir",
    "tls-private-key-file": "the key to serve with, instead of cert-dir",
    "token-auth-file": 'static tokens: a line token,user,uid,"group1,group2" for each',
}

# What envtest always gives, and what is true of the embedded server anyway or cannot matter to it.
_SILENT = frozenset(
    {"allow-privileged", "authorization-mode", "etcd-servers", "service-account-key-file", "advertise-address", "v"}
)
_FEWEST_ADDRESSES = 8


def usage() -> str:
    """What `--help` prints; envtest looks there for flags that were removed long ago."""
    lines = [f"      --{name} string   {text}" for name, text in _HELP.items()]
    return "\n".join(["The embedded API server of kapstan, with flags of kube-apiserver.", "", "Flags:", *lines])


@dataclass(frozen=True)
class Flags:
    """What was asked for."""

    values: Mapping[str, str]
    ignored: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        return self.values.get("bind-address", "127.0.0.1")

    @property
    def port(self) -> int:
        given = self.values.get("secure-port", "0")
        if not given.isdecimal() or int(given) > 65535:
            raise ConfigError(f"--secure-port: {given!r} is not a port")
        return int(given)

    @property
    def disabled_plugins(self) -> tuple[str, ...]:
        return tuple(filter(None, self.values.get("disable-admission-plugins", "").split(",")))

    @property
    def network(self) -> ipaddress.IPv4Network | None:
        """The network of services; the first, where there is one of each family."""
        given = self.values.get("service-cluster-ip-range", "").split(",")[0]
        try:
            network = ipaddress.IPv4Network(given) if given else None
        except ValueError as error:
            raise ConfigError(f"--service-cluster-ip-range: {error}") from error
        if network is not None and network.num_addresses < _FEWEST_ADDRESSES:
            raise ConfigError(f"--service-cluster-ip-range: {given} has fewer than {_FEWEST_ADDRESSES} addresses")
        return network

    def file(self, flag: str) -> bytes:
        """What is in the file that a flag names; nothing if it was not given."""
        path = self.values.get(flag, "")
        try:
            return Path(path).read_bytes() if path else b""
        except OSError as error:
            raise ConfigError(f"--{flag}: cannot read {path}: {error.strerror}") from error


def parse(arguments: Sequence[str]) -> Flags:
    """Flags as `--name=value`, `--name value` or `--name`; the last of a name counts, lists are joined."""
    values: dict[str, str] = {}
    ignored: list[str] = []
    for name, value in _pairs(arguments):
        if name not in _HELP:
            ignored += [name] if name not in _SILENT else []
        elif name == "disable-admission-plugins" and name in values:
            values[name] += f",{value}"
        else:
            values[name] = value
    return Flags(values, tuple(dict.fromkeys(ignored)))


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            raise ConfigError(f"unknown command {argument!r}: kube-apiserver takes flags only")
        name, has_value, value = argument.lstrip("-").partition("=")
        if not has_value:
            value = rest.pop(0) if rest and not rest[0].startswith("-") else "true"
        yield name, value
