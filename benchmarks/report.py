"""Tables: what was measured, and its ratio to ours."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

__all__ = ("Report",)


class Report:
    """Numbers by measure and contestant. The first contestant is ours; the others are shown with their ratio to it."""

    def __init__(self, title: str, contestants: list[str]) -> None:
        self.title, self.contestants = title, contestants
        self._rows: list[tuple[str, str, dict[str, float]]] = []

    def add(self, measure: str, unit: str, values: Mapping[str, float]) -> None:
        self._rows.append((measure, unit, dict(values)))

    def show(self) -> None:
        table = Table(title=self.title, title_justify="left")
        table.add_column("measure")
        table.add_column("unit")
        for contestant in self.contestants:
            table.add_column(contestant, justify="right")
        for measure, unit, values in self._rows:
            table.add_row(measure, unit, *(self._cell(values, name) for name in self.contestants))
        Console(width=max(100, Console().width)).print(table)

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", "| measure | unit | " + " | ".join(self.contestants) + " |"]
        lines.append("| --- | --- | " + " | ".join("---:" for _ in self.contestants) + " |")
        for measure, unit, values in self._rows:
            cells = " | ".join(self._cell(values, name) for name in self.contestants)
            lines.append(f"| {measure} | {unit} | {cells} |")
        return "\n".join(lines) + "\n"

    def _cell(self, values: Mapping[str, float], name: str) -> str:
        if name not in values:
            return "—"
        ours = values.get(self.contestants[0])
        text = _number(values[name])
        if name == self.contestants[0] or not ours:
            return text
        return f"{text} ({values[name] / ours:.2f}×)"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
