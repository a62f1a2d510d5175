"""Merging an applied value into a live one: what it mentions is set, everything else stays.

Parts that the applied value does not touch, or leaves as they are, are shared with the live value.
"""

from __future__ import annotations

from operator import is_
from typing import Any

from kapstan.machinery.apply.types import Atom, ListType, MapType

__all__ = ("merge",)

_ABSENT: Any = object()


def merge(atom: Atom, live: Any, applied: Any) -> Any:
    """The live value with the applied one merged in."""
    if atom.exact and live == applied:
        return live
    kind = atom.only or atom.of(applied)
    if isinstance(kind, MapType) and not kind.atomic:
        old, new = live if type(live) is dict else {}, applied if type(applied) is dict else {}
        if old or new:
            return _merge_maps(kind, old, new)
    elif isinstance(kind, ListType) and not kind.atomic:
        old_items, new_items = live if type(live) is list else [], applied if type(applied) is list else []
        if old_items or new_items:
            return _merge_lists(kind, old_items, new_items)
    return applied


def _merge_maps(kind: MapType, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    if not live:
        return applied
    result = live
    for name, value in applied.items():
        old = live.get(name, _ABSENT)
        if old is value:
            continue
        atom = kind.fields.get(name) or kind.element
        merged = value if old is _ABSENT or atom is None else merge(atom, old, value)
        if merged is not old:
            if result is live:
                result = live.copy()
            result[name] = merged
    return result


def _merge_lists(kind: ListType, live: list[Any], applied: list[Any]) -> list[Any]:
    """What the applied list has, in its order; the other items where they stood among those."""
    if not live:
        return applied
    names = [kind.path_element(item) for item in live]
    new = {kind.path_element(item): item for item in applied}
    old: dict[str, list[Any]] = {}
    for name, item in zip(names, live, strict=True):
        old.setdefault(name, []).append(item)
    result: list[Any] = []
    for at, name in _order(names, list(new), [name for name in new if name in old]):
        if at is not None:
            result.append(live[at])
        elif name not in old:
            result.append(new[name])
        else:
            # Several live items of one name are no base to merge with: the applied one replaces them.
            base = old[name][0] if len(old[name]) == 1 else None
            result.append(merge(kind.element, base, new[name]))
    if len(result) == len(live) and all(map(is_, result, live)):
        return live
    return result


def _order(live: list[str], applied: list[str], shared: list[str]) -> list[tuple[int | None, str]]:
    """What to take, in order: an item of the live list by its position, or an applied one by its name."""
    taken: list[tuple[int | None, str]] = []
    wanted = set(applied)
    done: set[str] = set()
    pending = iter(shared)
    expected = next(pending, None)
    at = next_applied = 0
    while at < len(live) or next_applied < len(applied):
        if at < len(live):
            name = live[at]
            if name not in wanted:
                taken.append((at, name))
                at += 1
                continue
            both = next_applied < len(applied)
            if both and name == applied[next_applied]:
                at += 1
            elif both and expected is not None and name != expected:
                at += 1  # shared, but not the one whose turn it is: it comes with the applied list
                continue
            elif name in done:
                at += 1
        if next_applied < len(applied):
            name = applied[next_applied]
            taken.append((None, name))
            done.add(name)
            next_applied += 1
            if name == expected:
                expected = next(pending, None)
    return taken
