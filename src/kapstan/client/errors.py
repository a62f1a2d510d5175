"""What can go wrong between us and the API server beside its refusals."""

from __future__ import annotations

from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("NoKindMatch", "UnexpectedAnswer")


class NoKindMatch(KapstanError):
    """The API server does not serve a kind: usually its CRD is not installed (yet)."""

    def __init__(self, gvk: GroupVersionKind, server: str, *, subresource: str = "") -> None:
        self.gvk = gvk
        if subresource:
            what, hint = f"{subresource} of {gvk.kind}", "does the kind have this subresource?"
        else:
            what, hint = gvk.kind, "is its CustomResourceDefinition installed, and is this version served?"
        super().__init__(f"{server} does not serve {what} ({gvk.api_version}); {hint}")


class UnexpectedAnswer(KapstanError):
    """The API server sent something that does not fit the type that was asked for."""
