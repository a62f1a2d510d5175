"""Why there was no answer, in plain words, and whether asking again makes sense.

The HTTP library tells causes as text only; what we make of them is written down here, in one place.
"""

from __future__ import annotations

from typing import NamedTuple

from pyreqwest.exceptions import DetailedPyreqwestError

__all__ = ("Failure", "explain")


class Failure(NamedTuple):
    """One attempt that brought no answer."""

    why: str  # completes "no answer from https://...: "
    sent: bool  # the server may have received the request, and carried it out
    transient: bool  # asking again may help


class _Meaning(NamedTuple):
    signs: tuple[str, ...]  # any of these, in lower case, among the causes
    why: str
    transient: bool = False


_MEANINGS = (
    _Meaning(("connection refused",), "connection refused; is it running, and is this its address?", True),
    _Meaning(("dns error",), "its host name cannot be resolved", True),
    _Meaning(("unreachable",), "there is no route to it", True),
    _Meaning(
        ("unknownissuer",),
        "its certificate is signed by an unknown authority; is certificate-authority that of this server?",
    ),
    _Meaning(("certificate expired",), "its certificate has expired"),
    _Meaning(("not valid yet", "notvalidyet"), "its certificate is not valid yet; is the clock of this machine right?"),
    _Meaning(
        ("causedasendentity",),
        "its certificate is that of an authority itself; it must have one that an authority has signed",
    ),
    _Meaning(("invalidcontenttype", "invalid content type"), "it does not speak TLS; is the server's URL http://...?"),
    _Meaning(("certificaterequired", "certificate required"), "it wants a client certificate, and we have none"),
    _Meaning(("alert: unknownca", "badcertificate"), "it does not accept our client certificate"),
    _Meaning(("tunnel", "proxy", "socks"), "the proxy did not let us through"),
    _Meaning(("client was closed",), "this client was closed"),
)
_LOST = "the connection was lost before the answer was complete"

# The HTTP library's own words for a request that never left, or that the server says it has not looked at.
_UNSENT = ("client error (connect)", "operation was canceled", "connection was not ready", "refused stream")
_CERTIFICATE = "invalid peer certificate: "


def explain(error: Exception, *, timeout: float | None) -> Failure:
    """What an exception of the HTTP library means. `timeout` is how long the request was given."""
    causes = _causes(error)
    text = " | ".join(causes).lower()
    sent = not any(sign in text for sign in _UNSENT)
    for meaning in _MEANINGS:
        if any(sign in text for sign in meaning.signs):
            return Failure(meaning.why, sent, meaning.transient)
    if _CERTIFICATE in text:
        detail = next(cause for cause in causes if _CERTIFICATE in cause).partition(_CERTIFICATE)[2]
        return Failure(f"its certificate cannot be trusted: {detail}", sent, transient=False)
    if isinstance(error, TimeoutError):
        limit = f"it did not answer within {timeout:g} s" if sent and timeout else "it could not be reached in time"
        return Failure(limit, sent, transient=False)
    if not sent:
        return Failure(f"it cannot be reached: {causes[-1]}", sent, transient=True)
    return Failure(_LOST, sent, transient=True)


def _causes(error: Exception) -> list[str]:
    causes = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    return [cause["message"] for cause in causes or ()] or [str(error)]
