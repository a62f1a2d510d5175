"""Field validation: what happens to fields that the server does not know, or that were sent twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapstan.apiserver.request import Request
from kapstan.machinery.errors import BadRequest
from kapstan.machinery.golang import quote

__all__ = ("MAX_COMPLAINTS", "Complaints", "report", "wants_strict", "with_unknown")

MAX_COMPLAINTS = 100  # of the reader of built-in kinds; more are of no use to anybody


class Complaints(list[str]):
    """Fields that were sent twice, as complaints, and the places of all fields where there are such."""

    def __init__(self, duplicates: Mapping[str, int], places: Mapping[str, int]) -> None:
        super().__init__(f'duplicate field "{path}"' for path in duplicates)
        self.duplicates = duplicates
        self.places = places


def with_unknown(complaints: list[str], unknown: Sequence[str], *, typed: bool) -> list[str]:
    """The complaints together with those of unknown fields.

    The reader of built-in kinds (`typed`) finds both as it goes, and looks into nothing that it does not know. For
    custom ones unknown fields are found afterwards.
    """
    if not typed:
        return [*complaints, *(f"unknown field {quote(path)}" for path in unknown)]
    told = {path: f"unknown field {quote(path)}" for path in unknown[:MAX_COMPLAINTS]}
    if not isinstance(complaints, Complaints) or not complaints.places:
        return [*complaints, *told.values()][:MAX_COMPLAINTS]
    found = [(complaints.places.get(path, 0), text) for path, text in told.items()]
    for (path, place), text in zip(complaints.duplicates.items(), complaints, strict=True):
        if not any(path == one or path.startswith((f"{one}.", f"{one}[")) for one in told):
            found.append((place, text))
    return [text for _, text in sorted(found)][:MAX_COMPLAINTS]


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
