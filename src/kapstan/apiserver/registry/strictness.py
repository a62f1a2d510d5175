"""Field validation: what happens to fields that the server does not know, or that were sent twice."""

from __future__ import annotations

from kapstan.apiserver.request import Request
from kapstan.machinery.errors import BadRequest

__all__ = ("report", "wants_strict")


def wants_strict(directive: str) -> bool:
    """Whether the client wants to hear of such fields at all; where it says nothing, it is warned."""
    return directive != "Ignore"


def report(request: Request, directive: str, complaints: list[str], context: str = "") -> None:
    """Warn of them, or refuse the request, as the client wants."""
    if not complaints or directive == "Ignore":
        return
    if directive == "Strict":
        raise BadRequest(f"{context}strict decoding error: {', '.join(complaints)}")
    for complaint in complaints:
        request.warn(complaint)
