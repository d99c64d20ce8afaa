"""Scans as they are planned, and the events that they make.

In virtual time a scan reads its block number j at ``start + j / speed``,
whatever else goes on.  Scans that follow each other on one backend are a
stream; ``scan_events`` interleaves any number of streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidepool.errors import TraceError
from tidepool.traces.model import Chunk, Flag, Kind, page_number
from tidepool.traces.streams import interleave

GROUP = 128  # blocks of a block group
PIECE = 32 * GROUP  # blocks that become events at a time; no influence on the events


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScan:
    """A scan of ``count`` of ``size`` blocks of a relation, those from ``low`` on.

    It reads from ``first`` on, upwards or ``backward``, and wraps at their
    ends, which are the relation's for most scans.  With a ``bitmap`` (a bit
    for each block group, least significant bit first) it reads the block
    groups set in it and does not wrap; use ``bitmap_scan`` to make one.
    ``through`` is the flag that its events carry: SEQUENTIAL, BITMAP or INDEX.

    Raises TraceError if the scan does not fit into its blocks.
    """

    scan: int  # its number in the trace, from 1
    backend: int
    relation: int
    first: int
    count: int
    size: int
    speed: float  # blocks per second
    low: int = 0
    start: float = 0.0  # microseconds
    backward: bool = False
    bitmap: bytes | None = None
    through: Flag = Flag.SEQUENTIAL

    def __post_init__(self) -> None:
        end = self.low + self.size
        if not (0 <= self.low <= self.first < end < 2**32 and 1 <= self.count <= self.size):
            raise TraceError(
                f"a scan of {self.count} blocks from {self.first} on does not fit"
                f" in the {self.size} blocks from {self.low} on"
            )
        if not (self.speed > 0 and self.start >= 0):
            raise TraceError("a scan has a speed above 0 and a start of at least 0")

    @property
    def end(self) -> float:
        """When it is over, in microseconds: when the last block has been dealt with."""
        return self.start + self.count * 1e6 / self.speed

    def blocks(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return the blocks that it reads as its numbers ``begin`` to before ``end``."""
        step = np.arange(begin, end)
        if self.bitmap is None:
            blocks: NDArray[np.int64] = self.first + (-step if self.backward else step)
            return self.low + (blocks - self.low) % self.size
        if self.backward:
            step = self.count - 1 - step
        return _groups(self.bitmap)[step // GROUP] * GROUP + step % GROUP

    def events(self) -> Iterator[Chunk]:
        """Yield SCAN_BEGIN, the reads, SCAN_END: ``count`` + 2 events."""
        for begin in range(0, self.count, PIECE):
            yield self._piece(begin, min(begin + PIECE, self.count))

    def _piece(self, begin: int, end: int) -> Chunk:
        """Return the reads of some blocks, SCAN_BEGIN and SCAN_END if it is their place."""
        is_first, is_last = begin == 0, end == self.count
        around = (int(is_first), int(is_last))
        step = np.pad(np.arange(begin, end), around, mode="edge")
        kind = np.full(len(step), Kind.READ, np.uint8)
        flags = np.full(len(step), self.through, np.uint16)
        if is_last:
            step[-1] = self.count
            kind[-1] = Kind.SCAN_END
        chunk = Chunk(
            page=self._pages(np.pad(self.blocks(begin, end), around, mode="edge")),
            kind=kind,
            flags=flags,
            time=(self.start + step * (1e6 / self.speed)).astype(np.uint64),
            backend=np.full(len(step), self.backend, np.uint32),
            scan=np.full(len(step), self.scan, np.uint64),
        )
        return self._announced(chunk) if is_first else chunk

    def _pages(self, blocks: NDArray[np.int64]) -> NDArray[np.uint64]:
        return blocks.astype(np.uint64) + np.uint64(page_number(self.relation, 0))

    def _announced(self, chunk: Chunk) -> Chunk:
        """Make the first event SCAN_BEGIN, with all that is announced."""
        assert chunk.kind is not None and chunk.flags is not None
        chunk.kind[0] = Kind.SCAN_BEGIN
        chunk.flags[0] |= Flag.BACKWARD if self.backward else 0
        count, size, low = np.zeros((3, len(chunk)), np.uint32)
        speed = np.zeros(len(chunk), np.float32)
        count[0], size[0], low[0], speed[0] = self.count, self.size, self.low, self.speed
        bitmaps = {} if self.bitmap is None else {0: self.bitmap}
        return replace(chunk, count=count, size=size, low=low, speed=speed, bitmaps=bitmaps)


def bitmap_scan(scan: PlannedScan, groups: NDArray[np.int64]) -> PlannedScan:
    """Return the scan as one of these block groups, in order and each there once."""
    size = scan.size
    ends = np.minimum((groups + 1) * GROUP, size)
    count = int((ends - groups * GROUP).sum())
    bits = np.zeros(int(groups[-1]) + 1, np.uint8)
    bits[groups] = 1
    return replace(
        scan,
        first=int(ends[-1]) - 1 if scan.backward else int(groups[0]) * GROUP,
        count=count,
        bitmap=np.packbits(bits, bitorder="little").tobytes(),
        through=Flag.BITMAP,
    )


def range_groups(first: int, count: int) -> NDArray[np.int64]:
    """Return the block groups that a range of blocks touches: what a BRIN index finds for it."""
    return np.arange(first // GROUP, (first + count - 1) // GROUP + 1)


def _groups(bitmap: bytes) -> NDArray[np.int64]:
    return np.flatnonzero(np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little"))


def closed_loop(scans: Iterable[PlannedScan], start: float = 0.0) -> Iterator[PlannedScan]:
    """Yield the scans so that the first begins at ``start`` and each when the one before ends."""
    for scan in scans:
        begun = replace(scan, start=start)
        yield begun
        start = begun.end


def stream_events(scans: Iterable[PlannedScan]) -> Iterator[Chunk]:
    """Yield the events of scans that are in the order of their starts."""
    for scan in scans:
        yield from scan.events()


def scan_events(streams: Iterable[Iterable[PlannedScan]]) -> Iterator[Chunk]:
    """Yield the events of all streams in order of time; at the same time, in the streams' order.

    Memory: some 10,000 events of each stream.
    """
    return interleave(*map(stream_events, streams))


def count_events(blocks: int) -> int:
    """Return how many events a scan of this many blocks makes."""
    return blocks + 2
