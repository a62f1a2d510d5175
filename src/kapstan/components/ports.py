"""Ports: free ones on an address, for servers that have to be told their port.

They are taken from below the range that systems use for outgoing connections, so that a server which is restarted
finds its port still free. Between the choice and the server's bind another process may take it all the same: whoever
starts a server tries again with another port.
"""

from __future__ import annotations

import random
import socket

from kapstan.machinery.errors import KapstanError

__all__ = ("free_ports",)

_RANGE = range(20000, 32000)
_TRIES = 200


def free_ports(count: int, address: str = "127.0.0.1", ports: range = _RANGE) -> tuple[int, ...]:
    """Different ports that nobody listens on at this moment."""
    found: list[int] = []
    for port in random.sample(ports, min(_TRIES, len(ports))):
        if len(found) == count:
            break
        if _is_free(address, port):
            found.append(port)
    if len(found) < count:
        raise KapstanError(f"no free port on {address} between {ports.start} and {ports.stop - 1}")
    return tuple(found)


def _is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
