"""Recordings of a server: what pg_bufferpool_trace_start has written.

The file is described in docs/trace-format.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.input_file import Source, trace_errors
from tidepool.traces.model import CHUNK_ROWS, Chunk, Kind
from tidepool.traces.provenance import Recorded, parse_object, parse_recorded

MAGIC = b"TPRECORD"
VERSION = 2

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("text_size", "<u4"),  # of the description that follows, padded to whole records
        ("origin", "<u8"),  # of the records' times
        ("page_size", "<u4"),
        ("reserved", "<u4"),
    ]
)
RECORD = np.dtype(
    [
        ("time", "<u8"),  # nanoseconds
        ("tablespace", "<u4"),
        ("database", "<u4"),
        ("file", "<u4"),
        ("block", "<u4"),  # of the end, bytes of the text that follows
        ("process", "<u4"),  # as algorithms are told
        ("flags", "<u2"),
        ("fork", "u1"),
        ("kind", "u1"),
    ]
)
END = 255  # the kind of the record that no record follows
KINDS = (Kind.READ, Kind.WRITE, Kind.FORGET, Kind.PINNED, Kind.UNPINNED, Kind.DIRTIED)

Records = NDArray[np.void]


class RecordingTrace(FileTrace):
    """A server's recording.

    Relations are numbered from 1 in the order of tablespace, database and
    file.  To know them the file is read once when it is opened; memory is one
    chunk and the relations.

    A recording that was cut short by a crash or a full disk is good up to its
    last whole record, and has no names.
    """

    format = "recording"
    recorded: Recorded

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._names: dict[str, str] = {}
        self.length = 0
        found: set[tuple[int, int]] = set()  # tablespace and database as one number, file
        with trace_errors(self.path):
            for records in self._records():
                self.length += len(records)
                places, where = np.unique(_places(records), return_inverse=True)
                pairs = np.unique(where.astype(np.uint64) << np.uint64(32) | records["file"])
                found.update(
                    (int(places[pair >> 32]), pair & 0xFFFFFFFF) for pair in pairs.tolist()
                )
        relations = sorted(found)
        places = np.array([place for place, _ in relations], np.uint64)
        files = np.array([file for _, file in relations], np.uint64)
        self._places = np.unique(places)
        self._relations = self._keys(places, files)
        self.relations = {
            number: self._names[name]
            for number, (place, file) in enumerate(relations, 1)
            if (name := f"{place >> 32}/{place & 0xFFFFFFFF}/{file}") in self._names
        }

    def _keys(self, places: NDArray[np.uint64], files: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return a number for each relation, by which they are in order."""
        index = np.searchsorted(self._places, places).astype(np.uint64)
        return index << np.uint64(32) | files

    def _read(self) -> Iterator[Chunk]:
        latest = 0
        for records in self._records():
            keys = self._keys(_places(records), records["file"].astype(np.uint64))
            relation = np.searchsorted(self._relations, keys).astype(np.uint64) + np.uint64(1)
            page = (
                relation << np.uint64(34)
                | records["fork"].astype(np.uint64) << np.uint64(32)
                | records["block"]
            )
            # an event that was written late counts as happening then
            time = np.maximum(records["time"], self._origin) - self._origin
            time = np.maximum.accumulate(np.maximum(time // np.uint64(1000), np.uint64(latest)))
            latest = int(time[-1])
            yield Chunk(
                page=page,
                kind=records["kind"].copy(),
                flags=records["flags"].astype(np.uint16),
                time=time,
                backend=records["process"].astype(np.uint32),
            )

    # ---- the file ----

    def _records(self) -> Iterator[Records]:
        """Yield the records, and take note of what is before and behind them."""
        with self.source.open() as stream:
            position = self._read_header(stream)
            while data := stream.read(CHUNK_ROWS * RECORD.itemsize):
                records = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
                ends = np.flatnonzero(records["kind"] == END)
                n = int(ends[0]) if len(ends) else len(records)
                self._check(records[:n], position)
                if n > 0:
                    yield records[:n]
                if len(ends):
                    rest = data[(n + 1) * RECORD.itemsize :] + stream.read()
                    self._read_end(rest, int(records["block"][n]))
                    return
                position += len(data)

    def _read_header(self, stream: BinaryIO) -> int:
        """Read what is before the records; return its size."""
        data = stream.read(HEADER.itemsize)
        if len(data) < HEADER.itemsize:
            raise TraceError(f"{self.path}: the file ends within its header")
        header = np.frombuffer(data, HEADER)[0]
        if header["magic"] != MAGIC:
            raise TraceError(f"{self.path}: not a recording")
        if header["version"] != VERSION:
            raise TraceError(
                f"{self.path}: version {header['version']} of recordings is not supported,"
                f" only {VERSION}"
            )
        self.page_size = int(header["page_size"])
        self._origin = header["origin"]
        text_size = int(header["text_size"])
        padded = -(-text_size // RECORD.itemsize) * RECORD.itemsize
        text = stream.read(padded)
        if len(text) < padded:
            raise TraceError(f"{self.path}: the file ends within its header")
        try:
            self.recorded = parse_recorded(text[:text_size])
        except ValueError:
            raise TraceError(f"{self.path}: damaged header") from None
        if self.page_size == 0:
            raise TraceError(f"{self.path}: damaged header")
        return HEADER.itemsize + padded

    def _check(self, records: Records, position: int) -> None:
        wrong = ~np.isin(records["kind"], KINDS) | (records["fork"] > 3)
        if wrong.any():
            at = position + int(wrong.argmax()) * RECORD.itemsize
            raise TraceError(f"{self.path}: byte {at}: not a record")

    def _read_end(self, data: bytes, size: int) -> None:
        if len(data) < size:
            return  # cut short
        try:
            end = parse_object(data[:size])
            self._names = {str(place): str(name) for place, name in end["relations"].items()}
            dropped, error = end["dropped"], end["error"]
            if not isinstance(dropped, int) or dropped < 0 or not isinstance(error, str | None):
                raise ValueError
        except (ValueError, KeyError, AttributeError):
            raise TraceError(f"{self.path}: damaged end of the recording") from None
        self.recorded = replace(self.recorded, dropped=dropped, error=error)


def _places(records: Records) -> NDArray[np.uint64]:
    places: NDArray[np.uint64] = records["tablespace"].astype(np.uint64)
    places = places << np.uint64(32) | records["database"]
    return places
