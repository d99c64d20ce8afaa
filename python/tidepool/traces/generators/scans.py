"""Sequential scans of a table, as the events that they make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidepool.traces.generators.draws import Random, below
from tidepool.traces.generators.storage import pages_of
from tidepool.traces.model import Chunk, Flag, Kind

GROUP = 128  # blocks of a block group
PIECE = 512 * GROUP  # blocks that become events at a time


@dataclass(frozen=True, slots=True)
class TableScan:
    """A scan of ``blocks`` blocks of a table, from ``first`` on.

    ``first`` is the first block of a block group, so that the number of
    events depends on ``blocks`` alone.
    """

    scan: int  # its number, from 1
    backend: int
    relation: int
    first: int
    blocks: int
    start: float  # microseconds
    speed: float  # blocks per second

    @property
    def duration(self) -> float:
        """How long it takes, in microseconds."""
        return self.blocks * 1e6 / self.speed

    def events(self) -> Iterator[Chunk]:
        """Yield SCAN_BEGIN, the reads with a SCAN_ADVANCE at each further block group, SCAN_END.

        Blocks are read at even distances in time; the scan ends when the last
        one has been dealt with.
        """
        for begin in range(0, self.blocks, PIECE):
            yield self._piece(begin, min(begin + PIECE, self.blocks))

    def _piece(self, begin: int, end: int) -> Chunk:
        block = np.arange(begin, end)
        enters = block % GROUP == 0
        step = np.repeat(block, np.where(enters, 2, 1))
        kind = np.full(len(step), Kind.READ, np.uint8)
        announcement = np.flatnonzero(enters) + np.arange(np.count_nonzero(enters))
        kind[announcement] = Kind.SCAN_ADVANCE
        if begin == 0:
            kind[0] = Kind.SCAN_BEGIN
        time = self.start + step * (1e6 / self.speed)
        if end == self.blocks:
            step = np.append(step, end - 1)
            kind = np.append(kind, np.uint8(Kind.SCAN_END))
            time = np.append(time, self.start + self.duration)
        begins = kind == Kind.SCAN_BEGIN
        return Chunk(
            page=pages_of(self.relation, self.first + step),
            kind=kind,
            flags=np.where(kind == Kind.READ, Flag.SEQUENTIAL, 0).astype(np.uint16),
            time=time.astype(np.uint64),
            backend=np.full(len(step), self.backend, np.uint32),
            scan=np.full(len(step), self.scan, np.uint64),
            count=np.where(begins, self.blocks, 0).astype(np.uint32),
            speed=np.where(begins, self.speed, 0).astype(np.float32),
        )


def scan_events(blocks: int) -> int:
    """Return how many events a scan of this many blocks makes."""
    return blocks + -(-blocks // GROUP) + 1


def random_first(rng: Random, pages: int, blocks: int) -> int:
    """Draw where a scan of ``blocks`` blocks begins: at a block group from which it fits."""
    return GROUP * int(below(rng, (pages - blocks) // GROUP + 1, 1)[0])
