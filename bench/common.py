"""What the experiments share: a table on the terminal, CSV and picture in bench/out/."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

OUT = Path(__file__).resolve().parent / "out"


def report(name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """Print the rows as a table and write them to bench/out/NAME.csv; return that path."""
    OUT.mkdir(exist_ok=True)
    table = Table(title=title)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(
            *(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        )
    # wide enough wherever it is read, also through a pipe
    Console(width=max(100, 14 * len(columns))).print(table)
    path = OUT / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path
