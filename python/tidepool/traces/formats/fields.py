"""The fields of an event as columns of a table, and chunks made from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidepool.errors import TraceError
from tidepool.traces.formats.input_file import shown
from tidepool.traces.formats.keys import Keys
from tidepool.traces.model import Chunk, Kind

# The fields of an event and the types that their columns are read as.  A
# block, with or without relation and fork, can stand in for a page.
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
    "pool": pa.uint8(),
    "bitmap": pa.string(),
}

KINDS: dict[str, Kind] = {
    **{kind.name.lower(): kind for kind in Kind},
    **{str(kind.value): kind for kind in Kind},
    **dict.fromkeys(("r", "false"), Kind.READ),
    **dict.fromkeys(("w", "true"), Kind.WRITE),
}

# Microseconds in a unit of time.
UNITS: dict[str, float] = {"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}


@dataclass(frozen=True)
class Column:
    """Where a field is: in the column of this name, or with this number from 1."""

    name: str
    unit: str = "us"  # of time

    @property
    def number(self) -> int | None:
        """The name as a number, if it is one."""
        return int(self.name) if self.name.isascii() and self.name.isdigit() else None

    def index(self, cells: list[str], are_names: bool) -> int | None:
        """Return its position from 0, given the first line's cells; None if it is not there."""
        if are_names and self.name in cells:
            return cells.index(self.name)
        if self.number is not None and 1 <= self.number <= len(cells):
            return self.number - 1
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


def find_columns(
    path: str,
    columns: Mapping[str, Column] | None,
    cells: list[str],
    are_names: bool = True,
    keyed: bool = False,
) -> dict[str, int]:
    """Return the position of each field's column, given the first line's cells.

    Without ``columns``, each field is in the column of its name.
    ``are_names``: the first line is a header.  ``keyed``: pages are made from
    keys, which need a column "page".
    """
    if columns is None:
        columns = {field: Column(field) for field in FIELDS if field in cells}
    names = ", ".join(map(shown, cells[:20]))
    if "page" not in columns and "block" not in columns:
        raise TraceError(
            f'{path}: no column "page" or "block"',
            f"Say which columns to read, e.g. page=NAME,time=NAME:s.  The file has: {names}.",
        )
    if keyed and "page" not in columns:
        raise TraceError(
            f"{path}: no column for keys", f"Name one: page=COLUMN.  The file has: {names}."
        )
    indexes: dict[str, int] = {}
    for field, column in columns.items():
        index = column.index(cells, are_names)
        if index is None:
            raise TraceError(f'{path}: no column "{column.name}"', f"The file has: {names}.")
        if index in indexes.values():
            raise TraceError(f"{path}: one column for two fields")
        indexes[field] = index
    return indexes


class EventMaker:
    """Turns a file's columns, which have the types in FIELDS, into events, batch by batch.

    ``unit`` is the unit of times; unless it is microseconds, times are
    floating-point numbers.  With ``keys``, pages are keys.  Messages count rows
    from 1.
    """

    def __init__(self, path: str, unit: str = "us", keys: Keys | None = None) -> None:
        self._path = path
        self._microseconds = UNITS[unit]
        self._keys = keys
        self._time = 0  # the latest so far

    def chunk(self, columns: Mapping[str, Any], row: int) -> Chunk:
        """Return the events of a batch whose first row is number ``row`` + 1."""
        arrays = {
            field: self._array(values, field, row)
            for field, values in columns.items()
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
        bitmaps = self._bitmaps(columns["bitmap"], row) if "bitmap" in columns else {}
        return Chunk(page=page, bitmaps=bitmaps, **arrays)

    def _array(self, values: Any, field: str, row: int) -> NDArray[Any]:
        if field == "kind":
            return self._kinds(values, row)
        if values.null_count:
            if field in ("page", "block"):
                missing = int(values.is_null().to_numpy(zero_copy_only=False).argmax())
                raise self._wrong(row + missing, f"no {field}")
            values = values.fill_null(0)
        if field == "page" and self._keys is not None:
            return self._keys.pages(values)
        array: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return self._times(array, row) if field == "time" else array

    def _times(self, times: NDArray[Any], row: int) -> NDArray[np.uint64]:
        """Return times in microseconds; one that is earlier than the one before counts as that."""
        if times.dtype != np.uint64:
            times = np.floor(times * self._microseconds + 0.5)
            wrong = ~((times >= 0) & (times < 2.0**63))
            if wrong.any():
                raise self._wrong(row + int(wrong.argmax()), "the time is out of range")
            times = times.astype(np.uint64)
        times = np.maximum.accumulate(np.maximum(times, np.uint64(self._time)))
        if len(times):
            self._time = int(times[-1])
        return times

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
            raise self._wrong(row + at, f'not a kind: "{shown(values[at].as_py())}"')
        return array

    def _bitmaps(self, values: Any, row: int) -> dict[int, bytes]:
        bitmaps = {}
        for at in np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)).tolist():
            value = values[at].as_py()
            try:
                binary = isinstance(value, bytes)
                bitmaps[at] = value if binary else bytes.fromhex(value.removeprefix("0x"))
            except ValueError:
                raise self._wrong(row + at, "the bitmap is not hexadecimal") from None
        return bitmaps

    def _check_below(
        self, arrays: dict[str, NDArray[Any]], field: str, limit: int, row: int
    ) -> None:
        if field in arrays and (wrong := arrays[field] >= limit).any():
            at = int(wrong.argmax())
            raise self._wrong(row + at, f"{field} {arrays[field][at]} is above {limit - 1}")

    def _wrong(self, at: int, what: str) -> TraceError:
        return TraceError(f"{self._path}: row {at + 1}: {what}")
