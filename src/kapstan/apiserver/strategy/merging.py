"""What a change leaves as it was, and whether it changes anything."""

from __future__ import annotations

from typing import Any

__all__ = ("changed", "restore")

Object = dict[str, Any]


def restore(obj: Object, old: Object, name: str) -> None:
    """Make a field what it was, which may be absent."""
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def changed(obj: Object, old: Object, *path: str) -> bool:
    """Whether the values at a path differ; absent and empty are the same."""
    new_value, old_value = obj, old
    for name in path:
        new_value, old_value = (new_value or {}).get(name) or {}, (old_value or {}).get(name) or {}
    return bool(new_value != old_value)
