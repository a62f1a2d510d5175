"""Memory: what this process knows of sets that it need not find out again. Nothing depends on it but requests saved."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapstan.cluster.core.ownedkeys import Metadata

__all__ = ("Memory", "Remembered")


@dataclass
class Remembered:
    """Of one set."""

    refused: bool = False  # the API server has refused a part of a machine: it is asked before another is begun
    counted: bool = False  # the cache has been compared with the API server: no machine is unknown to it
    metadata: Metadata | None = None  # what was last propagated to the machines, completely
    machines: set[str] = field(default_factory=set)  # the uids of those that have it


class Memory:
    """Of all sets, by their uids."""

    def __init__(self) -> None:
        self._sets: dict[str, Remembered] = {}

    def of(self, uid: str) -> Remembered:
        return self._sets.setdefault(uid, Remembered())

    def forget(self, uid: str) -> None:
        self._sets.pop(uid, None)
