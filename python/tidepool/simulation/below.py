"""SSD tiers below a server: fed with what its recording says it read and wrote, not by a replay.

Memory is as it was in the server, so it need not be simulated; nor does it matter what
lies below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError, TraceError
from tidepool.simulation.devices import HDD, SATA_SSD, Device
from tidepool.simulation.events import Events, positioned
from tidepool.simulation.ssd import (
    Ssd,
    SsdResult,
    Tier,
    parse_ssd_policy,
    ssd_result,
    tier_bytes,
    tier_options,
)
from tidepool.traces.columns import BELOW, column, join, take
from tidepool.traces.columns import references as references_of
from tidepool.traces.model import Chunk, Kind, Trace
from tidepool.traces.provenance import ReadTimes, RecordedSsd, SsdState, parse_ssd_state

Progress = Callable[[int], None]

OF_BLOCKS = (Kind.PHYSICAL_READ, Kind.PHYSICAL_WRITE, Kind.SSD_LOST)
MAX_BLOCKS = 1 << 16  # of a physical read or write; servers have at most 128


def has_physical_io(trace: Trace) -> bool:
    """Whether the trace is a recording that has physical reads and writes."""
    return trace.recorded is not None and trace.recorded.physical


def measured_disk(times: ReadTimes | None) -> Device | None:
    """Return the disk as a server measured it; None if it read nothing.

    What was not measured counts as what was; so do writes.
    """
    if times is None or times.disk_random.pages + times.disk_sequential.pages == 0:
        return None
    random, sequential = times.disk_random, times.disk_sequential
    slow = random.mean if random.pages else sequential.mean
    fast = min(sequential.mean, slow) if sequential.pages else slow
    return Device("measured", slow, fast, slow, fast)


def measured_ssd(times: ReadTimes | None) -> Device | None:
    """Likewise, the SSD: all its reads are random."""
    if times is None or times.ssd.pages == 0:
        return None
    mean = times.ssd.mean
    return Device("measured", mean, mean, mean, mean)


def reads_and_writes(chunk: Chunk) -> Chunk | None:
    """Return a chunk's physical reads and writes page by page, and forgets, as a Tier takes them.

    Those of main forks: others are never on the SSD.  None if there are none.
    """
    if chunk.kind is None:
        return None
    kinds = (Kind.PHYSICAL_READ, Kind.PHYSICAL_WRITE, Kind.FORGET)
    main = chunk.page >> np.uint64(32) & np.uint64(3) == 0
    rows = np.flatnonzero(np.isin(chunk.kind, kinds) & main)
    if len(rows) == 0:
        return None
    _check_blocks(take(chunk, rows))
    count = column(chunk, "count", 0)[rows]
    kind = chunk.kind[rows].copy()
    of_blocks = kind != Kind.FORGET
    each = np.where(of_blocks, count, 1)
    kind[kind == Kind.PHYSICAL_READ] = Kind.READ
    kind[kind == Kind.PHYSICAL_WRITE] = Kind.WRITE
    first = np.cumsum(each) - each
    offset = np.arange(int(each.sum())) - np.repeat(first, each)
    return Chunk(
        page=np.repeat(chunk.page[rows], each) + offset.astype(np.uint64),
        kind=np.repeat(kind, each),
        flags=np.zeros(len(offset), np.uint16),
        count=np.repeat(np.where(of_blocks, 0, count).astype(np.uint32), each),
    )


def _check_blocks(chunk: Chunk) -> None:
    count = column(chunk, "count", 0)[np.isin(column(chunk, "kind", 0), OF_BLOCKS)]
    if len(count) and int(count.max()) > MAX_BLOCKS:
        raise TraceError(f"a physical read or write of {int(count.max()):,} blocks: damaged")


def _parts(trace: Trace, warmup: int) -> Iterator[tuple[int, Chunk, bool]]:
    """Yield a trace's chunks with their positions, parted at the end of the warm-up.

    The flag says that counting begins with this chunk anew.
    """
    seen = 0  # references
    for position, chunk in positioned(trace):
        rows = np.flatnonzero(references_of(chunk))
        if seen < warmup <= seen + len(rows):
            left = warmup - seen
            middle = int(rows[left]) if left < len(rows) else len(chunk)
            yield position, take(chunk, slice(0, middle)), False
            yield position + middle, take(chunk, slice(middle, None)), True
        else:
            yield position, chunk, False
        seen += len(rows)


def simulate_below(
    trace: Trace,
    ssds: Sequence[Ssd],
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    warmup: int = 0,
    see_time: Callable[[NDArray[np.uint64] | None], None] | None = None,
) -> list[SsdResult]:
    """Return what each SSD would have done below the server that recorded the trace.

    Nothing is counted of the first ``warmup`` references, to pages in memory or
    not.  ``see_time`` is called with the times of each chunk.

    Raises TidepoolError if the trace has no physical reads and writes.
    """
    if not has_physical_io(trace):
        raise TidepoolError(
            f"{trace.name} has no physical reads and writes",
            "Record again with this server, or give --policy and --frames.",
        )
    if any(ssd.at_eviction for ssd in ssds):
        raise TidepoolError(
            "physical reads and writes do not say when pages leave memory",
            "Leave out the admission at eviction, or give --policy and --frames.",
        )
    tiers = [Tier(ssd, seed) for ssd in ssds]
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as threads:
        position = 0
        for _, chunk, begins in _parts(trace, warmup):
            if begins:
                for tier in tiers:
                    tier.restart()
            below = reads_and_writes(chunk)
            if below is not None:
                events = Events(below, position)
                list(threads.map(partial(_feed, events), tiers))
                position += len(below)
            if see_time:
                see_time(chunk.time)
            if progress:
                progress(len(chunk))
        return list(threads.map(Tier.result, tiers))


def _feed(events: Events, tier: Tier) -> None:
    tier.feed(events.pointer)


# ---- the server's own SSD ----


def recorded_ssd(recorded: RecordedSsd, disk: Device, device: Device) -> Ssd:
    """Return the SSD that a server had, without a write buffer: its writes are recorded."""
    return Ssd(parse_ssd_policy(recorded.spec), recorded.pages, disk, device, write_buffer=0)


class FollowingTier:
    """A server's SSD tier again: fed with the chunks of its recording (tier_recorded.c).

    The last read of a chunk waits for the next one, which may begin with the places
    that it found in use.
    """

    def __init__(self, trace: Trace, disk: Device | None = None, device: Device | None = None):
        recorded = trace.recorded
        if recorded is None or recorded.ssd is None or not recorded.physical:
            raise TidepoolError(f"{trace.name} was not recorded by a server with an SSD tier")
        self._name, self._trace_ssd = trace.name, recorded.ssd
        self.ssd = recorded_ssd(
            recorded.ssd,
            disk or measured_disk(recorded.read_times) or HDD,
            device or measured_ssd(recorded.read_times) or SATA_SSD,
        )
        spec, ran = self.ssd.spec, recorded.ssd
        needed = tier_bytes(replace(self.ssd, frames=ran.capacity)) + 64 * ran.extents
        if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
            raise MemoryError(f"{needed / 2**30:.0f} GB are needed for {ran.capacity} frames")
        cache = lib.tps_cache_new(
            spec.policy.handle, spec.array(), ran.capacity, ran.pages, recorded.seed
        )
        tier = lib.tps_tier_new(cache, tier_options(self.ssd)) if cache != ffi.NULL else ffi.NULL
        if tier == ffi.NULL:
            raise MemoryError(f"no memory to simulate an SSD of {ran.capacity} frames")
        self._tier = ffi.gc(tier, lib.tps_tier_free)
        if not lib.tps_tier_follow(self._tier, ran.extents):
            raise MemoryError(f"no memory to simulate an SSD of {ran.capacity} frames")
        self._save(ran)
        lib.tps_tier_set_purse(
            self._tier, ran.purse, min(ran.day_writes, 0xFFFFFFFF), ran.purse_time
        )
        self._waiting: Chunk | None = None

    def feed(self, position: int, chunk: Chunk) -> None:
        """Take further events of the recording."""
        timed = replace(chunk, time=column(chunk, "time", position))
        below = take(timed, np.isin(column(chunk, "kind", position), BELOW))
        _check_blocks(below)
        if self._waiting is not None:
            below = join([self._waiting, below], 0)
        reads = np.flatnonzero(column(below, "kind", 0) == Kind.PHYSICAL_READ)
        last = int(reads[-1]) if len(reads) else 0
        self._waiting = take(below, slice(last, None)) if last < len(below) else None
        self._take(take(below, slice(0, last)))

    def _take(self, chunk: Chunk) -> None:
        start = 0
        kind = column(chunk, "kind", 0)
        for row in np.flatnonzero(kind == Kind.SSD).tolist():
            self._feed(chunk, slice(start, row))
            self._change(chunk.bitmaps.get(row, b""))
            start = row + 1
        self._feed(chunk, slice(start, len(chunk)))

    def _feed(self, chunk: Chunk, rows: slice) -> None:
        if rows.start < rows.stop:
            events = Events(replace(take(chunk, rows), bitmaps={}), 0)
            if not lib.tps_tier_feed_recorded(self._tier, events.pointer):
                raise MemoryError("no memory to simulate an SSD")

    def _change(self, text: bytes) -> None:
        try:
            state = parse_ssd_state(text)
        except ValueError:
            raise TraceError(f"{self._name}: damaged state of the SSD tier") from None
        if state.pages > self._trace_ssd.capacity:
            raise TraceError(f"{self._name}: the SSD tier is larger than it can be")
        if state.emptied:
            lib.tps_tier_empty(self._tier)
        lib.tps_tier_resize(self._tier, state.pages)
        self._save(state)

    def _save(self, state: SsdState | RecordedSsd) -> None:
        lib.tps_tier_set_savings(
            self._tier, state.random_saving, state.sequential_saving, state.useful
        )
        lib.tps_tier_set_keep_share(self._tier, state.keep_share)
        lib.tps_tier_set_budget(self._tier, state.write_budget, state.write_budget_per_day)

    def _settle(self) -> None:
        if self._waiting is not None:
            self._take(self._waiting)
            self._waiting = None

    def restart(self) -> None:
        """Count from here on."""
        self._settle()
        lib.tps_tier_restart(self._tier)

    def result(self) -> SsdResult:
        """Return what was counted, and the hits that the server had."""
        self._settle()
        sums = ffi.new("tps_tier_sums *")
        lib.tps_tier_totals(self._tier, sums)
        return replace(ssd_result(self.ssd, sums), recorded_hits=sums.recorded_hits)

    def check(self) -> int:
        """Return how many invariants do not hold: 0, unless there is a defect."""
        self._settle()
        return int(lib.tps_tier_check(self._tier, ffi.NULL, 0))


def replay_recorded_ssd(
    trace: Trace,
    disk: Device | None = None,
    device: Device | None = None,
    progress: Progress | None = None,
    warmup: int = 0,
) -> SsdResult:
    """Replay the SSD tier of the server that recorded the trace.

    Nothing is counted of the first ``warmup`` references to pages.  Times are
    those of the devices: by default as the server measured them.
    """
    tier = FollowingTier(trace, disk, device)
    for position, chunk, begins in _parts(trace, warmup):
        if begins:
            tier.restart()
        tier.feed(position, chunk)
        if progress:
            progress(len(chunk))
    return tier.result()
