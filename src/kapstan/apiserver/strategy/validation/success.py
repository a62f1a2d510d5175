"""When a job with indexes has succeeded before all of them have."""

from __future__ import annotations

import re

from kapstan.apiserver.strategy.validation.common import Object, Rules, nonnegative
from kapstan.machinery.golang import quote
from kapstan.machinery.validation import FieldError, Path

__all__ = ("success_policy",)

_MAX_RULES, _MAX_INDEXES = 20, 64 * 1024
_INTEGER = re.compile("[+-]?[0-9]+")


def success_policy(policy: Object, completions: int, path: Path) -> Rules:
    rules, at = policy.get("rules") or (), path.child("rules")
    if not rules:
        yield FieldError.required(at, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MAX_RULES:
        yield FieldError.too_many(at, len(rules), _MAX_RULES)
    for position, rule in enumerate(rules):
        yield from _rule(rule, completions, at.index(position))


def _rule(rule: Object, completions: int, path: Path) -> Rules:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield FieldError.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        at = path.child("succeededIndexes")
        if len(indexes.encode()) > _MAX_INDEXES:
            yield FieldError.too_long(at, _MAX_INDEXES)
        try:
            total = _count(indexes, completions)
        except ValueError as error:
            yield FieldError.invalid(at, indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    at = path.child("succeededCount")
    yield from nonnegative(count, at)
    limits = [(completions, "specified completions")]
    if indexes is not None:
        limits.append((total, "indexes in the specified succeededIndexes field"))
    for limit, what in limits:
        if count > limit:
            yield FieldError.invalid(at, count, f"must be less than or equal to {limit} (the number of {what})")


def _count(indexes: str, completions: int) -> int:
    """How many indexes a text like `0,2-4` names. Raises ValueError if they are not in order or too large."""
    total, last = 0, -1
    for interval in indexes.split(",") if indexes else ():
        first, end = _interval(interval, completions)
        if total and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    parts = text.split("-")
    if len(parts) > 2:
        rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {quote(text)} {rule}")
    ends = []
    for part in parts:
        if not _INTEGER.fullmatch(part):
            raise ValueError(f"cannot convert string to integer for index: {quote(part)}")
        if int(part) >= completions:
            raise ValueError(f"too large index: {quote(part)}")
        ends.append(int(part))
    if len(ends) == 2 and ends[0] >= ends[1]:
        raise ValueError(f"non-increasing order, previous: {ends[0]}, current: {ends[1]}")
    return ends[0], ends[-1]
