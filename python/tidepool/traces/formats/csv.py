"""CSV, read by a map from the fields of events to columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from tidepool.errors import TraceError
from tidepool.traces.columns import column
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.fields import FIELDS, Column, EventMaker, find_columns
from tidepool.traces.formats.input_file import BLOCK_BYTES, Source, shown
from tidepool.traces.formats.keys import HINT, make_keys
from tidepool.traces.formats.lines import words, write_lines
from tidepool.traces.model import Chunk, Kind, Trace

DELIMITERS = ",;\t|"

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")


class CsvTrace(FileTrace):
    """A CSV trace.

    ``columns`` maps fields to columns; by default, to those of the same name.
    ``keys`` is how pages are made from keys (keys.py).  Leading lines that
    begin with # are skipped.
    """

    format = "csv"

    def __init__(
        self,
        source: Source,
        head: bytes,
        columns: Mapping[str, Column] | None = None,
        keys: str | None = None,
    ) -> None:
        super().__init__(source)
        first, self._skip = first_line(head)
        self._delimiter = delimiter_of(first)
        try:
            cells = [
                cell.strip() for cell in next(csv.reader([first], delimiter=self._delimiter), [])
            ]
        except csv.Error:
            raise TraceError(f"{self.path}: the first line is not CSV") from None
        keyed = keys is not None
        is_header = _is_header(cells, columns, keyed)
        self._indexes = find_columns(self.path, columns, cells, is_header, keyed)
        self._keys = keys
        self._unit = columns["time"].unit if columns and "time" in columns else "us"
        self._width = len(cells)
        self._skip += is_header

    def _read(self) -> Iterator[Chunk]:
        row = self._skip
        events = EventMaker(self.path, self._unit, make_keys(self._keys))
        with self.source.open() as stream, self._errors():
            for batch in self._batches(stream):  # of fewer rows than a chunk may have
                if batch.num_rows == 0:
                    continue
                columns = {field: batch[f"c{index}"] for field, index in self._indexes.items()}
                yield events.chunk(columns, row)
                row += batch.num_rows

    def _batches(self, stream: Any) -> Iterator[pa.RecordBatch]:
        types = {}
        for field, index in self._indexes.items():
            fractional = field == "time" and self._unit != "us"
            types[f"c{index}"] = pa.float64() if fractional else FIELDS[field]
            if field == "page" and self._keys is not None:
                types[f"c{index}"] = pa.string()
        yield from pacsv.open_csv(
            stream,
            pacsv.ReadOptions(
                use_threads=False,  # also makes it count rows
                block_size=BLOCK_BYTES,
                skip_rows=self._skip,
                column_names=[f"c{i}" for i in range(self._width)],
            ),
            pacsv.ParseOptions(delimiter=self._delimiter),
            pacsv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn pyarrow's errors into ours."""
        try:
            yield
        except pa.ArrowInvalid as error:
            what = self._explain(str(error).splitlines()[0])
            hint = HINT if "not a page: " in what else None
            raise TraceError(f"{self.path}: {what}", hint) from None

    def _explain(self, message: str) -> str:
        if "straddling" in message:
            return f"a line is longer than {BLOCK_BYTES} bytes"
        if message == "Empty CSV file":
            return "the trace is empty"
        row = re.search(r"Row #(\d+): ", message)
        where = f"row {row[1]}: " if row else ""
        if found := re.search(r"Expected (\d+) columns, got (\d+)", message):
            return f"{where}{found[2]} columns instead of {found[1]}"
        field = next(
            (f for f, i in self._indexes.items() if message.startswith(f"In CSV column #{i}:")),
            "field",
        )
        if "invalid UTF8" in message:
            return f"{where}the {field} is not UTF-8"
        if found := re.search(r"invalid value '(.*?)'?$", message):
            return f'{where}not a {field}: "{shown(found[1])}"'
        return where + message.rpartition(": ")[2]


def _is_header(cells: list[str], columns: Mapping[str, Column] | None, keyed: bool) -> bool:
    """Whether the first line holds the names of the columns.

    It does if one of the wanted names is in it.  With columns given by number
    alone, it does unless its page is a number, or could be a key.
    """
    if columns is None:
        return True
    if any(column.number is None and column.name in cells for column in columns.values()):
        return True
    place = columns["page" if "page" in columns else "block"].number
    if place is None or not 1 <= place <= len(cells):
        return True  # the missing column is an error later
    return not keyed and not _NUMBER.fullmatch(cells[place - 1])


def first_line(head: bytes) -> tuple[str, int]:
    """Return the first line that is neither empty nor a comment, and how many are before it."""
    lines = head.decode("utf-8-sig", errors="replace").split("\n")
    for skipped, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            return line.rstrip("\r"), skipped
    return "", 0


def delimiter_of(line: str) -> str:
    """Return the character that separates the columns of a line."""
    return max(DELIMITERS, key=line.count)


def write_csv(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write everything that an event has."""
    kinds = [kind.name.lower() for kind in Kind]
    fields = [field for field in FIELDS if field != "page"]
    out.write((",".join(fields) + "\n").encode())
    position = 0
    for chunk in chunks:
        special = {
            "relation": chunk.page >> np.uint64(34),
            "fork": chunk.page >> np.uint64(32) & np.uint64(3),
            "block": chunk.page & np.uint64(0xFFFFFFFF),
            "kind": words(kinds, column(chunk, "kind", position)),
            "bitmap": _hexadecimal(chunk),
        }
        write_lines(
            out, [special[f] if f in special else column(chunk, f, position) for f in fields]
        )
        position += len(chunk)


def _hexadecimal(chunk: Chunk) -> Any:
    if not chunk.bitmaps:
        return pa.nulls(len(chunk), pa.string())
    values = (chunk.bitmaps.get(row) for row in range(len(chunk)))
    return pa.array(
        [None if value is None else f"0x{value.hex()}" for value in values], pa.string()
    )
