"""etcd: the arguments of one member that stands alone, with kubeadm's settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from kapstan.components.arguments import ExtraArguments, arguments

__all__ = ("Etcd", "etcd_arguments")


@dataclass(frozen=True, kw_only=True)
class Etcd:
    """What is decided about a member."""

    name: str = "etcd"
    address: str = "127.0.0.1"
    client_port: int
    peer_port: int
    # Below it are `etcd/ca.crt`, `etcd/server.*` and `etcd/peer.*`.
    certificates: PurePath
    data: PurePath
    # Without it a write is answered before it is on disk: many times faster, and lost with the machine. For tests.
    durable: bool = True
    extra_arguments: ExtraArguments = ()

    @property
    def client_url(self) -> str:
        return f"https://{self.address}:{self.client_port}"

    @property
    def peer_url(self) -> str:
        return f"https://{self.address}:{self.peer_port}"


def etcd_arguments(member: Etcd) -> tuple[str, ...]:
    """The arguments after the program's name."""
    certificates = member.certificates / "etcd"
    defaults = {
        "name": member.name,
        "data-dir": str(member.data),
        "listen-client-urls": member.client_url,
        "advertise-client-urls": member.client_url,
        "listen-peer-urls": member.peer_url,
        "initial-advertise-peer-urls": member.peer_url,
        "initial-cluster": f"{member.name}={member.peer_url}",
        "cert-file": str(certificates / "server.crt"),
        "key-file": str(certificates / "server.key"),
        "trusted-ca-file": str(certificates / "ca.crt"),
        "client-cert-auth": "true",
        "peer-cert-file": str(certificates / "peer.crt"),
        "peer-key-file": str(certificates / "peer.key"),
        "peer-trusted-ca-file": str(certificates / "ca.crt"),
        "peer-client-cert-auth": "true",
        "snapshot-count": "10000",
        "watch-progress-notify-interval": "5s",
        "feature-gates": "InitialCorruptCheck=true",
        "unsafe-no-fsync": None if member.durable else "true",
    }
    return arguments(defaults, member.extra_arguments)
