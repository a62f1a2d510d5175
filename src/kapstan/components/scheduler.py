"""kube-scheduler: its arguments, which are kubeadm's unless something is said here about why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from kapstan.components.arguments import ExtraArguments, arguments

__all__ = ("Scheduler", "scheduler_arguments")


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """What is decided about a scheduler."""

    bind_address: str = "127.0.0.1"
    port: int
    certificates: PurePath
    kubeconfig: PurePath
    # One that stands alone need not win an election, which would cost it seconds at every start.
    leader_election: bool = False
    extra_arguments: ExtraArguments = ()


def scheduler_arguments(scheduler: Scheduler) -> tuple[str, ...]:
    """The arguments after the program's name."""
    kubeconfig = str(scheduler.kubeconfig)
    defaults = {
        "bind-address": scheduler.bind_address,
        "secure-port": str(scheduler.port),
        "tls-cert-file": str(scheduler.certificates / "scheduler.crt"),
        "tls-private-key-file": str(scheduler.certificates / "scheduler.key"),
        "leader-elect": "true" if scheduler.leader_election else "false",
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        # Deprecated in favour of a configuration file, but there is no other reason to have one.
        "kube-api-qps": "300",
        "kube-api-burst": "600",
    }
    return arguments(defaults, scheduler.extra_arguments)
