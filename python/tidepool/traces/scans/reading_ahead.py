"""Traces of scans as those that read ahead would make them: with pins."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tidepool.errors import TraceError
from tidepool.traces.columns import LAST_REFERENCE, column, resize, take
from tidepool.traces.model import Chunk, Kind, Trace

Event = tuple[int, int, int]  # page, kind, flags


@dataclass
class _Scan:
    """What a scan wants to read, and what it has read but not come to."""

    wanted: list[Event] = field(default_factory=list)
    pinned: deque[int] = field(default_factory=deque)


class _Scans:
    """The scans that are running, and the pages that they have pinned."""

    def __init__(self, blocks: int, together: int) -> None:
        self._blocks, self._together = blocks, together
        self._scans: defaultdict[int, _Scan] = defaultdict(_Scan)
        self._pins: Counter[int] = Counter()  # by page

    def events(self, scan: int, event: Event) -> Iterator[Event]:
        """Yield what there is in place of an event of this scan, 0 for none."""
        kind = event[1]
        if scan == 0 or (kind > LAST_REFERENCE and kind != Kind.SCAN_END):
            yield event
        elif kind == Kind.SCAN_END:
            running = self._scans.pop(scan, _Scan())
            yield from self._read(running)
            yield from self._unpin(running, 0)
            yield event
        else:
            running = self._scans[scan]
            running.wanted.append(event)
            yield from self._unpin(running, self._blocks - len(running.wanted))
            if len(running.wanted) == self._together:
                yield from self._read(running)

    def _read(self, scan: _Scan) -> Iterator[Event]:
        for event in scan.wanted:
            page = event[0]
            yield event
            self._pins[page] += 1
            if self._pins[page] == 1:
                yield page, Kind.PINNED, 0
            scan.pinned.append(page)
        scan.wanted.clear()

    def _unpin(self, scan: _Scan, most: int) -> Iterator[Event]:
        while len(scan.pinned) > most:
            page = scan.pinned.popleft()
            self._pins[page] -= 1
            if self._pins[page] == 0:
                del self._pins[page]
                yield page, Kind.UNPINNED, 0


class ReadAheadTrace(Trace):
    """See read_ahead()."""

    def __init__(self, trace: Trace, blocks: int, together: int) -> None:
        self._trace = trace
        self._blocks, self._together = blocks, together
        self.name = f"{trace.name} reading {blocks} ahead"
        self.relations = trace.relations
        self.page_size = trace.page_size

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events, pins among them."""
        return resize(self._with_pins())

    def _with_pins(self) -> Iterator[Chunk]:
        scans = _Scans(self._blocks, self._together)
        position = 0
        for chunk in self._trace.chunks():
            rows: list[int] = []  # that each event has its other columns from
            events: list[Event] = []
            given = (column(chunk, name, position).tolist() for name in ("scan", "kind", "flags"))
            for row, (page, scan, kind, flags) in enumerate(
                zip(chunk.page.tolist(), *given, strict=True)
            ):
                for event in scans.events(scan, (page, kind, flags)):
                    rows.append(row)
                    events.append(event)
            timed = replace(chunk, time=column(chunk, "time", position))
            if rows:
                pages, kinds, flag_bits = zip(*events, strict=True)
                yield replace(
                    take(timed, np.array(rows)),
                    page=np.array(pages, np.uint64),
                    kind=np.array(kinds, np.uint8),
                    flags=np.array(flag_bits, np.uint16),
                )
            position += len(chunk)


def read_ahead(trace: Trace, blocks: int, together: int = 16) -> Trace:
    """Return the trace as of scans that read so many ``blocks`` ahead, those pinned meanwhile.

    A scan comes to a block when it wants the ``blocks``-th after it.  It makes
    ``together`` reads at once, when it wants the last of them, as a server
    does that reads several blocks with one request.  When it ends, it has come
    to all its blocks.  Scans must end in the trace: otherwise their last
    reads, fewer than ``together``, are missing.  References that no scan makes
    stay as they are.

    Raises TraceError unless 1 <= together <= blocks.
    """
    if not 1 <= together <= blocks:
        raise TraceError(
            f"scans cannot make {together} reads at once and be {blocks} blocks ahead",
            "Use from 1 read to as many as there are blocks.",
        )
    return ReadAheadTrace(trace, blocks, together)
