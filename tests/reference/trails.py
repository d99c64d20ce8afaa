"""Trailing index scans: core/include/tidepool/prediction/trail.h."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from reference.base import MASK, mix64

EVERY = 16  # of so many tuples one is marked
TIMEOUT = 10_000_000
MARKS = 65536  # places


@dataclass(eq=False)
class Trail:
    handle: int
    index: int
    owner: int
    last_mark: int
    running: bool = True
    follower: Trail | None = None
    delay: int = 0


@dataclass
class Mark:
    key: int
    time: int
    scan: Trail


class Trails:
    def __init__(self, capacity: int) -> None:
        # a place keeps an ended scan until it is given to another
        self.places: list[Trail | None] = [None] * capacity
        self.free = list(range(capacity))  # the next to be reused first
        self.marks: dict[int, Mark] = {}  # by place

    def in_place(self) -> list[Trail]:
        return [scan for scan in self.places if scan is not None]

    def find(self, handle: int) -> Trail | None:
        return next((scan for scan in self.in_place() if scan.handle == handle), None)

    def is_running(self, scan: Trail | None) -> bool:
        return scan is not None and scan.running

    @property
    def running(self) -> int:
        return sum(scan.running for scan in self.in_place())

    def begin(self, handle: int, index: int, owner: int, now: int) -> bool:
        """Whether the scan is registered: then this is its handle."""
        if not self.free:
            for scan in self.in_place():
                if now - scan.last_mark > TIMEOUT:
                    self.stop(scan)
        if not self.free:
            return False
        self.places[self.free.pop(0)] = Trail(handle, index, owner, now)
        return True

    def stop(self, scan: Trail) -> None:
        scan.running = False
        self.free.append(self.places.index(scan))

    def end(self, handle: int) -> None:
        scan = self.find(handle)
        if scan is not None and scan.running:
            self.stop(scan)

    def end_owner(self, owner: int) -> int:
        found = [scan for scan in self.in_place() if scan.running and scan.owner == owner]
        for scan in found:
            self.stop(scan)
        return len(found)

    def tuple(self, handle: int, tuple_: int, now: int) -> None:
        scan = self.find(handle)
        if scan is None or not scan.running:
            return
        key = mix64(tuple_ + mix64(scan.index) & MASK)
        if key % EVERY != 0:
            return
        place = key // EVERY % MARKS
        mark = self.marks.get(place)
        if mark is not None and mark.key == key:
            self.follow(scan, mark.scan, mark.time, now)
        self.marks[place] = Mark(key, now, scan)
        scan.last_mark = now

    def follow(self, scan: Trail, leader: Trail, time: int, now: int) -> None:
        if not leader.running or leader is scan or leader.index != scan.index or time > now:
            return
        leader.delay, leader.follower = now - time, scan
        if scan.follower is leader:
            scan.follower = None  # overtaken

    def delay(self, handle: int) -> float:
        scan = self.find(handle)
        if scan is None or scan.follower is None or not scan.follower.running:
            return inf
        return float(scan.delay)
