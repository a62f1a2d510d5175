"""Drawing the tree of a cluster: lines and colours for a person, plain text for a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from kapstan.cluster.management.tree import Part, waiting_for

__all__ = ("age", "console", "draw", "listed", "show")

_COLOURS = {"True": "green", "False": "red", "Unknown": "yellow"}
# So many objects that are alike in a row become one line.
_MANY = 5
_LIMIT = 20  # lines of what is waited for
_ENDLESS = 10_000
_LEAST = 12  # what is left of the last column in the narrowest terminal


def console() -> Console:
    """Standard output. A pipe gets lines as long as they are."""
    found = Console(highlight=False, soft_wrap=False)
    return found if found.is_terminal else Console(highlight=False, width=_ENDLESS)


def draw(out: Console, tree: Part) -> None:
    """Draw the tree, and what is waited for."""
    table = listed("NAME", "STATUS", "REASON", "SINCE", "DETAILS")
    for lead, part in _rows(tree):
        _add(table, lead, part)
    show(out, table)
    waiting = list(waiting_for(tree))
    if not waiting:
        return
    click.echo("\nWaiting for:")
    for part, why in waiting[:_LIMIT]:
        click.echo(f"  {part.title}: {why}")
    if len(waiting) > _LIMIT:
        click.echo(f"  ... and {len(waiting) - _LIMIT} more")


def show(out: Console, table: Table) -> None:
    """Print a table; a pipe gets no blanks at the ends of lines.

    Where a terminal is too narrow the last column is cut. All others stay whole, if need be beyond the edge: names and
    states must be readable.
    """
    if out.is_terminal:
        _fit(out, table)
        out.print(table, crop=False)
        return
    with out.capture() as text:
        out.print(table)
    for line in text.get().splitlines():
        click.echo(line.rstrip())


def _fit(out: Console, table: Table) -> None:
    """Give the last column what the others leave, which left to itself rich takes from all of them alike."""
    last, endless = table.columns[-1], out.options.update(max_width=_ENDLESS)
    last.max_width = _LEAST
    least = Measurement.get(out, endless, table).maximum
    last.max_width = max(_LEAST, _LEAST + out.width - least)
    out.width = max(out.width, least)


def listed(*columns: str) -> Table:
    """A table as kubectl has it: no lines, a heading."""
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def age(since: datetime | None, now: datetime | None = None) -> str:
    """How long ago, in one word."""
    if since is None:
        return ""
    seconds = max(0, int(((now or datetime.now(UTC)) - since).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _add(table: Table, lead: str, part: Part) -> None:
    condition = part.condition
    title = Text(f"{lead}{part.title}")
    if condition is None:
        table.add_row(title, "", "", "", part.detail)
        return
    status = "Deleting" if part.deleting else f"{condition.type}: {condition.status}"
    colour = "magenta" if part.deleting else _COLOURS[condition.status]
    reason = "" if part.well else condition.reason
    table.add_row(title, Text(status, style=colour), reason, age(condition.last_transition_time), part.detail)


def _rows(part: Part, lead: str = "", below: str = "") -> Iterator[tuple[str, Part]]:
    yield lead, part
    parts = _grouped(part.parts)
    for index, child in enumerate(parts):
        last = index == len(parts) - 1
        yield from _rows(child, below + ("└─" if last else "├─"), below + ("  " if last else "│ "))


def _grouped(parts: Sequence[Part]) -> list[Part]:
    """Machines that are well and alike stand in one line where they are many."""
    alike = [part for part in parts if part.well and not part.parts and part.kind == "Machine"]
    if len(alike) <= _MANY:
        return list(parts)
    first = alike[0]
    names = f"{first.name}, {alike[1].name}, ..."
    together = Part(kind=f"{len(alike)} Machines", condition=first.condition, detail=names)
    return [together, *(part for part in parts if part not in alike)]
