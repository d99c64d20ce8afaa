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
from tidepool.traces.model import CHUNK_ROWS, Chunk, Flag, Kind
from tidepool.traces.provenance import Recorded, parse_object, parse_recorded

MAGIC = b"TPRECORD"
VERSIONS = (2, 3, 4)  # 2 has no pools, 3 no scans

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
SCAN = np.dtype(  # the text of a scan's beginning; of a bitmap scan, count bytes follow
    [("scan", "<u8"), ("count", "<u4"), ("size", "<u4")]
)
POOL_SHIFT = 24
FOR_SCAN = 0x2000  # of a reference: for the scan that the process has named last
READS_FOR = 253  # the kind of records that name it
TEXT = 254  # the kind of records that hold text, in place of a page
END = 255  # the kind of the record that no record follows
KINDS = (
    Kind.READ,
    Kind.WRITE,
    Kind.SCAN_BEGIN,
    Kind.SCAN_ADVANCE,
    Kind.SCAN_END,
    Kind.FORGET,
    Kind.PINNED,
    Kind.UNPINNED,
    Kind.DIRTIED,
    Kind.WRITTEN,
    Kind.POOL,
    Kind.MOVED,
    Kind.PAGE_MOVED,
    READS_FOR,
    TEXT,
)
WITHOUT_PAGE = (Kind.POOL, Kind.MOVED, Kind.SCAN_ADVANCE, Kind.SCAN_END)
BLOCK_GROUP = 128  # blocks
BITMAP_GROUPS = 4096  # that a server's bitmap has bits for
OF_SCANS = (Kind.SCAN_ADVANCE, Kind.SCAN_END, READS_FOR)  # with a scan in place of a page

Records = NDArray[np.void]


@dataclass
class _Text:
    """A text whose records are being read."""

    event: np.void  # that it belongs to
    missing: int  # bytes
    parts: bytes = b""


class _Texts:
    """Puts texts together, whose records those of other processes may part.

    They belong to definitions of pools and to scans that begin.  Such an event
    counts as happening at its last record.  One that lacks a record, because the
    server had no room for it, is left out.
    """

    def __init__(self) -> None:
        self._begun: dict[int, _Text] = {}  # by process

    def taken(self, records: Records) -> tuple[Records, dict[int, bytes]]:
        """Return the records of events, and their texts by row."""
        special = np.flatnonzero(np.isin(records["kind"], (Kind.POOL, Kind.SCAN_BEGIN, TEXT)))
        if len(special) == 0:
            return records, {}
        found: dict[int, _Text] = {}  # by row before
        for row in special.tolist():
            record = records[row]
            process = int(record["process"])
            if record["kind"] != TEXT:
                scan = record["kind"] == Kind.SCAN_BEGIN
                self._begun[process] = _Text(
                    record, SCAN.itemsize if scan else int(record["block"])
                )
            elif (text := self._add(process, record.tobytes())) is not None:
                found[row] = text
        kept = np.ones(len(records), np.bool_)
        kept[special] = False
        kept[list(found)] = True
        changed = records.copy()
        for row, text in found.items():
            changed[row] = text.event
        rows = np.cumsum(kept) - 1
        return changed[kept], {int(rows[row]): text.parts for row, text in found.items()}

    def _add(self, process: int, record: bytes) -> _Text | None:
        """Add a record's text; return the whole one if it is complete."""
        text = self._begun.get(process)
        if text is None:
            return None
        part = record[8:24][: text.missing]
        text.parts += part
        text.missing -= len(part)
        if text.missing == 0 and len(text.parts) == SCAN.itemsize and _has_bitmap(text.event):
            text.missing = int(np.frombuffer(text.parts, SCAN)[0]["count"])
        if text.missing > 0:
            return None
        del self._begun[process]
        return text


def _has_bitmap(event: np.void) -> bool:
    return bool(event["kind"] == Kind.SCAN_BEGIN and event["flags"] & Flag.BITMAP)


@dataclass
class _Begun:
    """What the text of a scan's beginning says."""

    scan: int
    count: int  # blocks
    size: int
    bitmap: bytes | None  # a bit for each block group

    @classmethod
    def parse(cls, text: bytes, has_bitmap: bool) -> _Begun:
        scan, count, size = np.frombuffer(text[: SCAN.itemsize], SCAN)[0].tolist()
        if not has_bitmap:
            return cls(scan, count, size, None)
        groups = _block_groups(text[SCAN.itemsize :], size)
        beyond = len(groups) * BLOCK_GROUP - size if len(groups) and groups[-1] else 0
        count = int(np.count_nonzero(groups)) * BLOCK_GROUP - beyond
        return cls(scan, count, size, np.packbits(groups, bitorder="little").tobytes())


def _block_groups(bitmap: bytes, size: int) -> NDArray[np.uint8]:
    """Return a bit for each block group of a relation of ``size`` blocks.

    The server has at most BITMAP_GROUPS bits, in large relations one for
    several groups.
    """
    bits: NDArray[np.uint8] = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    groups = -(-size // BLOCK_GROUP)
    each = 1
    while groups > each * BITMAP_GROUPS:
        each *= 2
    return np.repeat(bits, each)[:groups]


class _Scans:
    """Knows which relation each running scan reads."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}  # page of the relation, by scan

    def follow(
        self,
        records: Records,
        scan: NDArray[np.uint64],
        page: NDArray[np.uint64],
        count: NDArray[np.uint32],
    ) -> None:
        """Enter pages, and tuples as counts, into the rows of scans that advance."""
        kind = records["kind"]
        for row in np.flatnonzero(kind == Kind.SCAN_BEGIN).tolist():
            self._first[int(scan[row])] = int(page[row]) >> 32 << 32
        rows = kind == Kind.SCAN_ADVANCE
        ids, which = np.unique(scan[rows], return_inverse=True)
        first = np.array([self._first.get(id_, 0) for id_ in ids.tolist()], np.uint64)
        page[rows] = first[which] | records["block"][rows]
        count[rows] = records["file"][rows]
        for id_ in scan[kind == Kind.SCAN_END].tolist():
            self._first.pop(id_, None)


class _Readers:
    """Knows for which scan each process reads."""

    def __init__(self) -> None:
        self._scan: dict[int, int] = {}  # that the process has named last

    def taken(self, records: Records) -> tuple[Records, NDArray[np.bool_], NDArray[np.uint64]]:
        """Return records that name no scans, which of the given they are, and their scans."""
        kind = records["kind"]
        stated = _scans(records)
        scan = np.where(np.isin(kind, OF_SCANS), stated, 0).astype(np.uint64)
        asks = (kind <= Kind.WRITE) & (records["flags"] & FOR_SCAN > 0)
        if asks.any():
            scan[asks] = self._named(records, stated)[asks]
        names = kind == READS_FOR
        for row in np.flatnonzero(names).tolist():
            self._scan[int(records["process"][row])] = int(stated[row])
        events = records[~names].copy()
        events["flags"][asks[~names]] &= ~np.uint16(FOR_SCAN)
        return events, ~names, scan[~names]

    def _named(self, records: Records, stated: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the scan that each record's process has named last."""
        process = records["process"] & np.uint32((1 << POOL_SHIFT) - 1)
        order = np.argsort(process, kind="stable")
        grouped = process[order]
        firsts = np.searchsorted(grouped, grouped)  # of each row's process
        names = records["kind"][order] == READS_FOR
        last = np.maximum.accumulate(np.where(names, np.arange(len(order)), -1))
        processes, which = np.unique(grouped, return_inverse=True)
        before = [self._scan.get(number, 0) for number in processes.tolist()]
        earlier = np.array(before, np.uint64)[which]
        named = np.empty(len(records), np.uint64)
        named[order] = np.where(last >= firsts, stated[order][last], earlier)
        return named


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

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._names: dict[str, str] = {}
        self.length = 0
        found: set[tuple[int, int]] = set()  # tablespace and database as one number, file
        changes_pools = False
        with trace_errors(self.path):
            for records, _, _ in self._events():
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
        latest = self._origin // 1000
        scans = _Scans()
        for records, texts, scan in self._events():
            keys = self._keys(_places(records), records["file"].astype(np.uint64))
            relation = np.searchsorted(self._relations, keys).astype(np.uint64) + np.uint64(1)
            page = (
                relation << np.uint64(34)
                | records["fork"].astype(np.uint64) << np.uint64(32)
                | records["block"]
            )
            moved = records["kind"] == Kind.MOVED
            count = np.where(moved, records["block"], 0).astype(np.uint32)
            size = np.zeros(len(records), np.uint32)
            page[np.isin(records["kind"], WITHOUT_PAGE)] = 0
            for row in np.flatnonzero(records["kind"] == Kind.SCAN_BEGIN).tolist():
                begun = _Begun.parse(texts.pop(row), _has_bitmap(records[row]))
                scan[row], count[row], size[row] = begun.scan, begun.count, begun.size
                if begun.bitmap is not None:
                    texts[row] = begun.bitmap
            scans.follow(records, scan, page, count)
            pool = (records["process"] >> np.uint32(POOL_SHIFT)).astype(np.uint8)
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
        texts = _Texts()
        readers = _Readers()
        for records in self._records():
            with_texts, found = texts.taken(records)
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
                f" only {VERSIONS[0]} to {VERSIONS[-1]}"
            )
        self.page_size = int(header["page_size"])
        self._origin = int(header["origin"])
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
            reads, read_time = (_measured(end.get(name)) for name in ("reads", "read_time"))
        except (ValueError, KeyError, AttributeError):
            raise TraceError(f"{self.path}: damaged end of the recording") from None
        self.recorded = replace(
            self.recorded, dropped=dropped, error=error, reads=reads, read_time=read_time
        )


def _measured(value: object) -> int | None:
    """Return a count that the server may have measured; raise ValueError for anything else."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError
    return value


def _scans(records: Records) -> NDArray[np.uint64]:
    """Return the scans of records that have one in place of a page."""
    scans: NDArray[np.uint64] = records["database"].astype(np.uint64) << np.uint64(32)
    scans |= records["tablespace"]
    return scans


def _places(records: Records) -> NDArray[np.uint64]:
    places: NDArray[np.uint64] = records["tablespace"].astype(np.uint64)
    places = places << np.uint64(32) | records["database"]
    return places
