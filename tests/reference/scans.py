"""The scan registry: every scan as the list of the blocks it reads, in order.

Written from core/include/tidepool/prediction/scan.h.  Equal bit for bit:
block times are of single precision there, and so they are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from reference.scan_history import History, single
from reference.trails import Trails

LANES = 8  # scans of a relation that stand together
BLOCK_GROUP = 128
BITMAP_GROUPS = 4096
STRIDE = 32  # blocks after which a scan's speed is measured
TIMEOUT = 1_000_000
TIMEOUT_STRIDES = 16
LONGEST_TIMEOUT = 2**40
TICK = 16  # bits of the time that timeout does not look at
FIRST_BLOCK_TIME = single(20)
NO_BLOCK = 2**32 - 1


@dataclass
class Scan:
    relation: int
    blocks: Sequence[int]  # in the order in which it reads them
    block_time: np.float32
    owner: int
    history: int  # the place of its relation's
    begun_at: int
    has_bitmap: bool = False
    done: int = 0
    region: int | None = None  # of the relation, last entered
    measured_done: int = field(init=False, default=0)
    measured_at: int = field(init=False)
    until: int = field(init=False)

    def __post_init__(self) -> None:
        self.measured(self.begun_at)

    @cached_property
    def place(self) -> dict[int, int]:
        return {block: i for i, block in enumerate(self.blocks)}

    def measured(self, now: int) -> None:
        self.measured_at, self.measured_done = now, self.done
        timeout = int(float(self.block_time) * STRIDE * TIMEOUT_STRIDES)
        timeout = min(max(TIMEOUT, timeout), LONGEST_TIMEOUT)
        self.until = (now + timeout >> TICK) + 1

    def is_gone(self, now: int) -> bool:
        return now >> TICK > self.until

    def wait(self, block: int, now: int) -> float:
        place = self.place.get(block)
        if place is None or place < self.done or self.is_gone(now):
            return inf
        return float(single(place - self.done) * self.block_time)


def range_of(first: int, count: int, low: int, size: int, backward: bool) -> list[int]:
    """The blocks of a range scan; none if it cannot read so many from there."""
    step = -1 if backward else 1
    if size:
        if not low <= first < low + size <= NO_BLOCK or count > size:
            return []
        return [low + (first - low + step * i) % size for i in range(count)]
    last = first + step * (count - 1)
    return list(range(first, last + step, step)) if count and 0 <= last < NO_BLOCK else []


def groups_of(ranges: Iterable[tuple[int, int]], shift: int) -> list[int]:
    """The block groups that a bitmap scan of these blocks and counts reads."""
    touched = {
        group
        for first, count in ranges
        for group in range(first >> shift, (first + count - 1 >> shift) + 1)
    }
    return sorted(group for group in touched if group < BITMAP_GROUPS)


def from_group(groups: list[int], first: int, backward: bool) -> list[int]:
    """The groups, from the first one on or the next in their order, and then those before."""
    late = [group for group in groups if (group <= first if backward else group >= first)]
    return late + [group for group in groups if group not in late]


def shift_of(size: int) -> int:
    """A bitmap's groups are 2**shift blocks."""
    shift = BLOCK_GROUP.bit_length() - 1
    while size > BITMAP_GROUPS << shift:
        shift += 1
    return shift


class ScanModel:
    """A registry with room for at most eight scans of as many relations.

    Then each relation finds a place.  Pages are relation << 32 | block, times
    in microseconds.  Handles are those that the registry itself gave out.
    """

    def __init__(self, capacity: int, bitmaps: int) -> None:
        assert capacity <= 8
        self.capacity = capacity
        self.bitmaps = bitmaps
        self.now = 0
        self.scans: dict[int, Scan] = {}  # by handle, those that run
        # relation and its scans' handles, the last added first
        self.lanes: list[tuple[int, set[int]]] = []
        self.block_time = FIRST_BLOCK_TIME
        self.history = History(capacity)
        self.trails = Trails(capacity)

    @property
    def running(self) -> int:
        return len(self.scans) + self.trails.running

    # ---- who is there ----

    def lane_for(self, relation: int) -> set[int] | None:
        for of, handles in self.lanes:
            if of == relation and len(handles) < LANES:
                return handles
        if len(self.lanes) == self.capacity:
            return None
        self.lanes.insert(0, (relation, set()))
        return self.lanes[0][1]

    def find_lane(self, relation: int) -> set[int] | None:
        """Those that are gone make room, all of them, if there is none."""
        lane = self.lane_for(relation)
        if lane is None:
            for handle in [h for h, scan in self.scans.items() if scan.is_gone(self.now)]:
                self.end(handle)
            lane = self.lane_for(relation)
        return lane

    def begin(
        self,
        handle: int,
        first: int,
        count: int = 0,
        size: int = 0,
        *,
        low: int = 0,
        backward: bool = False,
        ranges: Sequence[tuple[int, int]] | None = None,
        speed: float = 0,
        owner: int = 0,
    ) -> bool:
        """Whether the scan is registered: then this is its handle."""
        relation, block = first >> 32, first & 0xFFFFFFFF
        lane = self.find_lane(relation)
        if lane is None:
            return False
        has_bitmap = False
        if ranges is None:
            blocks = range_of(block, count, low, size, backward)
            end = low + size if size else block + (1 if backward else count)
        else:
            shift = shift_of(size)
            groups = groups_of(ranges, shift)
            has_bitmap = sum(scan.has_bitmap for scan in self.scans.values()) < self.bitmaps
            end = low + size if size else BITMAP_GROUPS << shift
            if groups and not has_bitmap:
                groups = list(range(groups[0], groups[-1] + 1))
            groups = groups[::-1] if backward else groups
            groups = from_group(groups, min(block >> shift, BITMAP_GROUPS - 1), backward)
            within = range(1 << shift)[:: -1 if backward else 1]
            blocks = [(group << shift) + i for group in groups for i in within]
        if blocks:
            block_time = single(1e6 / speed) if speed else self.block_time
            history = self.history.begin(relation, end, self.now)
            self.scans[handle] = Scan(
                relation, blocks, block_time, owner, history, self.now, has_bitmap
            )
            lane.add(handle)
        self.drop_empty_lanes()
        return bool(blocks)

    def drop_empty_lanes(self) -> None:
        self.lanes = [(relation, handles) for relation, handles in self.lanes if handles]

    def end(self, handle: int) -> None:
        if handle in self.scans:
            del self.scans[handle]
            for _, handles in self.lanes:
                handles.discard(handle)
        self.drop_empty_lanes()

    def end_owner(self, owner: int) -> int:
        """Ends scans of both kinds; returns how many there were."""
        found = [handle for handle, scan in self.scans.items() if scan.owner == owner]
        for handle in found:
            self.end(handle)
        return len(found) + self.trails.end_owner(owner)

    # ---- where they are ----

    def advance(self, handle: int, page: int) -> None:
        scan = self.scans.get(handle)
        block = page & 0xFFFFFFFF
        place = scan.place.get(block) if scan else None
        if scan is None or place is None or place < scan.done:
            return
        scan.done = place + 1
        blocks = scan.done - scan.measured_done
        if blocks < STRIDE and not scan.is_gone(self.now):
            return
        seen = single(max(0, self.now - scan.measured_at)) / single(blocks)
        slowest = single(64) * max(scan.block_time, single(1))
        scan.block_time += single(0.25) * (min(seen, slowest) - scan.block_time)
        self.block_time += single(0.25) * (scan.block_time - self.block_time)
        scan.measured(self.now)
        taken = max(0, self.now - scan.begun_at)
        scan.region = self.history.pass_(scan.history, scan.relation, block, scan.region, taken)

    # ---- estimates ----

    def next_access(self, page: int, now: int) -> float:
        """As the running scans tell."""
        relation, block = page >> 32, page & 0xFFFFFFFF
        waits = [s.wait(block, now) for s in self.scans.values() if s.relation == relation]
        return min(waits, default=inf)

    def expected_access(self, page: int, now: int) -> float:
        """With the scans in mind that have not begun."""
        known, lead_time = self.next_access(page, now), float(self.history.lead_time)
        if known <= lead_time:
            return known
        interval = self.history.interval(page >> 32, page & 0xFFFFFFFF, now, known < inf)
        if interval == inf:
            return known
        known -= lead_time
        if known == inf:
            return lead_time + interval
        return lead_time + (known * interval / (known + interval) if known > 0 else 0)
