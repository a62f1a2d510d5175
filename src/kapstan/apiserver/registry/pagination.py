"""Pagination: continue tokens, which carry the revision of the list and the key to go on from.

The format is Kubernetes' own, so that tools which look into one find what they expect. Tokens come back from clients:
whatever one contains, it can only name a key below the prefix of the request that uses it.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
from typing import NamedTuple

import msgspec

from kapstan.machinery.errors import BadRequest

__all__ = ("LATEST", "Position", "decode_token", "encode_token")

LATEST = -1  # the revision in a token that accepts an inconsistent list
_VERSION = "meta.k8s.io/v1"
_MAX_REVISION = 2**63 - 1


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


class Position(NamedTuple):
    """Where a list goes on."""

    revision: int
    key: str


def encode_token(revision: int, key: str, prefix: str) -> str:
    """The token to go on at `key`, which begins with `prefix`."""
    token = _Token(_VERSION, revision, key.removeprefix(prefix))
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def decode_token(token: str, prefix: str) -> Position:
    """What a token says; BadRequest if it is none of ours."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        found = msgspec.json.decode(raw, type=_Token)
    except (binascii.Error, ValueError) as error:
        raise _refused(f": {error}") from error
    if found.v != _VERSION:
        raise _refused(f": server does not recognize this encoded version {found.v}")
    if found.rv == 0 or not LATEST <= found.rv <= _MAX_REVISION:
        raise _refused(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not found.start:
        raise _refused(": encoded start key empty (version meta.k8s.io/v1)")
    key = found.start if found.start.startswith("/") else f"/{found.start}"
    if posixpath.normpath(key) != key or key.startswith("//"):
        raise _refused(f": {found.start}")
    return Position(found.rv, prefix + key[1:])


def _refused(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid{why}")
