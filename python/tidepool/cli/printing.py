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

from tidepool.amounts import printable, printable_lines

WIDE = 10_000  # characters: of output that is not to a terminal, which wraps nothing
GAP = 3  # characters between columns
FOLDED = 12  # characters that a column of text may be folded to


Cell = str | Text


def print_table(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    left: int = 1,
    keys: int = 1,
) -> None:
    """Print a table and an empty line; the first ``left`` columns are text, the others numbers.

    On a terminal that is too narrow, columns of text are folded; columns of
    numbers follow in further parts, each beginning with the first ``keys``
    columns.
    """
    terminal = sys.stdout.isatty()
    width = Console().width if terminal else WIDE
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=terminal, highlight=False)
    if title:
        console.print(Text(printable(title), style="bold"))
    for chosen in _parts(headers, rows, left, keys, width):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for i in chosen:
            if i < left:
                table.add_column(Text(headers[i]), justify="left", overflow="fold")
            else:
                table.add_column(Text(headers[i]), justify="right", no_wrap=True)
        for row in rows:
            cells = [row[i] for i in chosen]
            table.add_row(*map(_text, cells))
        console.print(table)
        console.print()
    click.echo("\n".join(line.rstrip() for line in text.getvalue().splitlines()))


def _text(cell: Cell) -> Text:
    return Text(printable_lines(cell)) if isinstance(cell, str) else cell


def _parts(
    headers: Sequence[str], rows: Sequence[Sequence[Cell]], left: int, keys: int, width: int
) -> list[list[int]]:
    """Return the columns of each part of a table, so that no number is cut off."""
    columns = zip(headers, *rows, strict=True)
    widths = [
        max(len(line) for cell in column for line in str(cell).splitlines() or [""])
        for column in columns
    ]
    repeated = list(range(keys))
    first = max(left, keys)
    folded = sum(min(w, FOLDED) if i < left else w for i, w in enumerate(widths[:first]))
    parts = [list(range(first))]
    used = start = folded + GAP * first
    for i in range(first, len(headers)):
        if used + widths[i] + GAP > width and used > start:
            parts.append(repeated.copy())
            used = start = sum(widths[k] + GAP for k in repeated)
        parts[-1].append(i)
        used += widths[i] + GAP
    return parts


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
