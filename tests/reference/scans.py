"""The scan registry: every scan as the list of the blocks it reads, in order."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

GROUP = 128
STRIDE = 32  # blocks after which a scan's speed is measured
PATIENCE = 1_000_000
TICK = 16  # bits of the time that patience does not look at

single = np.float32


@dataclass
class Scan:
    relation: int
    blocks: list[int]
    pace: np.float32  # microseconds a block
    owner: int
    now: int

    def __post_init__(self) -> None:
        self.place = {block: i for i, block in enumerate(self.blocks)}
        self.done = 0
        self.measured_done = 0
        self.measured_at = self.now
        self.wait_until(self.now)

    def wait_until(self, now: int) -> None:
        patience = max(PATIENCE, int(float(self.pace) * STRIDE * 16))
        self.until = ((now + patience) >> TICK) + 1

    def is_gone(self, now: int) -> bool:
        return now >> TICK > self.until

    def wait(self, block: int, now: int) -> float:
        place = self.place.get(block)
        if place is None or place < self.done or self.is_gone(now):
            return inf
        return float(single(place - self.done) * self.pace)


class ScanModel:
    """Times in microseconds; relations of PAGES blocks."""

    def __init__(self, capacity: int, bitmaps: int) -> None:
        self.capacity = capacity  # of eight scans of one relation each
        self.bitmaps = bitmaps
        self.scans: dict[int, Scan] = {}  # by handle, those that run
        self.with_bitmap: set[int] = set()
        self.lanes: list[tuple[int, set[int]]] = []  # relation, its scans' handles
        self.pace = single(20)

    # ---- who is there ----

    def lane_for(self, relation: int) -> set[int] | None:
        for of, handles in self.lanes:
            if of == relation and len(handles) < 8:
                return handles
        if len(self.lanes) == self.capacity:
            return None
        self.lanes.append((relation, set()))
        return self.lanes[-1][1]

    def has_room(self, relation: int, now: int) -> bool:
        """Those that are gone make room, all of them, if there is none."""
        if self.lane_for(relation) is None:
            for handle in [h for h, scan in self.scans.items() if scan.is_gone(now)]:
                self.end(handle)
        return self.lane_for(relation) is not None

    def begin(
        self, handle: int, relation: int, blocks: list[int], speed: float, owner: int, now: int
    ) -> None:
        """A scan that was given this handle; there is room."""
        pace = single(1e6 / speed) if speed else self.pace
        self.scans[handle] = Scan(relation, blocks, pace, owner, now)
        lane = self.lane_for(relation)
        assert lane is not None
        lane.add(handle)

    def end(self, handle: int) -> None:
        if handle in self.scans:
            del self.scans[handle]
            self.with_bitmap.discard(handle)
            for _, handles in self.lanes:
                handles.discard(handle)
        self.lanes = [(relation, handles) for relation, handles in self.lanes if handles]

    def end_owner(self, owner: int) -> int:
        found = [handle for handle, scan in self.scans.items() if scan.owner == owner]
        for handle in found:
            self.end(handle)
        return len(found)

    # ---- where they are ----

    def advance(self, handle: int, block: int, now: int) -> None:
        scan = self.scans.get(handle)
        place = scan.place.get(block) if scan else None
        if scan is None or place is None or place < scan.done:
            return
        scan.done = place + 1
        blocks = scan.done - scan.measured_done
        if blocks < STRIDE and not scan.is_gone(now):
            return
        seen = single(now - scan.measured_at) / single(blocks)
        slowest = single(64) * max(scan.pace, single(1))
        scan.pace += single(0.25) * (min(seen, slowest) - scan.pace)
        self.pace += single(0.25) * (scan.pace - self.pace)
        scan.measured_at, scan.measured_done = now, scan.done
        scan.wait_until(now)

    def next_access(self, relation: int, block: int, now: int) -> float:
        waits = [s.wait(block, now) for s in self.scans.values() if s.relation == relation]
        return min(waits, default=inf)
