"""Who may read the metrics: whoever the API server says may `get` the path, by the token that is presented."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, NamedTuple

from kapstan.machinery.errors import KapstanError
from kapstan.runtime.httpserver import Answer, Query

if TYPE_CHECKING:
    from kapstan.client.client import Client

__all__ = ("AuthFilter",)

ALLOWED, DENIED = 60.0, 10.0  # seconds for which a decision is remembered
REMEMBERED = 1000


class _Decision(NamedTuple):
    refusal: Answer | None
    until: float


class AuthFilter:
    """Asks the API server: TokenReview who it is, SubjectAccessReview whether they may."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._decisions: dict[tuple[bytes, str], _Decision] = {}

    async def refusal(self, query: Query) -> Answer | None:
        """Why the request is not answered; None if it may be."""
        scheme, _, token = query.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return Answer(b"Unauthorized: a bearer token is needed\n", 401)
        key = hashlib.sha256(token.encode()).digest(), query.path  # the token itself is never kept
        now = asyncio.get_running_loop().time()
        known = self._decisions.get(key)
        if known is not None and known.until > now:
            return known.refusal
        try:
            refusal = await self._ask(token.strip(), query.path)
        except KapstanError:
            return Answer(b"the API server cannot be asked who you are\n", 500)
        if len(self._decisions) >= REMEMBERED:
            self._decisions.clear()
        self._decisions[key] = _Decision(refusal, now + (ALLOWED if refusal is None else DENIED))
        return refusal

    async def _ask(self, token: str, path: str) -> Answer | None:
        from kapstan.k8s.authentication_v1 import TokenReview, TokenReviewSpec
        from kapstan.k8s.authorization_v1 import (
            NonResourceAttributes,
            SubjectAccessReview,
            SubjectAccessReviewSpec,
        )

        review = await self._client.create(TokenReview(spec=TokenReviewSpec(token=token)))
        user = review.status.user
        if not review.status.authenticated or user is None:
            return Answer(b"Unauthorized: the API server does not know this token\n", 401)
        access = await self._client.create(
            SubjectAccessReview(
                spec=SubjectAccessReviewSpec(
                    user=user.username,
                    uid=user.uid,
                    groups=user.groups,
                    extra=user.extra,
                    non_resource_attributes=NonResourceAttributes(path=path, verb="get"),
                )
            )
        )
        if not access.status.allowed:
            return Answer(f"Forbidden: {user.username} may not get {path}\n".encode(), 403)
        return None
