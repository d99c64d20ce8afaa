"""What a trace is: a sequence of events, handed out in chunks of columns.

A page is one 64-bit number, ``relation << 34 | fork << 32 | block``: 30 bits
of relation, 2 of fork, 32 of block.  Every 64-bit number is some page, so
traces of opaque 64-bit identifiers fit as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.provenance import Recorded

CHUNK_ROWS = 1 << 20  # rows a chunk usually has; never more: 47 MiB with all columns
PAGE_SIZE = 8192  # bytes, by default


class Kind(IntEnum):
    """What an event is.

    READ and WRITE reference a page.  SCAN_BEGIN announces that scan ``scan``
    will read ``count`` blocks from ``page`` on, upwards, or downwards if it
    is flagged BACKWARD; it wraps at the ends of the relation's ``size``
    blocks, unless that is unknown.  With a bitmap it will read the block
    groups set in it instead, without wrapping.  ``speed`` is in blocks a
    second, if known.  A READ with the scan's number advances the scan to that
    page, unless the scan is flagged STEPS; so does SCAN_ADVANCE, of an index
    scan whose pages are unknown to tuple ``count`` of the page.  SCAN_END ends
    it; without a number, all scans of the backend.
    FORGET: ``count`` pages from ``page`` on ceased to exist (0: all from
    ``page`` to the end of the relation's fork).
    PINNED: the page is in use and cannot be evicted until UNPINNED.  DIRTIED:
    a resident page was clean and is dirty now; not a reference.  WRITTEN: a
    page was written to disk; the flags say by whom.

    Of a server with named pools: POOL, number ``pool``, has the definition in
    ``bitmaps`` from now on, JSON as in pools.RecordedPool; without a name, it
    ceased to exist.  MOVED: a buffer of ``pool`` went to pool number ``count``.
    PAGE_MOVED: a resident page went to ``pool``.

    Below memory: PHYSICAL_READ and PHYSICAL_WRITE, ``count`` blocks from
    ``page`` on were read or written at once.  Of a server's SSD tier: SSD_HAS,
    the page can be read from the SSD now; SSD_LOST, ``count`` pages have lost
    their places there (0: all of the relation, which leave them as SSD_FREED
    says); SSD, the tier's state from now on, in ``bitmaps``, JSON as in
    provenance.SsdState; SSD_BUSY, the physical read before it found place
    ``count`` in use; SSD_FREED, a page that was lost has left place ``count``;
    SSD_RELATION, the tier's algorithm knows the relation as number ``count``.

    REPORTED: the backend has told the policy of ``pool`` what it had queued, DUE
    because that was so much.  CHOSEN: it has chosen a frame of ``pool`` for
    ``page``, 0: a new one, which it brings in later.  Or the choice is GIVEN_UP.
    LEFT: the page that was in the frame has left it.  PROCESS: the next events of
    ``backend`` are of another process than those before; ``count`` had its number
    before.
    """

    READ = 0
    WRITE = 1
    SCAN_BEGIN = 2
    SCAN_ADVANCE = 3
    SCAN_END = 4
    FORGET = 5
    PINNED = 6
    UNPINNED = 7
    DIRTIED = 8
    WRITTEN = 9
    POOL = 10
    MOVED = 11
    PAGE_MOVED = 12
    PHYSICAL_READ = 13
    PHYSICAL_WRITE = 14
    SSD_HAS = 15
    SSD_LOST = 16
    SSD = 17
    SSD_BUSY = 18
    SSD_FREED = 19
    SSD_RELATION = 20
    REPORTED = 21
    CHOSEN = 22
    GIVEN_UP = 23
    LEFT = 24
    PROCESS = 25


class Flag(IntFlag):
    """Circumstances of a reference.  The first five are the core's TP_* bits."""

    CORRELATED = 0x02  # repeats the backend's previous reference: the same reference
    VACUUM = 0x04  # made by VACUUM
    SEQUENTIAL = 0x10  # through a sequential scan
    BITMAP = 0x20  # through a bitmap scan
    INDEX = 0x40  # through an index scan
    HIT = 0x100  # the recording server found the page resident; PHYSICAL_READ: on its SSD
    SSD_ASKED = 0x200  # PHYSICAL_READ: the server's SSD tier was on, and asked
    BACKWARD = 0x200  # SCAN_BEGIN: towards lower block numbers
    STEPS = 0x2000  # SCAN_BEGIN: only SCAN_ADVANCE advances the scan, not its reads
    COMPANION = 0x4000  # SCAN_BEGIN: one of several processes of a scan
    MET = 0x8000  # SCAN_BEGIN: begins where another scan was, not with its first block
    SSD_KEPT = 0x400  # PHYSICAL_READ: the relation's pages are to be kept on the SSD
    SSD_UNWANTED = 0x800  # PHYSICAL_READ: these pages are not to come to it
    DUE = 0x200  # REPORTED: because of how much was queued; without, for another reason
    IN_USE = 0x200  # CHOSEN: the page was in use by then, so the search went on
    FREED = 0x200  # GIVEN_UP: the page has left nevertheless, and its frame is free
    BY_BACKGROUND_WRITER = 0x400  # WRITTEN; by a query, if none of the three
    BY_POOL_WRITER = 0x800
    BY_CHECKPOINTER = 0x1000


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive events of a trace, as columns of equal length n.

    A column that is None is its default throughout: kind READ, flags 0,
    time the position in the trace (one microsecond an event), backend 0,
    scan 0, count 0, size 0 (unknown), low 0, speed 0 (unknown), pool 0.
    """

    page: NDArray[np.uint64]
    kind: NDArray[np.uint8] | None = None
    flags: NDArray[np.uint16] | None = None
    time: NDArray[np.uint64] | None = None  # microseconds, never decreasing
    backend: NDArray[np.uint32] | None = None
    scan: NDArray[np.uint64] | None = None
    count: NDArray[np.uint32] | None = None
    size: NDArray[np.uint32] | None = None  # SCAN_BEGIN: blocks that it goes round in
    low: NDArray[np.uint32] | None = None  # SCAN_BEGIN: the first of these
    speed: NDArray[np.float32] | None = None  # blocks per second
    pool: NDArray[np.uint8] | None = None  # of a reference: where the page is, or comes into
    bitmaps: Mapping[int, bytes] = field(default_factory=dict)
    # ^ by row: of a bitmap scan's SCAN_BEGIN, one bit per block group of 128
    #   blocks, least significant bit first; of a POOL, its definition; of SSD, the state

    def __len__(self) -> int:
        return len(self.page)


class Trace(ABC):
    """A trace that can be replayed any number of times, and sent to another process.

    ``name`` is for people.  ``relations`` names the relations that have one,
    by relation number.  ``length`` is the number of events if it is known
    without reading them; ``page_size`` is what a page occupies, in bytes.
    ``recorded`` is what the server ran that recorded it, if one did.
    """

    name: str
    relations: Mapping[int, str] = MappingProxyType({})
    length: int | None = None
    page_size: int = PAGE_SIZE
    recorded: Recorded | None = None

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Yield the events from the beginning, at most CHUNK_ROWS at a time.

        Raises TraceError when the source turns out to be damaged, after the
        chunks before the damage.
        """


def page_number(relation: int, block: int, fork: int = 0) -> int:
    """Return the page's 64-bit number."""
    return relation << 34 | fork << 32 | block


def relation_of(page: int) -> int:
    """Return the relation of a page."""
    return page >> 34


def fork_of(page: int) -> int:
    """Return the fork of a page: 0 main, 1 fsm, 2 vm, 3 init."""
    return page >> 32 & 3


def block_of(page: int) -> int:
    """Return the block number of a page."""
    return page & 0xFFFFFFFF
