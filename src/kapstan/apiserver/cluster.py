"""LogicalCluster: one isolated Kubernetes API with its own objects, kinds, users and certificates.

Any number of them live in one process and share code, schemas and built-in kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapstan.apiserver.admission.interface import Admission, Chain
from kapstan.apiserver.kinds import KindTable

if TYPE_CHECKING:
    from kapstan.apiserver.storage.interface import Storage

__all__ = ("LogicalCluster",)


class LogicalCluster:
    """One cluster."""

    def __init__(self, name: str, storage: Storage, kinds: KindTable, admission: Admission | None = None) -> None:
        self.name = name
        self.storage = storage
        self.kinds = kinds
        self.admission: Admission = admission or Chain()
