"""Running scans for a pool and its model to look into."""

from __future__ import annotations

from dataclasses import dataclass

from tidepool import Pool
from tidepool._sim import ffi, lib

RELATION_BLOCKS = 896
CAPACITY = 8


@dataclass
class Scan:
    handle: int
    page: int  # that it reads next
    step: int  # 1 or -1


class Scans:
    """A registry, and how far the scans in it have come."""

    def __init__(self) -> None:
        self._scans = ffi.gc(lib.tps_scans_new(CAPACITY, 0), lib.tps_scans_free)
        self.running: list[Scan] = []

    def watched_by(self, pool: Pool) -> None:
        lib.tps_cache_set_scans(pool._cache, self._scans)

    def begin(self, page: int, count: int, speed: float, backward: bool, now: int) -> None:
        """A scan of ``count`` blocks that goes on at the other end."""
        spec = ffi.new("tps_scan *")
        spec.first, spec.count, spec.size = page, min(count, RELATION_BLOCKS), RELATION_BLOCKS
        spec.backward, spec.speed = backward, speed
        handle = lib.tps_scans_begin(self._scans, spec, now)
        if handle:
            self.running.append(Scan(handle, page, -1 if backward else 1))

    def advance(self, i: int, blocks: int, now: int) -> None:
        if self.running:
            scan = self.running[i % len(self.running)]
            relation, block = scan.page >> 32, scan.page & 0xFFFFFFFF
            last = (block + scan.step * (blocks - 1)) % RELATION_BLOCKS
            lib.tps_scans_advance(self._scans, scan.handle, relation << 32 | last, now)
            scan.page = relation << 32 | (last + scan.step) % RELATION_BLOCKS

    def end(self, i: int) -> None:
        if self.running:
            lib.tps_scans_end(self._scans, self.running.pop(i % len(self.running)).handle)

    def next_access(self, page: int, now: int) -> float:
        return float(lib.tps_scans_next_access(self._scans, page, now))

    def move(self) -> None:
        assert lib.tps_scans_move(self._scans)
