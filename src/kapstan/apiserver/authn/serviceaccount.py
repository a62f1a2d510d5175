"""Service-account tokens: issued by TokenRequest, bound to a pod, secret or node, and worth nothing once that is gone.

A signature is checked once for each token; whether the token is still in force is looked up every time, so deleting the
service account or the bound object takes effect at once.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import uuid4

from kapstan.apiserver.authn import identity
from kapstan.apiserver.authn.interface import Identified, quoted
from kapstan.apiserver.authn.jwt import InvalidToken, Signer, Token, Verifier
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.pki import SigningKey

__all__ = ("LEGACY_ISSUER", "ServiceAccountTokens")

LEGACY_ISSUER = "kubernetes/serviceaccount"
_LEGACY = "kubernetes.io/serviceaccount/"
_LEEWAY = timedelta(minutes=1)
_REMEMBERED = 2048
_GONE = "service account token has been invalidated"


class ServiceAccountTokens:
    """Issues and checks the tokens of one logical cluster."""

    def __init__(
        self,
        storage: Storage,
        key: SigningKey,
        issuer: str,
        *,
        audiences: Sequence[str] = (),
        also: Iterable[bytes] = (),
    ) -> None:
        """`audiences` are the API server's own, the issuer by default; `also` are public keys (PEM) of former times."""
        self._storage = storage
        self._key = key
        self._also = tuple(also)
        self.issuer = issuer
        self.audiences = tuple(audiences) or (issuer,)
        self._verified: dict[str, dict[str, Any]] = {}

    @cached_property
    def verifiers(self) -> tuple[Verifier, ...]:
        """Of the keys that tokens may be signed with, the current one first."""
        return (Verifier(self._key.public_pem), *map(Verifier, self._also))

    @cached_property
    def _signer(self) -> Signer:
        return Signer(self._key.key_pem)

    def issue(
        self,
        account: Mapping[str, Any],
        now: datetime,
        *,
        audiences: Sequence[str],
        seconds: int,
        warn_after: int = 0,
        bound: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> str:
        """A token for a ServiceAccount; `bound` are the objects by claim: `pod`, `secret`, `node`."""
        name, namespace = account["metadata"]["name"], account["metadata"]["namespace"]
        issued = int(now.timestamp())
        private: dict[str, Any] = {"namespace": namespace, "serviceaccount": _reference(account)}
        private |= {claim: _reference(target) for claim, target in (bound or {}).items()}
        if warn_after:
            private["warnafter"] = issued + warn_after
        return self._signer.sign(
            {
                "iss": self.issuer,
                "sub": identity.ServiceAccount(namespace, name).username,
                "aud": list(audiences),
                "iat": issued,
                "nbf": issued,
                "exp": issued + seconds,
                "jti": str(uuid4()),
                "kubernetes.io": private,
            }
        )

    def authenticate(self, text: str, audiences: Sequence[str], now: datetime) -> Identified | None:
        """Whom a token stands for; None if it is not one of ours, InvalidToken if it is and does not hold."""
        claims = self._claims(text)
        if claims is None:
            return None
        legacy = claims["iss"] == LEGACY_ISSUER
        has = _audiences(claims) or self.audiences
        accepted = tuple(audience for audience in has if audience in audiences)
        if not accepted:
            raise InvalidToken(f"token audiences {quoted(has)} is invalid for the target audiences {quoted(audiences)}")
        user = self._legacy_user(claims, text) if legacy else self._user(claims, now)
        return Identified(user, accepted)

    def _claims(self, text: str) -> dict[str, Any] | None:
        """The claims of a token with a good signature."""
        known = self._verified.get(text)
        if known is not None:
            return known
        try:
            token = Token(text)
        except InvalidToken:
            return None
        if token.claims.get("iss") not in (self.issuer, LEGACY_ISSUER):
            return None
        key_id = token.header.get("kid")
        candidates = [verifier for verifier in self.verifiers if not key_id or verifier.key_id == key_id]
        if not candidates:
            raise InvalidToken("invalid signature, no keys found")
        _check_any(candidates, token)
        if len(self._verified) >= _REMEMBERED:
            self._verified.clear()
        self._verified[text] = token.claims
        return token.claims

    def _user(self, claims: Mapping[str, Any], now: datetime) -> UserInfo:
        _check_times(claims, now)
        private = claims.get("kubernetes.io") or {}
        account = private.get("serviceaccount") or {}
        who = identity.ServiceAccount(private.get("namespace", ""), account.get("name", ""))
        self._check_account(who, account.get("uid", ""), now)
        extra = self._check_bound(private, who.namespace, now)
        if claims.get("jti"):
            extra[identity.CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
        return UserInfo(who.username, account.get("uid", ""), who.groups, extra)

    def _check_account(self, who: identity.ServiceAccount, uid: str, now: datetime) -> None:
        account = self._get("serviceaccounts", f"{who.namespace}/{who.name}")
        if account is None:
            raise InvalidToken(f"serviceaccounts {quote(who.name)} not found")
        if account["metadata"]["uid"] != uid:
            raise InvalidToken(f"service account UID ({account['metadata']['uid']}) does not match claim ({uid})")
        if _deleted(account, now):
            raise InvalidToken(f"service account {who.namespace}/{who.name} has been deleted")

    def _check_bound(self, private: Mapping[str, Any], namespace: str, now: datetime) -> dict[str, tuple[str, ...]]:
        """Look up what the token is bound to; returns what the user's `extra` tells of it."""
        extra: dict[str, tuple[str, ...]] = {}
        if secret := private.get("secret"):
            self._check_object("secret", f"{namespace}/{secret['name']}", secret, now)
        pod, node = private.get("pod"), private.get("node")
        if pod:
            self._check_object("pod", f"{namespace}/{pod['name']}", pod, now)
            extra |= {identity.POD_NAME: (pod["name"],), identity.POD_UID: (pod["uid"],)}
        if node:
            if not pod:  # a pod's node is told, not checked: the pod itself is gone when its node is
                self._check_object("node", node["name"], node, now)
            extra[identity.NODE_NAME] = (node["name"],)
            if node.get("uid"):
                extra[identity.NODE_UID] = (node["uid"],)
        return extra

    def _check_object(self, kind: str, key: str, claim: Mapping[str, str], now: datetime) -> None:
        found = self._get(f"{kind}s", key)
        if found is None or _deleted(found, now):
            raise InvalidToken(_GONE)
        uid, claimed = found["metadata"]["uid"], claim.get("uid", "")
        if uid != claimed:
            raise InvalidToken(f"{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})")

    def _legacy_user(self, claims: Mapping[str, Any], text: str) -> UserInfo:
        """Tokens without end that live in Secrets: they hold as long as the Secret holds them."""
        namespace, name, uid, secret_name = (
            _required(claims, key)
            for key in ("namespace", "service-account.name", "service-account.uid", "secret.name")
        )
        who = identity.ServiceAccount(namespace, name)
        if claims.get("sub") != who.username:
            raise InvalidToken("sub claim is invalid")
        secret = self._get("secrets", f"{namespace}/{secret_name}")
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise InvalidToken("Token has been invalidated")
        stored = base64.b64decode((secret.get("data") or {}).get("token", ""))
        if not hmac.compare_digest(stored, text.encode()):
            raise InvalidToken("Token does not match server's copy")
        account = self._get("serviceaccounts", f"{namespace}/{name}")
        if account is None or account["metadata"].get("deletionTimestamp"):
            raise InvalidToken(f"ServiceAccount {namespace}/{name} has been deleted")
        if account["metadata"]["uid"] != uid:
            raise InvalidToken(f"ServiceAccount UID ({account['metadata']['uid']}) does not match claim ({uid})")
        return UserInfo(who.username, uid, who.groups)

    def _get(self, resource: str, key: str) -> dict[str, Any] | None:
        record = self._storage.get(GroupResource("", resource), key)
        return None if record is None else codec.decode_any(record.value)


def _reference(target: Mapping[str, Any]) -> dict[str, str]:
    metadata = target["metadata"]
    reference = {"name": metadata["name"], "uid": metadata.get("uid", "")}
    return {key: value for key, value in reference.items() if value}


def _check_any(verifiers: Sequence[Verifier], token: Token) -> None:
    for position, verifier in enumerate(verifiers):
        try:
            verifier.check(token)
        except InvalidToken:
            if position == len(verifiers) - 1:
                raise
        else:
            return


def _audiences(claims: Mapping[str, Any]) -> tuple[str, ...]:
    found = claims.get("aud") or ()
    return (found,) if isinstance(found, str) else tuple(found)


def _check_times(claims: Mapping[str, Any], now: datetime) -> None:
    instant, leeway = now.timestamp(), _LEEWAY.total_seconds()
    if instant + leeway < claims.get("nbf", 0):
        raise InvalidToken("service account token is not valid yet")
    if instant - leeway > claims.get("exp", float("inf")):
        raise InvalidToken("service account token has expired")
    if instant + leeway < claims.get("iat", 0):
        raise InvalidToken("service account token is issued in the future")


def _deleted(target: Mapping[str, Any], now: datetime) -> bool:
    """Marked for deletion for more than a minute: what is going away may still say goodbye."""
    marked = target["metadata"].get("deletionTimestamp")
    return marked is not None and datetime.fromisoformat(marked) < now - _LEEWAY


def _required(claims: Mapping[str, Any], key: str) -> str:
    value = claims.get(_LEGACY + key)
    if not isinstance(value, str) or not value:
        raise InvalidToken(f"the claim {_LEGACY}{key} is missing")
    return value
