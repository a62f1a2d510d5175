"""Validator: the rules of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kapstan.machinery.validation import FieldError

__all__ = ("Change", "Check", "Errors", "Object", "Validator", "nothing", "unchecked")

Object = dict[str, Any]
Errors = Sequence[FieldError]
Check = Callable[[Object], Errors]
Change = Callable[[Object, Object], Errors]  # the new object and the old one


def nothing(obj: Object) -> Errors:
    return ()


def unchecked(obj: Object, old: Object) -> Errors:
    return ()


class Validator(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked, besides metadata, when an object is written."""

    create: Check = nothing
    update: Change = unchecked
    status: Change = unchecked  # by way of `/status`
