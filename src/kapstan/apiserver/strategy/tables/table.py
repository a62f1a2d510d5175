"""Table: the columns of a kind, and the cells of one object's row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kapstan.apiserver.strategy.base import TableColumn

__all__ = ("AGE", "NAME", "Cells", "Object", "Table", "boolean", "integer", "text", "wide")

Object = dict[str, Any]
Cells = Callable[[Object, datetime], list[Any]]

NAME = TableColumn("Name", format="name", description="Name of the object, unique among those of its kind there.")
AGE = TableColumn("Age", description="Time since the object was created.")


def text(*names: str) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name) for name in names)


def integer(*names: str) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name, type="integer") for name in names)


def boolean(*names: str) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name, type="boolean") for name in names)


def wide(*names: str) -> tuple[TableColumn, ...]:
    """Columns that `kubectl get` shows with `-o wide` only."""
    return tuple(TableColumn(name, priority=1) for name in names)


class Table:
    """How a kind is shown as a table."""

    __slots__ = ("cells", "columns")

    def __init__(self, columns: tuple[TableColumn, ...], cells: Cells) -> None:
        self.columns = columns
        self.cells = cells
