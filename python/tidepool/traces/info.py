"""What is in a trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.columns import column, references
from tidepool.traces.model import Chunk, Flag, Kind, Trace
from tidepool.traces.page_table import PageTable
from tidepool.traces.provenance import Recorded

MAX_RELATIONS = 1000  # that are listed; opaque page numbers can look like millions


@dataclass(frozen=True)
class RelationInfo:
    """How a relation is referenced."""

    relation: int
    name: str | None
    references: int
    writes: int
    pages: int


@dataclass(frozen=True)
class ScanInfo:
    """How a trace is scanned.

    Of the ``count`` scans that begin, so many are ``bitmap``, ``index``,
    ``backward`` or ``wrapping`` ones; at most ``at_once`` run at the same
    time (one that never ends runs for ever); ``blocks`` are what they
    announce, ``references`` those made by scans.
    """

    count: int
    bitmap: int
    index: int
    backward: int
    wrapping: int
    at_once: int
    blocks: int
    references: int


@dataclass(frozen=True)
class TraceInfo:
    """What is in a trace.

    ``events`` counts by kind; ``pages`` are the distinct pages referenced,
    ``bytes`` what they occupy, ``one_touch`` those of them that are
    referenced once.  Times are microseconds; unless the trace is ``timed``,
    an event counts as one.  ``relations`` are those that
    are referenced most, at most MAX_RELATIONS of ``relation_count``;
    ``recorded`` is the trace's.
    """

    name: str
    events: dict[str, int]
    references: int
    pages: int
    page_size: int
    bytes: int
    one_touch: int
    timed: bool
    first_time: int
    last_time: int
    backends: int
    scans: ScanInfo
    relation_count: int
    relations: tuple[RelationInfo, ...]
    recorded: Recorded | None

    @property
    def one_touch_fraction(self) -> float:
        """The share of the pages that is referenced once: never a hit, in any cache."""
        return self.one_touch / self.pages if self.pages else 0.0

    @property
    def seconds(self) -> float:
        """The time from the first event to the last."""
        return (self.last_time - self.first_time) / 1e6


class _Scans:
    """The counts of scans while a trace is read: some memory for each that runs."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.at_once = 0
        self.counts = dict.fromkeys(("count", "bitmap", "index", "backward", "wrapping"), 0)
        self.blocks = 0
        self.references = 0

    def add(self, chunk: Chunk) -> None:
        if chunk.scan is not None:
            self.references += int(np.count_nonzero(chunk.scan[references(chunk)]))
        if chunk.kind is None:
            return
        edges = (chunk.kind == Kind.SCAN_BEGIN) | (chunk.kind == Kind.SCAN_END)
        for row in np.flatnonzero(edges).tolist():
            scan = 0 if chunk.scan is None else int(chunk.scan[row])
            if chunk.kind[row] == Kind.SCAN_END:
                self.running.discard(scan)
                continue
            self.running.add(scan)
            self.at_once = max(self.at_once, len(self.running))
            self._begin(chunk, row)

    def _begin(self, chunk: Chunk, row: int) -> None:
        flags, count, size, low = (
            0 if values is None else int(values[row])
            for values in (chunk.flags, chunk.count, chunk.size, chunk.low)
        )
        first = int(chunk.page[row]) & 0xFFFFFFFF
        backward = bool(flags & Flag.BACKWARD)
        left = first - low + 1 if backward else low + size - first
        has_bitmap = row in chunk.bitmaps
        self.blocks += count
        self.counts["count"] += 1
        self.counts["bitmap"] += has_bitmap
        self.counts["index"] += bool(flags & Flag.INDEX)
        self.counts["backward"] += backward
        self.counts["wrapping"] += size > 0 and count > left and not has_bitmap

    def info(self) -> ScanInfo:
        return ScanInfo(
            **self.counts, at_once=self.at_once, blocks=self.blocks, references=self.references
        )


class _Counts:
    """The counts while a trace is read: 16 bytes of memory a page."""

    def __init__(self) -> None:
        self.kinds = np.zeros(len(Kind), np.int64)
        self.pages = PageTable()  # references by page
        self.writes = PageTable()  # writes by relation
        self.backends: set[int] = set()
        self.scans = _Scans()
        self.timed = False
        self.first_time: int | None = None
        self.last_time = 0
        self.position = 0

    def add(self, chunk: Chunk) -> None:
        kinds = column(chunk, "kind", self.position)
        self.kinds += np.bincount(kinds, minlength=len(Kind))
        pages, counts = np.unique(chunk.page[references(chunk)], return_counts=True)
        self.pages.add(pages, counts)
        written = chunk.page[kinds == Kind.WRITE] >> np.uint64(34)
        self.writes.add(*np.unique(written, return_counts=True))
        self.backends.update(np.unique(column(chunk, "backend", self.position)).tolist())
        self.scans.add(chunk)
        self.timed = self.timed or chunk.time is not None
        time = column(chunk, "time", self.position)
        if self.first_time is None:
            self.first_time = int(time[0])
        self.last_time = int(time[-1])
        self.position += len(chunk)

    def relations(self, trace: Trace) -> tuple[int, tuple[RelationInfo, ...]]:
        """Return the number of relations, and those referenced most."""
        owner = self.pages.pages >> np.uint64(34)
        relations, starts, pages = np.unique(owner, return_index=True, return_counts=True)
        referenced: NDArray[np.int64] = (
            np.add.reduceat(self.pages.values, starts) if len(starts) else starts
        )
        writes = self.writes.get(relations, 0)
        order = np.argsort(-referenced, kind="stable")[:MAX_RELATIONS]
        return len(relations), tuple(
            RelationInfo(
                int(relations[i]),
                trace.relations.get(int(relations[i])),
                int(referenced[i]),
                int(writes[i]),
                int(pages[i]),
            )
            for i in order
        )


def trace_info(trace: Trace) -> TraceInfo:
    """Read a trace and return what is in it.

    Takes 16 bytes of memory for each distinct page, and a chunk.
    """
    counts = _Counts()
    for chunk in trace.chunks():
        counts.add(chunk)
    relation_count, relations = counts.relations(trace)
    return TraceInfo(
        name=trace.name,
        events={kind.name.lower(): int(counts.kinds[kind]) for kind in Kind},
        references=int(counts.kinds[Kind.READ] + counts.kinds[Kind.WRITE]),
        pages=len(counts.pages),
        page_size=trace.page_size,
        bytes=len(counts.pages) * trace.page_size,
        one_touch=int(np.count_nonzero(counts.pages.values == 1)),
        timed=counts.timed,
        first_time=counts.first_time or 0,
        last_time=counts.last_time,
        backends=len(counts.backends),
        scans=counts.scans.info(),
        relation_count=relation_count,
        relations=relations,
        recorded=trace.recorded,
    )
