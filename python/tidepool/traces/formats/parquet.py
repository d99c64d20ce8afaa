"""Parquet files other than native traces, read by a map from fields of events to columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.fields import FIELDS, Column, EventMaker, find_columns
from tidepool.traces.formats.input_file import Source, shown, trace_errors
from tidepool.traces.formats.keys import HINT, are_keys, make_keys
from tidepool.traces.formats.parquet_file import open_parquet
from tidepool.traces.model import CHUNK_ROWS, Chunk


class ParquetTrace(FileTrace):
    """A table of events, such as pandas writes.

    ``columns`` maps fields to columns; by default, to those of the same name.
    ``keys`` is how pages are made from keys (keys.py).
    """

    format = "parquet"

    def __init__(
        self, source: Source, columns: Mapping[str, Column] | None = None, keys: str | None = None
    ) -> None:
        super().__init__(source)
        with trace_errors(self.path), open_parquet(source) as file:
            schema = file.schema_arrow
            self.length = file.metadata.num_rows
        indexes = find_columns(self.path, columns, schema.names, keyed=keys is not None)
        self._names = {field: schema.names[index] for field, index in indexes.items()}
        self._unit = columns["time"].unit if columns and "time" in columns else "us"
        self._keys = keys
        for field, name in self._names.items():
            self._check_type(field, name, schema.field(indexes[field]).type)

    def _check_type(self, field: str, name: str, kind: Any) -> None:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_ = pa.types
        whole = is_.is_integer(kind) or is_.is_boolean(kind)
        number = whole or is_.is_floating(kind)
        text = is_.is_string(kind) or is_.is_large_string(kind)
        fits = {
            "page": are_keys(kind) or (number and self._keys is None),
            "kind": whole or text,
            "time": number or _is_time(kind),
            "bitmap": text or is_.is_binary(kind) or is_.is_large_binary(kind),
        }
        if not fits.get(field, number or text):
            raise TraceError(f'{self.path}: column "{shown(name)}" holds {kind}, no {field}')

    def _read(self) -> Iterator[Chunk]:
        row = 0
        events = EventMaker(self.path, self._unit, make_keys(self._keys))
        names = list(self._names.values())
        with open_parquet(self.source) as file:
            for batch in file.iter_batches(CHUNK_ROWS, columns=names, use_threads=False):
                if batch.num_rows == 0:
                    continue
                columns = {
                    field: self._converted(batch[name], field, row)
                    for field, name in self._names.items()
                }
                yield events.chunk(columns, row)
                row += batch.num_rows

    def _converted(self, values: Any, field: str, row: int) -> Any:
        """Return a column as the event maker takes it."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if field == "page" and self._keys is not None:
            return values
        if field == "bitmap":
            return values
        if field == "kind":
            return values.cast(pa.string()).dictionary_encode()
        wanted = FIELDS[field]
        if field == "time":
            if _is_time(values.type):
                values = _microseconds(values)
            elif self._unit != "us" or pa.types.is_floating(values.type):
                return values.cast(pa.float64())
        try:
            return values.cast(wanted)
        except pa.ArrowInvalid:
            raise self._wrong(values, field, wanted, row) from None

    def _wrong(self, values: Any, field: str, wanted: Any, row: int) -> TraceError:
        """Return the error for the first value that does not fit the wanted type."""
        at = next((i for i in range(len(values)) if not _fits(values[i], wanted)), 0)
        return TraceError(
            f'{self.path}: row {row + at + 1}: not a {field}: "{shown(str(values[at].as_py()))}"',
            HINT if field == "page" else None,
        )


def _is_time(kind: Any) -> bool:
    types = pa.types
    of_day = types.is_time(kind) or types.is_date(kind)
    return bool(types.is_timestamp(kind) or types.is_duration(kind) or of_day)


def _microseconds(times: Any) -> Any:
    """Return times, dates and durations as whole numbers of microseconds."""
    if pa.types.is_duration(times.type):
        return times.cast(pa.duration("us"), safe=False).cast(pa.int64())
    if pa.types.is_time(times.type):
        return times.cast(pa.time64("us"), safe=False).cast(pa.int64())
    return times.cast(pa.timestamp("us"), safe=False).cast(pa.int64())


def _fits(value: Any, wanted: Any) -> bool:
    try:
        value.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True
