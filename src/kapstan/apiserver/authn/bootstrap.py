"""Bootstrap tokens: `abcdef.0123456789abcdef`, backed by a Secret in kube-system, with which new nodes join."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from datetime import datetime
from typing import Any

from kapstan.apiserver.authn.identity import BOOTSTRAPPERS
from kapstan.apiserver.request import UserInfo
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.gvk import GroupResource

__all__ = ("authenticate_bootstrap_token",)

_SECRETS = GroupResource("", "secrets")
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_TYPE = "bootstrap.kubernetes.io/token"


def authenticate_bootstrap_token(storage: Storage, token: str, now: datetime) -> UserInfo | None:
    """Whom a token stands for; None if it is no valid bootstrap token."""
    match = _TOKEN.fullmatch(token)
    record = storage.get(_SECRETS, f"kube-system/bootstrap-token-{match[1]}") if match else None
    if match is None or record is None:
        return None
    secret = codec.decode_any(record.value)
    if secret["metadata"].get("deletionTimestamp") or secret.get("type") != _TYPE:
        return None
    data = _data(secret)
    if not hmac.compare_digest(data.get("token-secret", "").encode(), match[2].encode()):
        return None
    if data.get("token-id") != match[1] or data.get("usage-bootstrap-authentication") != "true":
        return None
    groups = _groups(data.get("auth-extra-groups", ""))
    if groups is None or _expired(data.get("expiration", ""), now):
        return None
    return UserInfo(f"system:bootstrap:{match[1]}", groups=groups)


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


def _expired(expiration: str, now: datetime) -> bool:
    """No date never expires; one that cannot be read has expired."""
    if not expiration:
        return False
    try:
        return datetime.fromisoformat(expiration) <= now
    except (ValueError, TypeError):
        return True
