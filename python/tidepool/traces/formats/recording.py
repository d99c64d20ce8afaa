"""Recordings of a server: what pg_bufferpool_trace_start has written.

The file is described in docs/trace-format.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.input_file import Source, trace_errors
from tidepool.traces.model import CHUNK_ROWS, Chunk, Kind
from tidepool.traces.provenance import Recorded, parse_object, parse_recorded

MAGIC = b"TPRECORD"
VERSIONS = (2, 3)  # 2 has no pools

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
        ("process", "<u4"),  # as algorithms are told; pool << POOL_SHIFT
        ("flags", "<u2"),
        ("fork", "u1"),
        ("kind", "u1"),
    ]
)
POOL_SHIFT = 24
TEXT = 254  # the kind of records that hold text, in place of a page
END = 255  # the kind of the record that no record follows
KINDS = (
    Kind.READ,
    Kind.WRITE,
    Kind.FORGET,
    Kind.PINNED,
    Kind.UNPINNED,
    Kind.DIRTIED,
    Kind.WRITTEN,
    Kind.POOL,
    Kind.MOVED,
    Kind.PAGE_MOVED,
)
WITHOUT_PAGE = (Kind.POOL, Kind.MOVED)

Records = NDArray[np.void]


@dataclass
class _Text:
    """A definition whose records are being read."""

    missing: int  # bytes
    parts: bytes = b""


class _Texts:
    """Puts definitions of pools together, whose records those of others may part.

    A definition counts as an event at its last record.  One that lacks a record,
    because the server had no room for it, is left out.
    """

    def __init__(self) -> None:
        self._begun: dict[int, _Text] = {}  # by process

    def taken(self, records: Records) -> tuple[Records, dict[int, bytes]]:
        """Return records without texts, and the definitions by row."""
        special = np.flatnonzero((records["kind"] == Kind.POOL) | (records["kind"] == TEXT))
        if len(special) == 0:
            return records, {}
        found: dict[int, bytes] = {}  # by row before
        for row in special.tolist():
            process = int(records["process"][row])
            if records["kind"][row] == Kind.POOL:
                self._begun[process] = _Text(int(records["block"][row]))
            elif (text := self._add(process, records[row].tobytes())) is not None:
                found[row] = text
        kept = np.ones(len(records), np.bool_)
        kept[special] = False
        kept[list(found)] = True
        changed = records.copy()
        changed["kind"][list(found)] = Kind.POOL
        rows = np.cumsum(kept) - 1
        return changed[kept], {int(rows[row]): text for row, text in found.items()}

    def _add(self, process: int, record: bytes) -> bytes | None:
        """Add a record's text; return the whole one if it is complete."""
        text = self._begun.get(process)
        if text is None:
            return None
        part = record[8:24][: text.missing]
        text.parts += part
        text.missing -= len(part)
        if text.missing > 0:
            return None
        del self._begun[process]
        return text.parts


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
        changes_pools = False
        with trace_errors(self.path):
            for records, _ in self._events():
                self.length += len(records)
                of_pages = ~np.isin(records["kind"], WITHOUT_PAGE)
                changes_pools = changes_pools or not of_pages.all()
                records = records[of_pages]
                places, where = np.unique(_places(records), return_inverse=True)
                pairs = np.unique(where.astype(np.uint64) << np.uint64(32) | records["file"])
                found.update(
                    (int(places[pair >> 32]), pair & 0xFFFFFFFF) for pair in pairs.tolist()
                )
        if len(self.recorded.pools) == 1 and not changes_pools:
            self.recorded = replace(self.recorded, pools=())
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
        for records, definitions in self._events():
            keys = self._keys(_places(records), records["file"].astype(np.uint64))
            relation = np.searchsorted(self._relations, keys).astype(np.uint64) + np.uint64(1)
            page = (
                relation << np.uint64(34)
                | records["fork"].astype(np.uint64) << np.uint64(32)
                | records["block"]
            )
            moved = records["kind"] == Kind.MOVED
            count = np.where(moved, records["block"], 0).astype(np.uint32) if moved.any() else None
            page[np.isin(records["kind"], WITHOUT_PAGE)] = 0
            pool = (records["process"] >> np.uint32(POOL_SHIFT)).astype(np.uint8)
            # an event that was written late counts as happening then
            time = np.maximum(records["time"], self._origin) - self._origin
            time = np.maximum.accumulate(np.maximum(time // np.uint64(1000), np.uint64(latest)))
            latest = int(time[-1])
            yield Chunk(
                page=page,
                kind=records["kind"].copy(),
                flags=records["flags"].astype(np.uint16),
                time=time,
                backend=records["process"] & np.uint32((1 << POOL_SHIFT) - 1),
                count=count,
                pool=pool if pool.any() else None,
                bitmaps=definitions,
            )

    # ---- the file ----

    def _events(self) -> Iterator[tuple[Records, dict[int, bytes]]]:
        """Yield the records of events, and the definitions of pools by row."""
        texts = _Texts()
        for records in self._records():
            kept, definitions = texts.taken(records)
            if len(kept):
                yield kept, definitions

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
        if header["version"] not in VERSIONS:
            raise TraceError(
                f"{self.path}: version {header['version']} of recordings is not supported,"
                f" only {' and '.join(map(str, VERSIONS))}"
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
        wrong = ~np.isin(records["kind"], (*KINDS, TEXT)) | (records["fork"] > 3)
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
