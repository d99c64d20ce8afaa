"""Results as tables for people, and as JSON lines and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.simulation.sizes import PAGE_BYTES

WIDE = 10_000  # columns: of output that is not to a terminal, which wraps nothing


def print_table(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str | Text]], left: int = 1
) -> None:
    """Print a table and an empty line; the first ``left`` columns are text, the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, header in enumerate(headers):
        if i < left:
            table.add_column(Text(header), justify="left", overflow="fold")
        else:
            table.add_column(Text(header), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    terminal = sys.stdout.isatty()
    width = max(Console().width, _least_width(headers, rows, left)) if terminal else WIDE
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=terminal, highlight=False)
    if title:
        console.print(Text(title, style="bold"))
    console.print(table)
    click.echo("\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n")


def _least_width(headers: Sequence[str], rows: Sequence[Sequence[str | Text]], left: int) -> int:
    """Return the width below which numbers would be cut off; text may fold."""
    columns = list(zip(headers, *rows, strict=True))[left:]
    return sum(2 + max(len(str(cell)) for cell in column) for column in columns) + 12 * left


def print_json(record: Mapping[str, Any]) -> None:
    """Print an object on a line of its own."""
    click.echo(json.dumps(record, ensure_ascii=False, allow_nan=False))


class CsvPrinter:
    """Prints records as CSV, the keys of the first above them."""

    def __init__(self) -> None:
        self._keys: list[str] | None = None

    def print(self, record: Mapping[str, Any]) -> None:
        """Print a record; an object within it becomes k=v,… as on the command line."""
        if self._keys is None:
            self._keys = list(record)
            self._write(self._keys)
        self._write([_field(record.get(key)) for key in self._keys])

    @staticmethod
    def _write(fields: Sequence[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(fields)
        click.echo(line.getvalue())


def _field(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return value


def count(number: float) -> str:
    """Return a count with its thousands apart."""
    return f"{number:,.0f}"


def percent(ratio: float, decimals: int = 2) -> str:
    """Return a ratio in percent."""
    return f"{100 * ratio:.{decimals}f}%"


def megabytes(frames: int) -> str:
    """Return the size of so many frames as PostgreSQL has it."""
    size, units = float(frames * PAGE_BYTES), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.3g} {units[0]}"
