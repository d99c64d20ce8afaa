"""Running scans, as a policy with foresight may ask them: for teaching, debugging and tests.

The operations are those of core/include/tidepool/prediction/scan.h and trail.h.

>>> scans = Scans()
>>> scan = scans.begin(first=100, count=50, speed=1e6)
>>> scans.next_access(120)
20.0
>>> pool = Pool("pbm", frames=3, scans=scans)
"""

from __future__ import annotations

from collections.abc import Sequence

from tidepool._sim import ffi, lib


class Scans:
    """A registry with room for ``capacity`` scans, ``bitmaps`` of them bitmap scans.

    Times are in microseconds, pages as for Pool.  A handle of 0 stands for a
    scan for which there was no room, and may be used like any other.
    """

    def __init__(self, capacity: int = 64, bitmaps: int = 4) -> None:
        handle = lib.tps_scans_new(capacity, bitmaps, lib.TPS_TRAIL_MARKS)
        if handle == ffi.NULL:
            raise MemoryError(f"no memory for {capacity} scans")
        self.handle = ffi.gc(handle, lib.tps_scans_free)
        self.now = 0

    def begin(
        self,
        first: int,
        count: int = 0,
        size: int = 0,
        *,
        low: int = 0,
        backward: bool = False,
        ranges: Sequence[tuple[int, int]] | None = None,
        speed: float = 0,
        owner: int = 0,
    ) -> int:
        """Register a scan and return its handle.

        It reads ``count`` pages from page ``first`` on (``backward``:
        downwards), and from the last of ``size`` blocks from ``low`` on goes
        on to the first.
        With ``ranges`` of blocks and counts it is a bitmap scan, which begins
        with the group of ``first``, or the next one that it reads, and wraps.
        ``speed`` is in pages per second.
        """
        scan = ffi.new("tps_scan *")
        scan.first, scan.count, scan.low, scan.size = first, count, low, size
        scan.backward, scan.speed, scan.owner = backward, speed, owner
        if ranges is not None:
            numbers = ffi.new("uint32_t[]", [number for pair in ranges for number in pair] or 1)
            scan.ranges, scan.n_ranges = numbers, len(ranges)
        return int(lib.tps_scans_begin(self.handle, scan, self.now))

    def advance(self, scan: int, page: int) -> None:
        """Say that the scan has read the page."""
        lib.tps_scans_advance(self.handle, scan, page, self.now)

    def end(self, scan: int) -> None:
        """Say that the scan is over."""
        lib.tps_scans_end(self.handle, scan)

    def end_owner(self, owner: int) -> int:
        """Say that all scans of the owner are over, of either kind; return how many there were."""
        return int(lib.tps_scans_end_owner(self.handle, owner))

    def meet(
        self,
        first: int,
        count: int,
        speed: float = 0,
        *,
        size: int = 0,
        ranges: Sequence[tuple[int, int]] | None = None,
    ) -> int:
        """Return the page with which a scan should begin so as to meet a running one.

        It is going to read ``count`` pages from page ``first`` on, or ``ranges``
        of a relation of ``size`` blocks, in any order that goes round.
        """
        scan = ffi.new("tps_scan *")
        scan.first, scan.count, scan.speed, scan.size = first, count, speed, size
        if ranges is not None:
            numbers = ffi.new("uint32_t[]", [number for pair in ranges for number in pair] or 1)
            scan.ranges, scan.n_ranges = numbers, len(ranges)
        return int(lib.tps_scans_meet(self.handle, scan, self.now))

    def next_access(self, page: int) -> float:
        """Microseconds until a scan reads the page; infinite if none will."""
        return float(lib.tps_scans_next_access(self.handle, page, self.now))

    def expected_access(self, page: int) -> float:
        """The same with scans that have not begun, as the history of scans predicts them."""
        return float(lib.tps_scans_expected_access(self.handle, page, self.now))

    def begin_index_scan(self, index: int, owner: int = 0) -> int:
        """Begin an index scan, which others may trail, and return its handle."""
        return int(lib.tps_trail_begin(self.handle, index, owner, self.now))

    def tuple(self, scan: int, tuple_: int) -> None:
        """Say that the index scan has come to the tuple."""
        lib.tps_trail_tuple(self.handle, scan, tuple_, self.now)

    def end_index_scan(self, scan: int) -> None:
        """Say that the index scan is over."""
        lib.tps_trail_end(self.handle, scan)

    def delay(self, scan: int) -> float:
        """Microseconds by which another index scan trails this one; infinite if none does."""
        return float(lib.tps_trail_delay(self.handle, scan))

    @property
    def running(self) -> int:
        """Scans that have begun and not ended, of either kind."""
        return int(lib.tps_scans_running(self.handle))

    def move(self) -> None:
        """Move the registry to another place in memory; nothing else changes."""
        if not lib.tps_scans_move(self.handle):
            raise MemoryError("no memory to move the scans to")

    def check(self) -> list[str]:
        """Return the invariants that do not hold: an empty list, unless there is a defect."""
        text = ffi.new("char[]", 4096)
        bad = lib.tps_scans_check(self.handle, text, len(text))
        lines = ffi.string(text).decode().splitlines()
        return lines if lines or not bad else [f"{bad} violations"]
