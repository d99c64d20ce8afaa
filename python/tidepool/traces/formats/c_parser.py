"""What the formats that are parsed in C share (sim/include/tidepool/readers.h)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidepool._sim import ffi, lib
from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.input_file import BLOCK_BYTES
from tidepool.traces.model import CHUNK_ROWS, Chunk

_DTYPES = {"page": np.uint64, "time": np.uint64, "kind": np.uint8}


class _Columns:
    """A chunk that the parser fills."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.handle = ffi.new("tps_columns *")
        self._renew()

    def _renew(self) -> None:
        self.arrays: dict[str, Any] = {
            name: np.empty(CHUNK_ROWS, _DTYPES[name]) for name in self.names
        }
        for name, array in self.arrays.items():
            setattr(self.handle, name, ffi.from_buffer(f"uint{array.itemsize * 8}_t *", array))
        self.handle.capacity = CHUNK_ROWS
        self.handle.rows = 0

    def take(self) -> Chunk:
        """Return what has been written and make room again."""
        rows = self.handle.rows
        arrays = self.arrays
        if rows < CHUNK_ROWS:  # do not keep the unused rest alive
            arrays = {name: array[:rows].copy() for name, array in arrays.items()}
        self._renew()
        return Chunk(**arrays)


class ParsedTrace(FileTrace):
    """A trace in one of the formats of readers.h.

    Memory is one chunk, whatever the file: a line of an ARC trace may stand
    for four billion references.
    """

    parser: int  # tps_format
    columns: tuple[str, ...]
    unit: str  # what positions in messages count
    hint: str | None = None  # what to do about a page that is none
    page_bytes = 0

    def _read(self) -> Iterator[Chunk]:
        reader = ffi.new("tps_reader *")
        lib.tps_reader_init(reader, self.parser, self.page_bytes)
        columns = _Columns(self.columns)
        with self.source.open() as stream:
            while reader.error == ffi.NULL and (block := stream.read(BLOCK_BYTES)):
                yield from self._feed(reader, block, columns)
        while not lib.tps_reader_finish(reader, columns.handle) and reader.error == ffi.NULL:
            yield columns.take()
        if columns.handle.rows > 0:
            yield columns.take()
        if reader.error != ffi.NULL:
            why = ffi.string(reader.error).decode()
            raise TraceError(f"{self.path}: {self.unit} {reader.position}: {why}", self.hint)

    @staticmethod
    def _feed(reader: Any, block: bytes, columns: _Columns) -> Iterator[Chunk]:
        rest = ffi.from_buffer("unsigned char[]", block)
        size = len(block)
        used = 0
        while used < size and reader.error == ffi.NULL:
            used += lib.tps_reader_feed(reader, rest + used, size - used, columns.handle)
            if columns.handle.rows == CHUNK_ROWS:
                yield columns.take()
