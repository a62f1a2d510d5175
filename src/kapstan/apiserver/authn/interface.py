"""What authentication answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kapstan.apiserver.request import UserInfo
from kapstan.machinery.golang import quote

__all__ = ("Identified", "quoted")


class Identified(NamedTuple):
    """A user, and for which of the wanted audiences the credential is meant."""

    user: UserInfo
    audiences: tuple[str, ...]


def quoted(values: Iterable[str]) -> str:
    """A list as Go's `%q` writes it, which messages about groups and audiences do: `["a" "b"]`."""
    return f"[{' '.join(map(quote, values))}]"
