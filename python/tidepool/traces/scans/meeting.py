"""Where scans begin so as to meet those that are running."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidepool.errors import TraceError
from tidepool.scans import Scans
from tidepool.traces.model import block_of, page_number
from tidepool.traces.scans.planned import PlannedScan


def meet(streams: Iterable[Iterable[PlannedScan]]) -> list[list[PlannedScan]]:
    """Return the scans, each with the same blocks at the same time, but in an order that meets.

    A scan that begins asks the scan registry where it is to begin (the rule is
    ``tp_scan_meet``'s, core/include/tidepool/prediction/scan.h), reads from there to the
    end of its range and goes on with the range's beginning.  The registry
    knows how far the scans have come that run at that moment.

    Raises TraceError for scans whose order is not free: backward, of block
    groups, or going round already.
    """
    planned = [list(stream) for stream in streams]
    running = _Running(len(planned))
    by_start = sorted(
        ((i, j) for i, stream in enumerate(planned) for j in range(len(stream))),
        key=lambda place: planned[place[0]][place[1]].start,
    )
    for i, j in by_start:
        planned[i][j] = running.begin(planned[i][j])
    return planned


class _Running:
    """The scans that have begun, in a registry with room for this many at once."""

    def __init__(self, capacity: int) -> None:
        self._scans = Scans(max(1, capacity))
        self._handles: list[tuple[PlannedScan, int]] = []

    def begin(self, scan: PlannedScan) -> PlannedScan:
        """Register a scan at its start; return it as it meets the others."""
        if scan.backward or scan.bitmap is not None or scan.first + scan.count > scan.size:
            raise TraceError(
                "only scans of a range upwards can meet others",
                "Leave meeting out, or make the scans neither backward nor of block groups.",
            )
        self._come_to(scan.start)
        first = page_number(scan.relation, scan.first)
        meeting = self._scans.meet(first, scan.count, scan.speed)
        met = replace(scan, first=block_of(meeting), low=scan.first, size=scan.count)
        handle = self._scans.begin(
            meeting, met.count, met.size, low=met.low, speed=met.speed, owner=met.backend
        )
        self._handles.append((met, handle))
        return met

    def _come_to(self, now: float) -> None:
        """Advance all scans to where they are now, and end those that are over."""
        self._scans.now = int(now)
        going = []
        for scan, handle in self._handles:
            if scan.end <= now:
                self._scans.end(handle)
                continue
            read = int((now - scan.start) * scan.speed / 1e6)
            if read > 0:
                (block,) = scan.blocks(read - 1, read).tolist()
                self._scans.advance(handle, page_number(scan.relation, block))
            going.append((scan, handle))
        self._handles = going
