"""Recordings as they would be under an algorithm whose scans begin where others are.

Under pbm a sequential or bitmap heap scan begins where it shares most with a
running scan of the table, and reads what is before that afterwards.  A recording
of another algorithm has its reads in the order of their blocks.  Here each scan
reads the same pages at the same times, but begins where it would have met another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tidepool.advice.evidence import Prepared, Slice
from tidepool.scans import Scans
from tidepool.traces.columns import column
from tidepool.traces.model import Chunk, Flag, Kind

GROUP = 128  # blocks
CAPACITY = 1024  # scans that run at a time
ORDERED = Flag.INDEX | Flag.BACKWARD | Flag.COMPANION | Flag.MET  # scans that keep their order
BLOCK = np.uint64(0xFFFFFFFF)


@dataclass
class _Scan:
    """A scan that runs: its pages in the order in which it reads them now, by the old order."""

    handle: int
    old: NDArray[np.uint64]  # ascending, distinct
    new: NDArray[np.uint64]

    def now(self, page: int) -> int:
        """Return the page that it is at where it was at this one."""
        at = min(int(np.searchsorted(self.old, np.uint64(page))), len(self.old) - 1)
        return int(self.new[at])


@lru_cache(maxsize=4)
def met(prepared: Prepared, relations: frozenset[int] | None = None) -> Prepared:
    """Return a recording in which scans of these relations, or of all, have met."""
    chunks = [each.chunk for each in prepared.slices]
    if not any(chunk.scan is not None for chunk in chunks):
        return prepared
    pages = [chunk.page.copy() for chunk in chunks]
    reads = _reads(chunks)
    registry = Scans(CAPACITY, CAPACITY)
    running: dict[int, _Scan] = {}
    for i, row, kind in _events(chunks):
        chunk = chunks[i]
        assert chunk.scan is not None
        scan = int(chunk.scan[row])
        registry.now = int(column(chunk, "time", 0)[row])
        if kind == Kind.SCAN_BEGIN:
            page = int(chunk.page[row])
            if relations is None or page >> 34 in relations:
                begun = _begun(chunk, row, registry, reads.get(scan))
                running[scan] = begun
                pages[i][row] = begun.new[0] if len(begun.new) else page
        elif scan in running and kind == Kind.SCAN_ADVANCE:
            pages[i][row] = running[scan].now(int(chunk.page[row]))
            registry.advance(running[scan].handle, int(pages[i][row]))
        elif scan in running and kind == Kind.SCAN_END:
            registry.end(running.pop(scan).handle)
    _reorder(chunks, pages, reads)
    slices = zip(prepared.slices, pages, strict=True)
    return replace(prepared, slices=tuple(_moved(each, page) for each, page in slices))


@dataclass
class _Reads:
    """What a scan reads: the rows, the chunk of each, and the pages in the new order."""

    chunk: NDArray[np.int64]
    row: NDArray[np.int64]
    page: NDArray[np.uint64]
    first: int = 0  # of the distinct pages, with which it begins now


def _reads(chunks: list[Chunk]) -> dict[int, _Reads]:
    scans, places, rows, pages = [], [], [], []
    for i, chunk in enumerate(chunks):
        if chunk.scan is None:
            continue
        found = np.flatnonzero((column(chunk, "kind", 0) <= Kind.WRITE) & (chunk.scan > 0))
        scans.append(chunk.scan[found])
        places.append(np.full(len(found), i))
        rows.append(found)
        pages.append(chunk.page[found])
    scan, place, row, page = map(np.concatenate, (scans, places, rows, pages))
    order = np.argsort(scan, kind="stable")
    ids, starts = np.unique(scan[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {
        int(id_): _Reads(place[part], row[part], page[part])
        for id_, part in zip(ids.tolist(), parts, strict=True)
    }


def _events(chunks: list[Chunk]) -> Iterator[tuple[int, int, int]]:
    """Yield the beginnings, advances and ends of scans in order: chunk, row, kind."""
    for i, chunk in enumerate(chunks):
        kind = column(chunk, "kind", 0)
        if chunk.scan is None:
            continue
        for row in np.flatnonzero((kind >= Kind.SCAN_BEGIN) & (kind <= Kind.SCAN_END)).tolist():
            yield i, row, int(kind[row])


def _begun(chunk: Chunk, row: int, registry: Scans, reads: _Reads | None) -> _Scan:
    """Begin a scan where it meets another; its reads are put in their new order."""
    first = int(chunk.page[row])
    count = int(column(chunk, "count", 0)[row])
    size = int(column(chunk, "size", 0)[row])
    bits = chunk.bitmaps.get(row)
    ranges = None if bits is None else _ranges(bits)
    owner = int(column(chunk, "backend", 0)[row])
    flags = int(column(chunk, "flags", 0)[row])
    old = np.zeros(0, np.uint64) if reads is None else np.unique(reads.page)
    ascends = reads is not None and bool((np.diff(reads.page.astype(np.int64)) >= 0).all())
    start = first
    if ascends and not flags & ORDERED and len(old) > 1:
        start = registry.meet(first, count, size=size, ranges=ranges)
    at = int(np.searchsorted(old, np.uint64(start))) % max(1, len(old))
    if reads is not None:
        reads.first = at
    low = first & int(BLOCK)
    handle = registry.begin(
        start, count, size if ranges is not None else count if start != first else size,
        low=low if ranges is None and start != first else 0, ranges=ranges, owner=owner,
    )  # fmt: skip
    return _Scan(handle, old, np.roll(old, -at))


def _ranges(bits: bytes) -> list[tuple[int, int]]:
    groups = np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little"))
    return [(int(group) * GROUP, GROUP) for group in groups]


def _reorder(
    chunks: list[Chunk], pages: list[NDArray[np.uint64]], reads: dict[int, _Reads]
) -> None:
    """Enter the new order of each scan's reads into the pages."""
    for each in reads.values():
        if each.first == 0:
            continue
        old = np.unique(each.page)
        # repetitions of a page stay together
        turn = int(np.searchsorted(each.page, old[each.first]))
        turned = np.roll(each.page, -turn)
        for i in np.unique(each.chunk).tolist():
            here = each.chunk == i
            pages[i][each.row[here]] = turned[here]


def _moved(each: Slice, pages: NDArray[np.uint64]) -> Slice:
    return replace(each, chunk=replace(each.chunk, page=pages))
