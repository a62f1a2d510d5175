"""Bootstrap tokens: `abcdef.0123456789abcdef`, backed by a Secret in kube-system, with which new nodes join."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kapstan.apiserver.authn.identity import BOOTSTRAPPERS
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource

__all__ = ("SECRETS", "BootstrapToken", "authenticate_bootstrap_token", "token_of")

SECRETS = GroupResource("", "secrets")

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_TYPE = "bootstrap.kubernetes.io/token"
_PREFIX = "bootstrap-token-"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class BootstrapToken:
    """A token as its Secret tells of it."""

    id: str
    secret: str = field(repr=False)
    authentication: bool
    signing: bool
    extra_groups: str
    # None never expires.
    expiration: datetime | None

    def expired(self, now: datetime) -> bool:
        return self.expiration is not None and self.expiration <= now


def token_of(secret: dict[str, Any]) -> BootstrapToken | None:
    """The token that a Secret holds; None if it holds none."""
    metadata, data = secret["metadata"], _data(secret)
    id = data.get("token-id", "")
    if metadata.get("deletionTimestamp") or secret.get("type") != _TYPE or metadata["name"] != _PREFIX + id:
        return None
    if not _TOKEN.fullmatch(f"{id}.{data.get('token-secret', '')}"):
        return None
    return BootstrapToken(
        id,
        data["token-secret"],
        authentication=data.get("usage-bootstrap-authentication") == "true",
        signing=data.get("usage-bootstrap-signing") == "true",
        extra_groups=data.get("auth-extra-groups", ""),
        expiration=_time(data.get("expiration", "")),
    )


def authenticate_bootstrap_token(storage: Storage, token: str, now: datetime) -> UserInfo | None:
    """Whom a token stands for; None if it is no valid bootstrap token."""
    match = _TOKEN.fullmatch(token)
    record = storage.get(SECRETS, f"kube-system/{_PREFIX}{match[1]}") if match else None
    known = token_of(codec.decode_any(record.value)) if record is not None else None
    if match is None or known is None or not hmac.compare_digest(known.secret.encode(), match[2].encode()):
        return None
    groups = _groups(known.extra_groups)
    if groups is None or not known.authentication or known.expired(now):
        return None
    return UserInfo(f"system:bootstrap:{known.id}", groups=groups)


def _data(secret: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in (secret.get("data") or {}).items():
        try:
            found[key] = base64.b64decode(value).decode()
        except (binascii.Error, ValueError):
            continue
    return found


def _groups(extra: str) -> tuple[str, ...] | None:
    """Always the bootstrappers; None if a further one is not allowed for such tokens."""
    wanted = {BOOTSTRAPPERS}
    for group in extra.split(",") if extra else ():
        if not _GROUP.fullmatch(group):
            return None
        wanted.add(group)
    return tuple(sorted(wanted))


def _time(expiration: str) -> datetime | None:
    """No date never expires; one that cannot be read has expired."""
    if not expiration:
        return None
    try:
        time = datetime.fromisoformat(expiration)
    except ValueError:
        return _LONG_AGO
    return time if time.tzinfo else _LONG_AGO
