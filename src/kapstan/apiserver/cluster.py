"""LogicalCluster: one isolated Kubernetes API with its own objects, kinds, users and certificates.

Any number of them live in one process and share code, schemas and built-in kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapstan.apiserver.admission.interface import Admission, Chain
from kapstan.apiserver.authz.interface import Authorizer, forbidden
from kapstan.apiserver.kinds import KindTable
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.apiserver.registry.watch import Watches
from kapstan.apiserver.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from kapstan.apiserver.request import Request

__all__ = ("LogicalCluster",)


class LogicalCluster:
    """One cluster."""

    def __init__(
        self,
        name: str,
        storage: MemoryStorage | None = None,
        *,
        admission: Admission | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        self.name = name
        self.storage = storage or MemoryStorage()
        self.kinds = KindTable(builtin_kinds())
        self.admission: Admission = admission or Chain()
        self.authorizer = authorizer
        self.watches = Watches()
        self.api = API(self)

    def authorize_create(self, request: Request) -> None:
        """A PUT or an apply that creates needs the right to create, too."""
        if self.authorizer is None:
            return
        attributes = request.attributes_for("create")
        decision = self.authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)
