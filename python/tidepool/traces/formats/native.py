"""The native format: Parquet with zstd.  Described in docs/trace-format.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tidepool.errors import TraceError
from tidepool.traces.columns import DTYPES, column, resize
from tidepool.traces.formats.base import FileTrace, NotHeldError
from tidepool.traces.formats.input_file import Source, shown, trace_errors
from tidepool.traces.formats.parquet_file import open_parquet
from tidepool.traces.model import CHUNK_ROWS, PAGE_SIZE, Chunk, Kind, Trace
from tidepool.traces.provenance import parse_recorded

VERSION = 1

SCHEMA = pa.schema(
    [
        pa.field("time", pa.uint64(), nullable=False),
        pa.field("kind", pa.uint8(), nullable=False),
        pa.field("relation", pa.uint32(), nullable=False),
        pa.field("fork", pa.uint8(), nullable=False),
        pa.field("block", pa.uint32(), nullable=False),
        pa.field("backend", pa.uint32(), nullable=False),
        pa.field("scan", pa.uint64(), nullable=False),
        pa.field("flags", pa.uint16(), nullable=False),
        pa.field("count", pa.uint32(), nullable=False),
        pa.field("size", pa.uint32(), nullable=False),
        pa.field("low", pa.uint32(), nullable=False),
        pa.field("speed", pa.float32(), nullable=False),
        pa.field("pool", pa.uint8(), nullable=False),
        pa.field("bitmap", pa.binary()),
    ]
)

# Columns whose values are nearly sorted or all different; a dictionary of
# the others' values is small.
_DELTA = ("time", "block")


# ---- writing ----


def write_native(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write events as a native trace, a row group for every CHUNK_ROWS of them."""
    metadata = {
        "tidepool.version": str(VERSION),
        "tidepool.page_size": str(trace.page_size),
        "tidepool.relations": json.dumps({str(k): v for k, v in trace.relations.items()}),
    }
    if trace.recorded is not None:
        metadata["tidepool.recorded"] = trace.recorded.to_json()
    with pq.ParquetWriter(
        out,
        SCHEMA.with_metadata(metadata),
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name in SCHEMA.names if name not in (*_DELTA, "bitmap")],
        column_encoding=dict.fromkeys(_DELTA, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
    ) as writer:
        position = 0
        time = 0
        defaults = {"bitmap", *DTYPES}
        for chunk in resize(chunks):
            if chunk.time is not None:
                if (row := _first_decrease(chunk.time, time)) is not None:
                    raise NotHeldError(f"time decreases at event {position + row}")
                time = int(chunk.time[-1])
            writer.write_table(_table(chunk, position), row_group_size=CHUNK_ROWS)
            position += len(chunk)
            defaults = {name for name in defaults if _is_default(chunk, name)}
        writer.add_key_value_metadata({"tidepool.defaults": json.dumps(sorted(defaults))})


def _is_default(chunk: Chunk, name: str) -> bool:
    """Whether a column has its default throughout, so that readers can skip it."""
    if name == "bitmap":
        return not chunk.bitmaps
    values = getattr(chunk, name)
    return values is None or (name != "time" and not values.any())


def _table(chunk: Chunk, position: int) -> pa.Table:
    bitmaps = pa.nulls(len(chunk), pa.binary())
    if chunk.bitmaps:
        bitmaps = pa.array([chunk.bitmaps.get(row) for row in range(len(chunk))], pa.binary())
    arrays = {
        "relation": (chunk.page >> np.uint64(34)).astype(np.uint32),
        "fork": (chunk.page >> np.uint64(32) & np.uint64(3)).astype(np.uint8),
        "block": (chunk.page & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        "bitmap": bitmaps,
    }
    return pa.table(
        [
            arrays[name] if name in arrays else column(chunk, name, position)
            for name in SCHEMA.names
        ],
        schema=SCHEMA,
    )


def _first_decrease(time: NDArray[np.uint64], before: int) -> int | None:
    """Return the first row whose time is less than the one before it."""
    wrong = time < np.concatenate([[np.uint64(before)], time[:-1]])
    return int(wrong.argmax()) if wrong.any() else None


# ---- reading ----


class NativeTrace(FileTrace):
    """A trace in the native format."""

    format = "native"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with trace_errors(self.path), open_parquet(source) as file:
            names = file.schema_arrow.names
            metadata = file.metadata.metadata or {}
            self.length = file.metadata.num_rows
        self._read_metadata(metadata, names)
        if "block" not in names:
            raise TraceError(f'{self.path}: the trace has no column "block"')

    def _read_metadata(self, metadata: dict[bytes, bytes], names: list[str]) -> None:
        version = metadata.get(b"tidepool.version")
        if version is None:
            raise TraceError(
                f"{self.path}: a Parquet file, but not a trace",
                "Say which columns to read: --columns page=NAME,…"
                f"  The file has: {', '.join(map(shown, names[:20]))}.",
            )
        if version != str(VERSION).encode():
            raise TraceError(
                f"{self.path}: version {shown(version.decode(errors='replace'))} of the format"
                f" is not supported, only {VERSION}"
            )
        try:
            defaults = json.loads(metadata.get(b"tidepool.defaults", b"[]"))
            self._unread = {"bitmap", *DTYPES} & set(defaults)
            self.page_size = int(metadata.get(b"tidepool.page_size", PAGE_SIZE))
            relations = json.loads(metadata.get(b"tidepool.relations", b"{}"))
            self.relations = {int(relation): str(name) for relation, name in relations.items()}
            if (recorded := metadata.get(b"tidepool.recorded")) is not None:
                self.recorded = parse_recorded(recorded)
        except (ValueError, TypeError, AttributeError):
            raise TraceError(f"{self.path}: damaged metadata") from None
        if self.page_size <= 0:
            raise TraceError(f"{self.path}: damaged metadata")

    def _read(self) -> Iterator[Chunk]:
        position = 0
        time = 0
        with open_parquet(self.source) as file:
            names = [name for name in file.schema_arrow.names if name in SCHEMA.names]
            wanted = [name for name in names if name not in self._unread]
            for batch in file.iter_batches(CHUNK_ROWS, columns=wanted, use_threads=False):
                if batch.num_rows == 0:
                    continue
                chunk = self._chunk(batch, position)
                if chunk.time is not None:
                    if (row := _first_decrease(chunk.time, time)) is not None:
                        raise TraceError(f"{self.path}: row {position + row}: time decreases")
                    time = int(chunk.time[-1])
                position += len(chunk)
                yield chunk
            if position != self.length:
                raise TraceError(f"{self.path}: {position} events instead of {self.length}")

    def _chunk(self, batch: pa.RecordBatch, position: int) -> Chunk:
        arrays = {
            name: self._column(batch, name) for name in batch.schema.names if name != "bitmap"
        }
        self._check_range(arrays, "kind", max(Kind), position)
        self._check_range(arrays, "relation", 2**30 - 1, position)
        self._check_range(arrays, "fork", 3, position)
        page = arrays.pop("block").astype(np.uint64)
        if "relation" in arrays:
            page |= arrays.pop("relation").astype(np.uint64) << np.uint64(34)
        if "fork" in arrays:
            page |= arrays.pop("fork").astype(np.uint64) << np.uint64(32)
        bitmaps = {}
        if "bitmap" in batch.schema.names:
            values = batch["bitmap"].cast(pa.binary())
            rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)).tolist()
            bitmaps = {row: values[row].as_py() for row in rows}
        return Chunk(page=page, bitmaps=bitmaps, **arrays)

    def _column(self, batch: pa.RecordBatch, name: str) -> NDArray[Any]:
        values = batch[name]
        if values.null_count:
            raise TraceError(f'{self.path}: nulls in column "{name}"')
        if values.type != SCHEMA.field(name).type:
            values = values.cast(SCHEMA.field(name).type)
        array: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return array

    def _check_range(
        self, arrays: dict[str, NDArray[Any]], name: str, largest: int, position: int
    ) -> None:
        if name in arrays and (wrong := arrays[name] > largest).any():
            row = int(wrong.argmax())
            raise TraceError(
                f"{self.path}: row {position + row}: {name} {arrays[name][row]} is above {largest}"
            )
