"""What authentication answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kapstan.apiserver.request import UserInfo
from kapstan.machinery.golang import quote

__all__ = ("Identified", "quoted", "user_info")


class Identified(NamedTuple):
    """A user, and for which of the wanted audiences the credential is meant."""

    user: UserInfo
    audiences: tuple[str, ...]


def quoted(values: Iterable[str]) -> str:
    """A list as Go's `%q` writes it, which messages about groups and audiences do: `["a" "b"]`."""
    return f"[{' '.join(map(quote, values))}]"


def user_info(user: UserInfo) -> dict[str, Any]:
    """A user as authentication/v1 writes it: what is empty is left out."""
    extra = {key: list(values) for key, values in user.extra.items()}
    found = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {key: value for key, value in found.items() if value}
