"""The scans of a server's recording: what they announce, where they are, who reads for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.formats.recording_records import POOL_SHIFT, READS_FOR, SCAN, Records
from tidepool.traces.model import Kind

FOR_SCAN = 0x2000  # of a reference: for the scan that the process has named last
BLOCK_GROUP = 128  # blocks
BITMAP_GROUPS = 4096  # that a server's bitmap has bits for
OF_SCANS = (Kind.SCAN_ADVANCE, Kind.SCAN_END, READS_FOR)  # with a scan in place of a page


@dataclass
class Begun:
    """What the text of a scan's beginning says."""

    scan: int
    count: int  # blocks
    size: int
    bitmap: bytes | None  # a bit for each block group

    @classmethod
    def parse(cls, text: bytes, has_bitmap: bool) -> Begun:
        """Return what the text says."""
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
    return np.repeat(bits[: -(-groups // each)], each)[:groups]


class Scans:
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


class Readers:
    """Knows for which scan each process reads."""

    def __init__(self) -> None:
        self._scan: dict[int, int] = {}  # that the process has named last

    def taken(self, records: Records) -> tuple[Records, NDArray[np.bool_], NDArray[np.uint64]]:
        """Return records that name no scans, which of the given they are, and their scans."""
        kind = records["kind"]
        stated = _scans(records)
        scan = np.where(np.isin(kind, OF_SCANS), stated, 0).astype(np.uint64)
        asks = (kind <= Kind.WRITE) | (kind == Kind.CHOSEN)
        asks &= records["flags"] & FOR_SCAN > 0
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


def _scans(records: Records) -> NDArray[np.uint64]:
    """Return the scans of records that have one in place of a page."""
    scans: NDArray[np.uint64] = records["database"].astype(np.uint64) << np.uint64(32)
    scans |= records["tablespace"]
    return scans
