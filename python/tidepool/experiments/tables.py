"""Results as tables: text, HTML in a notebook, a DataFrame, an Arrow table; and as pictures."""

from __future__ import annotations

import html
import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidepool.amounts import aligned
from tidepool.errors import TidepoolError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 60  # rows of a table in a notebook or a terminal
KEPT = ("misses", "hit_ratio", "miss_ratio")  # columns that are shown even if they are all 0


class Table(ABC):
    """Rows of named values."""

    @abstractmethod
    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows; all have the same names, in the same order."""

    def to_table(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        rows = list(self.rows())
        names = list(rows[0]) if rows else []
        return pa.table({name: [row[name] for row in rows] for name in names})

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame; raise TidepoolError if there is no pandas."""
        try:
            importlib.import_module("pandas")
        except ImportError:
            raise TidepoolError(
                "to_frame needs pandas, which is not installed",
                "Install it (pip install pandas), or take to_table(), an Arrow table.",
            ) from None
        return self.to_table().to_pandas()

    def _cells(self) -> tuple[list[str], list[list[str]], set[int]]:
        """Return headers, the first rows as text, and which columns are of numbers."""
        rows = list(self.rows())
        shown = rows[:SHOWN]
        # columns that say nothing are left out
        names = [
            name
            for name in (rows[0] if rows else ())
            if name in KEPT or any(row[name] not in (None, "", 0) for row in rows)
        ]
        right = {
            i
            for i, name in enumerate(names)
            if all(isinstance(row[name], (int, float)) or row[name] is None for row in rows)
        }
        cells = [[_shown(name, row[name]) for name in names] for row in shown]
        return [name.replace("_", " ") for name in names], cells, right

    def __str__(self) -> str:
        headers, cells, right = self._cells()
        if not cells:
            return "nothing"
        more = sum(1 for _ in self.rows()) - len(cells)
        return "\n".join(aligned([headers, *cells], right) + [f"… {more:,} more rows"] * (more > 0))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headers, cells, right = self._cells()
        more = sum(1 for _ in self.rows()) - len(cells)

        def row(tag: str, texts: Sequence[str]) -> str:
            return "".join(
                f'<{tag} style="text-align: {"right" if i in right else "left"}">'
                f"{html.escape(text)}</{tag}>"
                for i, text in enumerate(texts)
            )

        body = "".join(f"<tr>{row('td', line)}</tr>" for line in cells)
        rest = f"<p>… {more:,} more rows</p>" if more > 0 else ""
        head = f"<thead><tr>{row('th', headers)}</tr></thead>"
        return f"<table>{head}<tbody>{body}</tbody></table>{rest}"


class Drawn(Table):
    """Rows that can also be drawn."""

    @abstractmethod
    def plot(self) -> Figure:
        """Return a picture; tidepool.plots.save writes it to a file."""


class Rows(Table):
    """Rows that are given."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows."""
        return iter(self._rows)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return str(value) if name == "seed" else f"{value:,}"
    if "ratio" in name or name == "error":
        return f"{100 * value:.2f}%"
    return f"{value:.4g}"
