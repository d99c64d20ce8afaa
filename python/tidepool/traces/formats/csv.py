"""CSV traces, read by a map from fields of events to columns; among them the WATT authors'."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.input_file import BLOCK_BYTES, Source, shown
from tidepool.traces.model import Chunk, Kind

# What a column can be for, and how it is read.  A block, with a relation and
# a fork or without, does for a page; kinds are words.
FIELDS: dict[str, pa.DataType] = {
    "page": pa.uint64(),
    "relation": pa.uint32(),
    "fork": pa.uint8(),
    "block": pa.uint32(),
    "kind": pa.dictionary(pa.int32(), pa.string()),
    "time": pa.uint64(),
    "flags": pa.uint16(),
    "backend": pa.uint32(),
    "scan": pa.uint64(),
    "count": pa.uint32(),
    "size": pa.uint32(),
    "low": pa.uint32(),
    "speed": pa.float32(),
    "bitmap": pa.string(),
}

KINDS: dict[str, Kind] = {
    **{kind.name.lower(): kind for kind in Kind},
    **{str(kind.value): kind for kind in Kind},
    **dict.fromkeys(("r", "false"), Kind.READ),
    **dict.fromkeys(("w", "true"), Kind.WRITE),
}

# Microseconds a unit of time has.
UNITS: dict[str, float] = {"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}

DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Column:
    """Where a field is: in the column of this name, or with this number from 1."""

    name: str
    unit: str = "us"  # of time

    def index(self, header: list[str]) -> int | None:
        """Return the column's position from 0 in a file with this header, if it has it."""
        if self.name in header:
            return header.index(self.name)
        if self.name.isascii() and self.name.isdigit() and 1 <= int(self.name) <= len(header):
            return int(self.name) - 1
        return None


def parse_columns(columns: Mapping[str, str]) -> dict[str, Column]:
    """Check a map from fields to columns as users write it: {"page": "lbn", "time": "ts:s"}."""
    parsed = {}
    for field, name in columns.items():
        if field not in FIELDS:
            raise TraceError(f'an event has no "{field}"', f"It has: {', '.join(FIELDS)}.")
        stem, colon, unit = name.rpartition(":")
        timed = field == "time" and colon and unit in UNITS
        parsed[field] = Column(stem, unit) if timed else Column(name)
    if "page" not in parsed and "block" not in parsed:
        raise TraceError("no column for the page", "Name one: page=COLUMN.")
    return parsed


class CsvTrace(FileTrace):
    """A CSV trace.

    ``columns`` says where the fields are; by default, in the columns of
    their names.  A first line in which the page is no number is a header;
    lines before it that begin with # are skipped.
    """

    format = "csv"

    def __init__(
        self, source: Source, head: bytes, columns: Mapping[str, Column] | None = None
    ) -> None:
        super().__init__(source)
        first, self._skip = first_line(head)
        self._delimiter = delimiter_of(first)
        try:
            header = [
                name.strip() for name in next(csv.reader([first], delimiter=self._delimiter), [])
            ]
        except csv.Error:
            raise TraceError(f"{self.path}: the first line is not CSV") from None
        if columns is None:
            columns = {field: Column(field) for field in FIELDS if field in header}
        self._units = {field: UNITS[column.unit] for field, column in columns.items()}
        self._indexes = self._find(columns, header)
        self._width = len(header)
        place = self._indexes["page" if "page" in self._indexes else "block"]
        if not header[place].isdigit():
            self._skip += 1

    def _find(self, columns: Mapping[str, Column], header: list[str]) -> dict[str, int]:
        names = ", ".join(map(shown, header[:20]))
        if "page" not in columns and "block" not in columns:
            raise TraceError(
                f'{self.path}: no column "page" or "block"',
                f"Say which columns to read, e.g. page=NAME,time=NAME:s.  The file has: {names}.",
            )
        indexes = {}
        for field, column in columns.items():
            index = column.index(header)
            if index is None:
                raise TraceError(
                    f'{self.path}: no column "{column.name}"', f"The file has: {names}."
                )
            indexes[field] = index
        return indexes

    def _read(self) -> Iterator[Chunk]:
        row = self._skip
        time = 0
        with self.source.open() as stream, self._told():
            for batch in self._batches(stream):  # of fewer rows than a chunk may have
                if batch.num_rows == 0:
                    continue
                chunk = self._chunk(batch, row, time)
                if chunk.time is not None:
                    time = int(chunk.time[-1])
                row += len(chunk)
                yield chunk

    def _batches(self, stream: Any) -> Iterator[pa.RecordBatch]:
        types = {}
        for field, index in self._indexes.items():
            fractional = field == "time" and self._units["time"] != 1
            types[f"c{index}"] = pa.float64() if fractional else FIELDS[field]
        if len(types) < len(self._indexes):
            raise TraceError(f"{self.path}: one column for two fields")
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
    def _told(self) -> Iterator[None]:
        """Turn pyarrow's errors into ours: where, and what."""
        try:
            yield
        except pa.ArrowInvalid as error:
            raise TraceError(f"{self.path}: {self._explain(str(error).splitlines()[0])}") from None

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

    def _chunk(self, batch: pa.RecordBatch, row: int, time: int) -> Chunk:
        arrays = {
            field: self._column(batch[f"c{index}"], field, row, time)
            for field, index in self._indexes.items()
            if field != "bitmap"
        }
        self._check_below(arrays, "relation", 2**30, row)
        self._check_below(arrays, "fork", 4, row)
        page = arrays.pop("page", None)
        parts = {
            field: arrays.pop(field).astype(np.uint64)
            for field in ("relation", "fork", "block")
            if field in arrays
        }
        if page is None:
            page = parts["block"]
            if "relation" in parts:
                page = page | parts["relation"] << np.uint64(34)
            if "fork" in parts:
                page = page | parts["fork"] << np.uint64(32)
        return Chunk(page=page, bitmaps=self._bitmaps(batch, row), **arrays)

    def _column(self, values: Any, field: str, row: int, time: int) -> NDArray[Any]:
        if field == "kind":
            return self._kinds(values, row)
        if values.null_count:
            if field in ("page", "block"):
                missing = int(values.is_null().to_numpy(zero_copy_only=False).argmax())
                raise TraceError(f"{self.path}: row {row + missing + 1}: no {field}")
            values = values.fill_null(0)
        array: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        if field == "time":
            array = self._microseconds(array, row)
            array = np.maximum.accumulate(np.maximum(array, np.uint64(time)))
        return array

    def _microseconds(self, times: NDArray[Any], row: int) -> NDArray[np.uint64]:
        if times.dtype == np.uint64:
            return times
        times = np.floor(times * self._units["time"] + 0.5)
        wrong = ~((times >= 0) & (times < 2.0**63))
        if wrong.any():
            raise TraceError(
                f"{self.path}: row {row + int(wrong.argmax()) + 1}: the time is out of range"
            )
        return times.astype(np.uint64)

    def _kinds(self, values: Any, row: int) -> NDArray[np.uint8]:
        words = values.dictionary.to_pylist()
        kinds = np.array(
            [KINDS.get(word.strip().lower(), 255) for word in words] + [Kind.READ], np.uint8
        )
        array: NDArray[np.uint8] = kinds[
            values.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        ]
        wrong = array == 255
        if wrong.any():
            at = int(wrong.argmax())
            raise TraceError(
                f'{self.path}: row {row + at + 1}: not a kind: "{shown(values[at].as_py())}"'
            )
        return array

    def _bitmaps(self, batch: pa.RecordBatch, row: int) -> dict[int, bytes]:
        if "bitmap" not in self._indexes:
            return {}
        values = batch[f"c{self._indexes['bitmap']}"]
        bitmaps = {}
        for at in np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)).tolist():
            try:
                bitmaps[at] = bytes.fromhex(values[at].as_py().removeprefix("0x"))
            except ValueError:
                raise TraceError(
                    f"{self.path}: row {row + at + 1}: the bitmap is not hexadecimal"
                ) from None
        return bitmaps

    def _check_below(
        self, arrays: dict[str, NDArray[Any]], field: str, limit: int, row: int
    ) -> None:
        if field in arrays and (wrong := arrays[field] >= limit).any():
            at = int(wrong.argmax())
            raise TraceError(
                f"{self.path}: row {row + at + 1}: {field} {arrays[field][at]} is above {limit - 1}"
            )


class WattTrace(CsvTrace):
    """The CSV of the WATT authors' simulator: a page, and True if it is written."""

    format = "watt"
    HEADER = "pages,is_write"

    def __init__(self, source: Source, head: bytes) -> None:
        if first_line(head)[0].strip() != self.HEADER:
            raise TraceError(f'{source.path}: the first line is not "{self.HEADER}"')
        super().__init__(source, head, {"page": Column("pages"), "kind": Column("is_write")})


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
