"""Validator: the rules of one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kapstan.machinery.validation import FieldError

__all__ = ("Change", "Check", "Object", "Validator", "again")

Object = dict[str, Any]
Check = Callable[[Object], Iterable[FieldError]]
Change = Callable[[Object, Object], Iterable[FieldError]]  # the new object and the old one


def nothing(obj: Object) -> Iterable[FieldError]:
    return ()


def unchecked(obj: Object, old: Object) -> Iterable[FieldError]:
    return ()


class Validator(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked, besides metadata, when an object is written."""

    create: Check = nothing
    update: Change = unchecked
    status: Change = unchecked  # by way of `/status`


def again(check: Check) -> Change:
    """A change that is checked as if the object were new."""

    def change(obj: Object, old: Object) -> Iterable[FieldError]:
        return check(obj)

    return change
