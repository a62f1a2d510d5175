"""What can go wrong between us and the API server beside its refusals."""

from __future__ import annotations

from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import GroupVersionKind

__all__ = ("NoKindMatch", "UnexpectedAnswer")


class NoKindMatch(KapstanError):
    """The server does not serve a kind: usually its CRD is not installed (yet).

    One that does not serve a kind of the core group is no Kubernetes API server, or a proxy stands before it.
    """

    def __init__(self, gvk: GroupVersionKind, server: str, *, subresource: str = "") -> None:
        self.gvk = gvk
        if subresource:
            what, hint = f"{subresource} of {gvk.kind}", "does the kind have this subresource?"
        elif not gvk.group:
            what, hint = gvk.kind, "is this the address of a Kubernetes API server?"
        else:
            what, hint = gvk.kind, "is its CustomResourceDefinition installed, and is this version served?"
        super().__init__(f"{server} does not serve {what} ({gvk.api_version}); {hint}")


class UnexpectedAnswer(KapstanError):
    """The API server sent something that does not fit the type that was asked for."""
