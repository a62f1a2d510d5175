"""Merging conditions: many become one that says whether all is well, and if not, what is wrong where.

A summary merges different conditions of one object; an aggregate merges the same condition of many objects. Both sort
what they merge into issues, unknowns and mere information: an issue outweighs an unknown, an unknown outweighs
information, and the message tells of the weightiest only. The wording is Cluster API's: people compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from kapstan.cluster.skeleton.conditions import Conditioned, get
from kapstan.cluster.skeleton.labels import CONTROL_PLANE
from kapstan.cluster.skeleton.reasons import Reason
from kapstan.machinery.conditions import find
from kapstan.machinery.meta import Condition, ConditionStatus
from kapstan.machinery.model import Resource
from kapstan.machinery.scheme import pluralize

__all__ = ("Priority", "PriorityFunction", "Reasons", "Reported", "aggregate", "priority_of", "report", "summary")


class Priority(IntEnum):
    """How much a condition weighs in a merge; the lower, the more."""

    ISSUE = 0
    UNKNOWN = 1
    INFO = 2


PriorityFunction: TypeAlias = Callable[[Condition], Priority]


class Reasons(NamedTuple):
    """The reason that the result gives for each outcome."""

    issue: str = Reason.ISSUES_REPORTED
    unknown: str = Reason.UNKNOWN_REPORTED
    info: str = Reason.INFO_REPORTED


class Reported(NamedTuple):
    """A condition, and whose it is."""

    condition: Condition
    kind: str
    name: str
    control_plane: bool = False  # a machine of the control plane is told of first


def priority_of(*negative: str) -> PriorityFunction:
    """Weigh conditions by their status, where True is well except for those that are `negative`."""

    def priority(condition: Condition) -> Priority:
        if condition.status == "Unknown":
            return Priority.UNKNOWN
        well = (condition.status == "True") is not (condition.type in negative)
        return Priority.INFO if well else Priority.ISSUE

    return priority


# --- Summary: different conditions of one object ----------------------------------------------------------------------


def summary(
    conditions: Sequence[Condition],
    type: str,
    of: Sequence[str],
    reasons: Reasons,
    *,
    priority: PriorityFunction,
    optional: Collection[str] = (),
    instead: Mapping[str, Condition] | None = None,
    rewrite: Callable[[list[str]], list[str]] = lambda lines: lines,
) -> Condition:
    """Merge conditions of one object, most relevant first as `of` lists them.

    One that is absent is unknown, unless it is optional. `instead` has conditions that stand in for the object's own,
    `rewrite` may change the lines of the message.
    """
    merged: list[Condition] = []
    for name in of:
        found = find(conditions, name)
        if found is not None:
            merged.append((instead or {}).get(name, found))
        elif name not in optional:
            merged.append(_not_reported(name, "Condition not yet reported"))
    status, reason = _outcome([priority(condition) for condition in merged], reasons)
    lines = [
        f"* {condition.type}:{_indented(condition.message) if condition.message else f' {condition.reason}'}"
        for condition in merged
        if priority(condition) != Priority.INFO or (status == "True" and condition.message)
    ]
    return Condition(type=type, status=status, reason=reason, message="\n".join(rewrite(lines)))


# --- Aggregate: the same condition of many objects --------------------------------------------------------------------


def report(objects: Collection[Conditioned], source: str) -> list[Reported]:
    """The same condition of several objects; where one has none, that it has none."""
    return [Reported(get(obj, source) or _not_reported(source), *_whose(obj)) for obj in objects]


def aggregate(
    reported: Sequence[Reported], type: str, reasons: Reasons, *, negative: bool = False, show: int = 3
) -> Condition:
    """Merge the same condition of many objects. If it is negative (True is not well), so is the result."""
    priority = priority_of(*({one.condition.type for one in reported} if negative else ()))
    status, reason = _outcome([priority(one.condition) for one in reported], reasons)
    if negative and status != "Unknown":
        status = "False" if status == "True" else "True"
    unwell = [one for one in reported if priority(one.condition) != Priority.INFO]
    told = unwell or [one for one in reported if one.condition.message]
    return Condition(type=type, status=status, reason=reason, message="\n".join(_told(told, priority, show)))


class _Said(NamedTuple):
    """A message, and which objects of a kind said it."""

    message: str
    names: list[str]
    first: bool
    priority: Priority


def _told(reported: Sequence[Reported], priority: PriorityFunction, show: int) -> list[str]:
    lines: list[str] = []
    for kind in sorted({one.kind for one in reported}):
        said = _said([one for one in reported if one.kind == kind], priority)
        shown, others = said[:show], said[show:]
        show -= len(shown)
        lines += [f"* {_named(kind, one.names)}:{_indented(one.message)}" for one in shown]
        for weight, words in _OTHERS.items():
            count = sum(len(one.names) for one in others if one.priority == weight)
            if count:
                lines.append(f"And {count} {kind if count == 1 else pluralize(kind)} {words}")
    return lines


_OTHERS = {
    Priority.ISSUE: "with other issues",
    Priority.UNKNOWN: "with status unknown",
    Priority.INFO: "with additional info",
}


def _said(reported: Sequence[Reported], priority: PriorityFunction) -> list[_Said]:
    """Messages with who said them: those of the control plane first, then by weight, then what most objects say."""
    by_message: dict[str, list[Reported]] = {}
    for one in reported:
        by_message.setdefault(one.condition.message, []).append(one)
    said = [
        _Said(
            message,
            [one.name for one in sorted(who, key=lambda one: (not one.control_plane, one.name))],
            any(one.control_plane for one in who),
            min(priority(one.condition) for one in who),
        )
        for message, who in by_message.items()
    ]
    return sorted(said, key=lambda one: (not one.first, one.priority, -len(one.names), one.names))


def _named(kind: str, names: Sequence[str], limit: int = 3) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    more = f", ... ({len(names) - limit} more)" if len(names) > limit else ""
    return f"{pluralize(kind)} {', '.join(names[:limit])}{more}"


def _whose(obj: Conditioned) -> tuple[str, str, bool]:
    kind = obj.kind if isinstance(obj, Resource) else type(obj).__name__
    return kind, obj.metadata.name, kind == "Machine" and CONTROL_PLANE in obj.metadata.labels


# --- Both -------------------------------------------------------------------------------------------------------------


def _outcome(priorities: Collection[Priority], reasons: Reasons) -> tuple[ConditionStatus, str]:
    """Status (positive) and reason of the result."""
    weightiest = min(priorities, default=Priority.INFO)
    if weightiest == Priority.ISSUE:
        return "False", reasons.issue
    return ("Unknown", reasons.unknown) if weightiest == Priority.UNKNOWN else ("True", reasons.info)


def _not_reported(type: str, message: str = "") -> Condition:
    message = message or f"Condition {type} not yet reported"
    return Condition(type=type, status="Unknown", reason=Reason.NOT_YET_REPORTED, message=message)


_BULLET = re.compile(r"\s*\*\s+")


def _indented(message: str) -> str:
    """A message behind its bullet: one of several lines, or with bullets of its own, becomes a list below it."""
    lines = message.split("\n")
    if len(lines) == 1 and not _BULLET.search(message):
        return f" {message}"
    bullets = [_BULLET.search(line) is not None for line in lines]
    if all(bullets):
        return "".join(f"\n  {line}" for line in lines)
    return "".join(f"\n  {'  ' if bullet else '* '}{line}" for line, bullet in zip(lines, bullets, strict=True))
