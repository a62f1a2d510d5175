"""Image references: whether one names the latest image, which decides how often it is pulled."""

from __future__ import annotations

import functools
import re

__all__ = ("pull_policy",)

_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_REST = re.compile(
    r"(?P<path>[^:@]*)(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_DOMAIN_RE = re.compile(_DOMAIN)
_IDENTIFIER = re.compile("[a-f0-9]{64}")
_MAX_NAME = 255
_DOCKER = "docker.io"


@functools.lru_cache(maxsize=4096)
def pull_policy(reference: str) -> str:
    """How often an image is pulled where nobody says: always if it is the latest."""
    return "Always" if _tag(reference) == "latest" else "IfNotPresent"


def _tag(reference: str) -> str:
    """The tag of a reference; "" if it is none, or has a digest instead."""
    if _IDENTIFIER.fullmatch(reference):
        return ""
    domain, rest = _split(reference)
    match = _REST.fullmatch(rest)
    if match is None or not _PATH.fullmatch(match["path"]) or not _DOMAIN_RE.fullmatch(domain):
        return ""
    if len(domain) + 1 + len(match["path"]) > _MAX_NAME:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def _split(reference: str) -> tuple[str, str]:
    """The registry and the rest. What stands before the first slash is a registry if it looks like a host."""
    first, slash, rest = reference.partition("/")
    looks_like_host = "." in first or ":" in first or first == "localhost" or first.lower() != first
    if not slash or not looks_like_host:
        first, rest = _DOCKER, reference
    if first in (_DOCKER, "index.docker.io") and "/" not in rest:
        rest = f"library/{rest}"
    return first, rest
