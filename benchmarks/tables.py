"""A table of results: for people as Markdown, for programs as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.plots import Plot


@dataclass(frozen=True)
class Table:
    """Rows under column titles, with what they mean."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    plot: Plot | None = None

    def markdown(self) -> str:
        """As a Markdown section."""
        cells = [[_text(cell) for cell in row] for row in self.rows]
        widths = [max(len(cell) for cell in column) for column in zip(self.columns, *cells, strict=True)]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in [list(self.columns), ["-" * width for width in widths], *cells]
        ]
        note = ["", self.note] if self.note else []
        plot = ["", f"![{self.plot.title}](plots/{self.plot.name}.svg)"] if self.plot else []
        return "\n".join([f"### {self.title}", "", *lines, *note, *plot])

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "note": self.note, "facts": self.facts}


def machine() -> str:
    """The machine and the Python that results are from."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
