"""What is known of each reference of a recording, whatever algorithm it is replayed under."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.columns import column, references
from tidepool.traces.model import Chunk, Flag, Kind

GAP = 32  # blocks: a step forward of at most so many continues a run (tier/streams.h)
SAMPLED_GAP = 8  # mean steps between sampled pages: a scan makes a longer one once in 3,000
RING_SHARE = 4  # a table larger than this part of the buffers is scanned through a ring

Rows = NDArray[np.bool_]


def sequential_references(chunk: Chunk, sample_rate: float = 1.0) -> Rows:
    """Return which references continue a run, so that a miss would be read ahead.

    A run is of one backend in one fork of a relation; each step goes forward
    by at most GAP blocks, and the first two of them do not count.  It is
    followed through references, hit or miss: a page of a scan is read ahead
    whichever of the pages before it were resident.

    If only this share of the pages is recorded, a scan's steps are longer, and
    the first two pages of most runs are not there: below a half, those that
    come first in the sample count as well.
    """
    gap = max(GAP, round(SAMPLED_GAP / sample_rate))
    rows = np.flatnonzero(references(chunk))
    found = np.zeros(len(chunk), np.bool_)
    if len(rows) < 3:
        return found
    place = chunk.page[rows] >> np.uint64(32)
    block = (chunk.page[rows] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    backend = column(chunk, "backend", 0)[rows]
    order = np.lexsort((np.arange(len(rows)), place, backend))
    same = (np.diff(place[order]) == 0) & (np.diff(backend[order].astype(np.int64)) == 0)
    step = np.diff(block[order])
    # a repetition of the page neither continues a run nor ends it
    order = order[np.concatenate([[True], ~(same & (step == 0))])]
    step = np.diff(block[order])
    same = (np.diff(place[order]) == 0) & (np.diff(backend[order].astype(np.int64)) == 0)
    forward = same & (step > 0) & (step <= gap)
    third = forward[1:] & forward[:-1]
    found[rows[order[2:]]] = third
    if sample_rate < 0.5:
        found[rows[order[1:-1]]] |= third
        found[rows[order[:-2]]] |= third
    return found


@dataclass
class TableScans:
    """Knows which references are of sequential scans of whole tables, chunk after chunk.

    The server reads tables larger than a quarter of its buffers through a ring,
    unless the algorithm asks about scans.  A ring's pages are not the algorithm's.
    """

    _scans: set[int] = field(default_factory=set)  # that run

    def rows(self, chunk: Chunk) -> Rows:
        """Return which rows reference a page for such a scan."""
        flags = column(chunk, "flags", 0)
        found = references(chunk) & (flags & Flag.SEQUENTIAL > 0)
        if chunk.scan is None:
            return found
        kind = column(chunk, "kind", 0)
        begun = (kind == Kind.SCAN_BEGIN) & (flags & Flag.SEQUENTIAL > 0)
        self._scans.update(chunk.scan[begun].tolist())
        if self._scans:
            running = np.array(sorted(self._scans), np.uint64)
            found |= references(chunk) & np.isin(chunk.scan, running)
        self._scans.difference_update(chunk.scan[kind == Kind.SCAN_END].tolist())
        return found


@dataclass
class Sizes:
    """The blocks of each relation, as far as events show them."""

    blocks: dict[int, int] = field(default_factory=dict)

    def see(self, chunk: Chunk) -> None:
        """Take note of a chunk's."""
        kind = column(chunk, "kind", 0)
        of_pages = (kind <= Kind.WRITE) & ((chunk.page >> np.uint64(32)) & np.uint64(3) == 0)
        self._most(chunk.page[of_pages], (chunk.page[of_pages] & np.uint64(0xFFFFFFFF)) + 1)
        if chunk.size is not None:
            begun = (kind == Kind.SCAN_BEGIN) & (column(chunk, "flags", 0) & Flag.INDEX == 0)
            self._most(chunk.page[begun], chunk.size[begun])

    def _most(self, pages: NDArray[np.uint64], blocks: NDArray[np.unsignedinteger]) -> None:
        relations, where = np.unique(pages >> np.uint64(34), return_inverse=True)
        most = np.zeros(len(relations), np.uint64)
        np.maximum.at(most, where, blocks.astype(np.uint64))
        for relation, count in zip(relations.tolist(), most.tolist(), strict=True):
            self.blocks[relation] = max(self.blocks.get(relation, 0), count)
