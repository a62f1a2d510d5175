"""The answer to an apply that conflicts with others: what a person, or kubectl, needs to resolve it."""

from __future__ import annotations

from collections.abc import Iterable

from kapstan.machinery.apply.entries import identifier
from kapstan.machinery.apply.fieldpath import path_string
from kapstan.machinery.apply.updater import Conflict, Manager
from kapstan.machinery.errors import Conflict as ConflictError
from kapstan.machinery.golang import quote
from kapstan.machinery.meta import StatusCause, StatusDetails

__all__ = ("conflict_error",)


def conflict_error(conflicts: Iterable[Conflict]) -> ConflictError:
    """The 409 with one cause a field, ordered by manager."""
    ordered = sorted(conflicts, key=lambda conflict: identifier(conflict.manager))
    causes = [
        StatusCause(
            reason="FieldManagerConflict",
            message=f"conflict with {_described(conflict.manager)}",
            field=path_string(conflict.path),
        )
        for conflict in ordered
    ]
    return ConflictError(_message(ordered), details=StatusDetails(causes=causes))


def _message(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_described(manager)}: {path_string(path)}"
    lines: list[str] = []
    previous: Manager | None = None
    for manager, path in conflicts:
        if manager != previous:
            lines.append(f"conflicts with {_described(manager)}:")
            previous = manager
        lines.append(f"- {path_string(path)}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _described(manager: Manager) -> str:
    text = quote(manager.name)
    if manager.subresource:
        text += f" with subresource {quote(manager.subresource)}"
    if manager.operation == "Update":
        text += f" using {manager.api_version}"
    return text
