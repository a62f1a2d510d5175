"""Authenticator: from a connection's certificate and a request's headers to a user.

As in kube-apiserver: a client certificate first, then a bearer token, then anonymous. Who presents a token that does
not hold is refused, not anonymous.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from kapstan.apiserver.authn.bootstrap import authenticate_bootstrap_token
from kapstan.apiserver.authn.certificates import InvalidCertificate, user_of
from kapstan.apiserver.authn.identity import AUTHENTICATED, UNAUTHENTICATED
from kapstan.apiserver.authn.interface import Identified
from kapstan.apiserver.authn.jwt import InvalidToken
from kapstan.apiserver.authn.serviceaccount import ServiceAccountTokens
from kapstan.apiserver.request import ANONYMOUS, UserInfo
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery.errors import Unauthorized

__all__ = ("Authenticator",)

_EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class Authenticator:
    """The authentication of one logical cluster."""

    def __init__(
        self,
        storage: Storage,
        tokens: ServiceAccountTokens,
        *,
        static: Mapping[str, UserInfo] | None = None,
        anonymous: bool = True,
    ) -> None:
        """`static` are users by their bearer token."""
        self._storage = storage
        self.tokens = tokens
        self._static = dict(static or {})
        self._anonymous = anonymous

    def authenticate(
        self, certificate: bytes | None, authorization: str, now: datetime, warn: Callable[[str], None]
    ) -> UserInfo:
        """Who asks. `certificate` is the verified client certificate (DER), `authorization` the header or "".

        Unauthorized if what was presented does not hold.
        """
        try:
            user = user_of(certificate, now) if certificate else None
        except InvalidCertificate as error:
            raise Unauthorized("Unauthorized") from error
        if user is None and (token := _bearer(authorization, warn)):
            try:
                user = self.authenticate_token(token, self.tokens.audiences, now).user
            except InvalidToken as error:
                raise Unauthorized("Unauthorized") from error
            return user
        if user is not None:
            return _authenticated(user)
        if not self._anonymous:
            raise Unauthorized("Unauthorized")
        return ANONYMOUS

    def authenticate_token(self, token: str, audiences: Sequence[str], now: datetime) -> Identified:
        """Whom a bearer token stands for; InvalidToken with Kubernetes' words if nobody."""
        invalid = "invalid bearer token"
        try:
            found = self.tokens.authenticate(token, audiences, now)
        except InvalidToken as error:
            raise InvalidToken(f"[{invalid}, {error}]") from error
        if found is None:
            found = self._without_audience(token, audiences, now)
        if found is None:
            raise InvalidToken(invalid)
        return Identified(_authenticated(found.user), found.audiences)

    def _without_audience(self, token: str, audiences: Sequence[str], now: datetime) -> Identified | None:
        """Tokens that are meant for the API server whatever they say: static and bootstrap ones."""
        accepted = tuple(audience for audience in self.tokens.audiences if audience in audiences)
        user = self._static_user(token) or authenticate_bootstrap_token(self._storage, token, now)
        return Identified(user, accepted) if user and accepted else None

    def _static_user(self, token: str) -> UserInfo | None:
        """Compared in constant time, so that timing tells nothing of how much of a token was right."""
        found = None
        given = token.encode("utf-8", "surrogateescape")  # headers may hold bytes that are no text
        for known, user in self._static.items():
            if hmac.compare_digest(known.encode(), given):
                found = user
        return found


def _bearer(authorization: str, warn: Callable[[str], None]) -> str:
    """The token of an Authorization header; "" if it has none."""
    parts = authorization.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer":
        return ""
    if not parts[1] and len(parts) == 3:
        warn(_EXTRA_SPACE)
    return parts[1]


def _authenticated(user: UserInfo) -> UserInfo:
    """With the group of all who proved who they are."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return UserInfo(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra)
