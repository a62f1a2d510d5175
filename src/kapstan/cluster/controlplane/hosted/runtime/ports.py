"""Ports: chosen for many control planes at once, none twice.

Between the choice of a port and the moment at which its server binds it, another control plane may be looking for one:
what is given out is remembered until it is given back.
"""

from __future__ import annotations

from kapstan.components.ports import free_ports
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey

__all__ = ("PortTable", "PortTaken", "is_free")

_TRIES = 20


class PortTaken(KapstanError):
    """A port that has to be this one is somebody else's."""


class PortTable:
    """The ports of every control plane of this machine's manager."""

    def __init__(self, ports: range | None = None) -> None:
        self._range = ports
        self._owners: dict[int, ObjectKey] = {}

    def choose(self, count: int, address: str, owner: ObjectKey) -> tuple[int, ...]:
        """Free ports, kept for an owner."""
        found: list[int] = []
        for _ in range(_TRIES):
            free = free_ports(count, address, self._range) if self._range else free_ports(count, address)
            found += [port for port in free if port not in self._owners and port not in found]
            if len(found) >= count:
                break
        else:
            raise KapstanError(f"no free port on {address} for {owner}")
        chosen = tuple(found[:count])
        self.keep(chosen, owner)
        return chosen

    def claim(self, port: int, owner: ObjectKey) -> None:
        """Keep a certain port for an owner; PortTaken if another control plane has it."""
        holder = self._owners.get(port, owner)
        if holder != owner:
            raise PortTaken(f"port {port} belongs to HostedControlPlane {holder}: choose another in spec.exposure.port")
        self._owners[port] = owner

    def keep(self, ports: tuple[int, ...], owner: ObjectKey) -> None:
        self._owners |= dict.fromkeys(ports, owner)

    def release(self, ports: tuple[int, ...]) -> None:
        for port in ports:
            self._owners.pop(port, None)


def is_free(address: str, port: int) -> bool:
    """Whether nobody listens there at this moment."""
    try:
        free_ports(1, address, range(port, port + 1))
    except KapstanError:
        return False
    return True
