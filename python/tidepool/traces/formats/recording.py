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
from tidepool.traces.columns import OF_POOLS
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.input_file import Source, trace_errors
from tidepool.traces.formats.recording_records import (
    END,
    HEADER,
    KINDS,
    MAGIC,
    OF_NUMBERS,
    POOL_SHIFT,
    RECORD,
    VERSIONS,
    WITH_BLOCKS,
    Records,
    Texts,
    has_bitmap,
    places,
    without_page,
)
from tidepool.traces.formats.recording_scans import Begun, Readers, Scans
from tidepool.traces.model import CHUNK_ROWS, Chunk, Kind
from tidepool.traces.provenance import (
    Recorded,
    parse_object,
    parse_read_times,
    parse_recorded,
)

# what a file may ask memory for, in bytes: more than any server writes
LONGEST_HEADER = 1 << 20
LONGEST_END = 1 << 28
MOST_BITMAPS = 1 << 30  # of a chunk


class RecordingTrace(FileTrace):
    """A server's recording.

    Relations are numbered from 1 in the order of tablespace, database and
    file.  To know them the file is read once when it is opened; memory is one
    chunk and the relations.

    Times are those of the server's clock, which algorithms went by: some of them
    divide it into slices.

    A recording that was cut short by a crash or a full disk is good up to its
    last whole record, and has no names.
    """

    format = "recording"
    recorded: Recorded
    _described: Recorded  # by the file, as far as it has been read

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._names: dict[str, str] = {}
        self.length = 0
        found: set[tuple[int, int]] = set()  # tablespace and database as one number, file
        changes_pools = False
        with trace_errors(self.path):
            for records, _, _ in self._events():
                self.length += len(records)
                changes_pools |= bool(np.isin(records["kind"], OF_POOLS).any())
                records = records[~without_page(records)]
                spaces, where = np.unique(places(records), return_inverse=True)
                pairs = np.unique(where.astype(np.uint64) << np.uint64(32) | records["file"])
                found.update(
                    (int(spaces[pair >> 32]), pair & 0xFFFFFFFF) for pair in pairs.tolist()
                )
        self.recorded = self._described
        if len(self.recorded.pools) == 1 and not changes_pools:
            self.recorded = replace(self.recorded, pools=())
        relations = sorted(found)
        spaces = np.array([place for place, _ in relations], np.uint64)
        files = np.array([file for _, file in relations], np.uint64)
        self._places = np.unique(spaces)
        self._relations = self._keys(spaces, files)
        self.relations = {
            number: self._names[name]
            for number, (place, file) in enumerate(relations, 1)
            if (name := f"{place >> 32}/{place & 0xFFFFFFFF}/{file}") in self._names
        }

    def _keys(self, spaces: NDArray[np.uint64], files: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return a number for each relation, by which they are in order."""
        index = np.searchsorted(self._places, spaces).astype(np.uint64)
        return index << np.uint64(32) | files

    def _read(self) -> Iterator[Chunk]:
        latest = self._origin // 1000
        scans = Scans()
        for records, texts, scan in self._events():
            keys = self._keys(places(records), records["file"].astype(np.uint64))
            relation = np.searchsorted(self._relations, keys).astype(np.uint64) + np.uint64(1)
            page = (
                relation << np.uint64(34)
                | records["fork"].astype(np.uint64) << np.uint64(32)
                | records["block"]
            )
            numbered = np.isin(records["kind"], OF_NUMBERS)
            count = np.where(numbered, records["block"], 0).astype(np.uint32)
            size = np.zeros(len(records), np.uint32)
            page[without_page(records)] = 0
            page[records["kind"] == Kind.SSD_RELATION] &= ~np.uint64(0xFFFFFFFF)
            bitmaps = 0  # bytes
            for row in np.flatnonzero(records["kind"] == Kind.SCAN_BEGIN).tolist():
                begun = Begun.parse(texts.pop(row), has_bitmap(records[row]))
                scan[row], count[row], size[row] = begun.scan, begun.count, begun.size
                if begun.bitmap is not None:
                    texts[row] = begun.bitmap
                    bitmaps += len(begun.bitmap)
                if bitmaps > MOST_BITMAPS:
                    raise TraceError(
                        f"{self.path}: damaged: bitmaps of more than"
                        f" {MOST_BITMAPS:,} bytes in {len(records):,} events"
                    )
            scans.follow(records, scan, page, count)
            pool = (records["process"] >> np.uint32(POOL_SHIFT)).astype(np.uint8)
            of_blocks = np.isin(records["kind"], WITH_BLOCKS)
            count[of_blocks] = pool[of_blocks]
            pool[of_blocks | (records["kind"] == Kind.SSD_HAS)] = 0
            # an event that was written late counts as happening then
            time = np.maximum(records["time"] // np.uint64(1000), np.uint64(latest))
            time = np.maximum.accumulate(time)
            latest = int(time[-1])
            yield Chunk(
                page=page,
                kind=records["kind"].copy(),
                flags=records["flags"].astype(np.uint16),
                time=time,
                backend=records["process"] & np.uint32((1 << POOL_SHIFT) - 1),
                scan=scan if scan.any() else None,
                count=count if count.any() else None,
                size=size if size.any() else None,
                pool=pool if pool.any() else None,
                bitmaps=texts,
            )

    # ---- the file ----

    def _events(self) -> Iterator[tuple[Records, dict[int, bytes], NDArray[np.uint64]]]:
        """Yield the records of events, their texts by row, and their scans.

        A scan's number is in its text when it begins; here it is 0 then.
        """
        texts = Texts()
        readers = Readers()
        for records in self._records():
            try:
                with_texts, found = texts.taken(records)
            except ValueError as error:
                raise TraceError(f"{self.path}: damaged: {error}") from None
            events, kept, scan = readers.taken(with_texts)
            rows = np.cumsum(kept) - 1
            if len(events):
                yield events, {int(rows[row]): text for row, text in found.items()}, scan

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
                    self._read_end(
                        data[(n + 1) * RECORD.itemsize :], stream, int(records["block"][n])
                    )
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
                f" only {VERSIONS[0]} to {VERSIONS[-1]}"
            )
        self.page_size = int(header["page_size"])
        self._origin = int(header["origin"])
        text_size = int(header["text_size"])
        if text_size > LONGEST_HEADER:
            raise TraceError(f"{self.path}: damaged header")
        padded = -(-text_size // RECORD.itemsize) * RECORD.itemsize
        text = stream.read(padded)
        if len(text) < padded:
            raise TraceError(f"{self.path}: the file ends within its header")
        try:
            self._described = parse_recorded(text[:text_size])
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

    def _read_end(self, begin: bytes, stream: BinaryIO, size: int) -> None:
        """Read a text of ``size`` bytes that begins with these, and goes on in the stream."""
        if size > LONGEST_END:
            raise TraceError(f"{self.path}: damaged end of the recording")
        data = begin + stream.read(max(0, size - len(begin)))
        if len(data) < size:
            return  # cut short
        try:
            end = parse_object(data[:size])
            read_times = parse_read_times(end.get("read_times"))
            self._names = {str(place): str(name) for place, name in end["relations"].items()}
            dropped, error = end["dropped"], end["error"]
            if not isinstance(dropped, int) or dropped < 0 or not isinstance(error, str | None):
                raise ValueError
            reads, read_time = (_measured(end.get(name)) for name in ("reads", "read_time"))
        except (ValueError, KeyError, AttributeError):
            raise TraceError(f"{self.path}: damaged end of the recording") from None
        self._described = replace(
            self._described,
            dropped=dropped,
            error=error,
            reads=reads,
            read_time=read_time,
            read_times=read_times,
        )


def _measured(value: object) -> int | None:
    """Return a count that the server may have measured; raise ValueError for anything else."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError
    return value
