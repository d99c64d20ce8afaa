"""The replay of a trace into a layout of pools."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError, TraceError
from tidepool.policies import Instance, PolicySpec
from tidepool.simulation.events import Events, positioned, references
from tidepool.simulation.layouts import (
    Layout,
    LayoutResult,
    PoolResult,
    is_recorded_layout,
    recorded_policy,
)
from tidepool.simulation.options import Options
from tidepool.simulation.repetitions import Repetitions
from tidepool.simulation.replay import (
    missed_of,
    relations_of,
    replay_bytes,
    row_of_reference,
    series_of,
)
from tidepool.simulation.results import REASONS, reasons_of
from tidepool.traces.columns import only_as_recorded, select, take
from tidepool.traces.model import Chunk, Kind, Trace
from tidepool.traces.provenance import parse_recorded_pool


@dataclass
class _Pool:
    """A pool as it is now."""

    name: str
    spec: PolicySpec
    policy: Instance


class LayoutReplay:
    """A replay in progress: feed it the trace's chunks in order, then take the result.

    ``per_event`` counts for ``missed``.  ``as_recorded``: the trace's server ran
    this (layouts.is_recorded_layout).
    """

    def __init__(
        self,
        layout: Layout,
        seed: int = 0,
        options: Options | None = None,
        per_event: bool = False,
        as_recorded: bool = False,
    ) -> None:
        options = options or Options()
        if options.sampling is not None or options.resize or options.per_search:
            raise TidepoolError("pools are replayed with the whole trace, and resized by name")
        self.layout, self.seed, self.options = layout, seed, options
        self.seconds = 0.0
        self._per_event = per_event
        self._missed: list[NDArray[np.bool_]] = []  # of the last feed
        self._references = 0  # fed so far
        self._stops = sorted(layout.resize)
        self._repetitions = Repetitions(options.correlation_window)
        self._ended: list[PoolResult] = []  # pools that have been dropped
        numbered = layout.numbered()
        self._pools = {
            number: _Pool(pool.name, pool.spec, pool.spec.begin())
            for number, pool in numbered.items()
        }
        self._assigned = _Assignment(
            {relation: number for number, pool in numbered.items() for relation in pool.relations}
        )
        _check_memory(layout)
        n = max(numbered) + 1
        specs = ffi.new("tps_pool_spec[]", n)
        arrays = []  # what specs points to
        for number, pool in numbered.items():
            arrays.append(pool.spec.array())
            specs[number].policy = self._pools[number].policy.handle
            specs[number].params = arrays[-1]
            specs[number].frames = pool.frames
        counted = {
            "warmup": options.warmup,
            "interval": options.interval,
            "batch": options.batch,
            "as_recorded": as_recorded,
            "scans": options.scans,
            "per_relation": options.per_relation,
            "per_event": per_event,
        }
        made = lib.tps_layout_new(
            specs, n, layout.as_recorded, seed, ffi.new("tps_options *", counted)
        )
        if made == ffi.NULL:
            raise MemoryError(f"no memory to simulate pools of {layout.frames} frames")
        self._layout = ffi.gc(made, lib.tps_layout_free)
        for number, pool in numbered.items():
            self._pools[number].policy.start(pool.frames, seed)

    # ---- events ----

    def feed(self, position: int, chunk: Chunk) -> None:
        """Replay a chunk whose first event is the trace's event number ``position``."""
        begin = time.perf_counter()
        self._missed = []
        chunk = self._repetitions.flagged(chunk, position)
        if not self.layout.as_recorded:
            chunk = self._with_pools(chunk, position)
        start = 0
        for row, do in self._changes(chunk):
            self._feed_rows(position, chunk, slice(start, row))
            do(position + row if chunk.time is None else int(chunk.time[row]))
            start = row
        self._feed_rows(position, chunk, slice(start, len(chunk)))
        self._references += references(chunk)
        self.seconds += time.perf_counter() - begin

    def _with_pools(self, chunk: Chunk, position: int) -> Chunk:
        """Return the chunk with this layout's pools, not those of a recording."""
        if (others := only_as_recorded(chunk)).any():
            chunk = select(chunk, ~others, position)
        return replace(chunk, pool=self._assigned.pools(chunk.page))

    def _changes(self, chunk: Chunk) -> list[tuple[int, Callable[[int], None]]]:
        """Return what changes pools in this chunk: before which row, and what it does."""
        found: list[tuple[int, Callable[[int], None]]] = []
        last = self._references + references(chunk)
        while self._stops and self._stops[0][0] < last:
            at, name, frames = self._stops.pop(0)
            row = row_of_reference(chunk, at - self._references)
            found.append((row, partial(self._resize, name, frames)))
        if self.layout.as_recorded and chunk.kind is not None:
            for row in np.flatnonzero(chunk.kind == Kind.POOL).tolist():
                number = 0 if chunk.pool is None else int(chunk.pool[row])
                definition = chunk.bitmaps.get(row, b"")
                found.append((row, partial(self._define, number, definition)))
        return sorted(found, key=lambda change: change[0])

    def _feed_rows(self, position: int, chunk: Chunk, part: slice) -> None:
        if part.start == part.stop:
            return
        if part.start > 0 or part.stop < len(chunk):
            chunk = take(chunk, part)
        events = Events(chunk, position + part.start)
        if not lib.tps_layout_feed(self._layout, events.pointer):
            raise MemoryError(f"no memory to simulate pools of {self.layout.frames} frames")
        self._check_policies()
        if self._per_event:
            self._missed.append(missed_of(lib.tps_layout_whole(self._layout), events))

    def missed(self) -> NDArray[np.bool_]:
        """Return which events of the last chunk were references that missed.

        Of a recording that is replayed into other pools than the server had, what
        became of those is left out, and what was read and written below memory.
        """
        return np.concatenate([np.zeros(0, np.bool_), *self._missed])

    # ---- changes of pools ----

    def _number(self, name: str) -> int:
        return next(number for number, pool in self._pools.items() if pool.name == name)

    def _resize(self, name: str, frames: int, now: int) -> None:
        number = self._number(name)
        missing = frames - lib.tps_layout_frames(self._layout, number)
        if missing >= 0:
            lib.tps_layout_move(self._layout, 0, number, missing, now)
        else:
            lib.tps_layout_move(self._layout, number, 0, -missing, now)
        self._check_policies()

    def _check_policies(self) -> None:
        for pool in self._pools.values():
            pool.policy.check()

    def _define(self, number: int, definition: bytes, now: int) -> None:
        """Follow a recorded definition; its buffers move by events of their own."""
        try:
            pool = parse_recorded_pool(definition)
        except ValueError:
            raise TraceError(f"the definition of pool number {number} is damaged") from None
        if pool is None:
            if number in self._pools and number != 0:
                self._ended.append(self._result(number))
                lib.tps_layout_drop(self._layout, number, now)
                del self._pools[number]
            return
        spec = recorded_policy(pool, number == 0)
        known = self._pools.get(number)
        if (known is None or known.spec != spec) and not lib.tps_layout_define(
            self._layout, number, spec.policy.handle, spec.array(), now
        ):
            raise MemoryError(f'no memory for policy {spec} of pool "{pool.name}"')
        self._pools[number] = _Pool(pool.name, spec, spec.begin())

    # ---- results ----

    def _result(self, number: int) -> PoolResult:
        pool = self._pools[number]
        totals = ffi.new("tps_totals *")
        lib.tps_replay_totals(lib.tps_layout_pool(self._layout, number), totals)
        return PoolResult(
            pool=pool.name,
            policy=pool.spec.policy.name,
            params=pool.spec.typed_params(),
            frames=lib.tps_layout_frames(self._layout, number),
            requests=totals.requests,
            misses=totals.misses,
            hit_ratio=1 - totals.misses / totals.requests if totals.requests else 0.0,
            refused=totals.refused,
            correlated=totals.correlated,
            evictions=totals.evictions,
            write_backs=totals.write_backs,
            forgotten=totals.forgotten,
            **reasons_of(totals),
        )

    def result(self, trace: Trace) -> LayoutResult:
        """Return what was counted; nothing may be fed afterwards."""
        if not lib.tps_layout_end(self._layout, self._references):
            raise MemoryError("no memory for the time series")
        whole = lib.tps_layout_whole(self._layout)
        totals = ffi.new("tps_totals *")
        lib.tps_replay_totals(whole, totals)
        pools = [*(self._result(number) for number in sorted(self._pools)), *self._ended]
        interval = self.options.interval
        last = (self._references - 1) % interval + 1 if interval and self._references else 0
        return LayoutResult(
            trace=trace.name,
            policy=self.layout.default.policy.name,
            params=self.layout.default.typed_params(),
            frames=self.layout.frames,
            requests=totals.requests,
            misses=totals.misses,
            hit_ratio=1 - totals.misses / totals.requests if totals.requests else 0.0,
            seconds=round(self.seconds, 6),
            seed=self.seed,
            refused=self._refused(pools),
            correlated=sum(pool.correlated for pool in pools),
            write_backs=sum(pool.write_backs for pool in pools),
            forgotten=sum(pool.forgotten for pool in pools),
            **{name: sum(getattr(pool, name) for pool in pools) for name in REASONS},
            interval=interval,
            last_interval=last,
            series=series_of(whole, interval, last) if interval else None,
            relations=relations_of(whole, trace),
            layout=str(self.layout),
            evictions=sum(pool.evictions for pool in pools),
            pools=tuple(pools),
        )

    def check(self) -> str:
        """Return what violates the invariants of the pools, a line each."""
        text = ffi.new("char[]", 4096)
        bad = lib.tps_layout_check(self._layout, text, 4096)
        return str(ffi.string(text), "ascii") if bad else ""

    @staticmethod
    def _refused(pools: Sequence[PoolResult]) -> int:
        """Return the pages that came into no pool: what DEFAULT has refused."""
        return pools[0].refused


def _check_memory(layout: Layout) -> None:
    """Raise MemoryError if the pools cannot fit: the system would end the process instead."""
    specs = [pool.spec for pool in layout.numbered().values()]
    needed = max(replay_bytes(spec, layout.frames) for spec in specs)
    if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise MemoryError(f"{needed / 2**30:.0f} GB are needed for pools of {layout.frames} frames")


class _Assignment:
    """The pools of relations: those in a map have theirs, others DEFAULT."""

    def __init__(self, pools: dict[int, int]) -> None:
        self._relations = np.array(sorted(pools), np.uint64)
        self._numbers = np.array([pools[relation] for relation in sorted(pools)] + [0], np.uint8)

    def pools(self, pages: NDArray[np.uint64]) -> NDArray[np.uint8] | None:
        """Return the number of each page's pool."""
        if len(self._relations) == 0:
            return None
        relations = pages >> np.uint64(34)
        at = np.searchsorted(self._relations, relations)
        known = self._relations[np.minimum(at, len(self._relations) - 1)] == relations
        found: NDArray[np.uint8] = np.where(known, self._numbers[at], 0).astype(np.uint8)
        return found


# ---- several layouts ----


@dataclass(frozen=True)
class LayoutJob:
    """A layout to replay a trace into."""

    trace: Trace
    layout: Layout
    seed: int
    options: Options


def run_layout(job: LayoutJob, progress: Callable[[int], None] | None = None) -> LayoutResult:
    """Replay one; ``progress`` is told the number of events done."""
    as_recorded = is_recorded_layout(job.trace.recorded, job.layout, job.options.batch)
    replay = LayoutReplay(job.layout, job.seed, job.options, as_recorded=as_recorded)
    for position, chunk in positioned(job.trace):
        replay.feed(position, chunk)
        if progress:
            progress(len(chunk))
    return replay.result(job.trace)


def simulate_layouts(
    trace: Trace,
    layouts: Sequence[Layout],
    seed: int = 0,
    options: Options | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[LayoutResult]:
    """Replay a trace into each layout; return the results in the order given.

    Without an executor, as many threads as there are cores (or ``workers``) are
    used, and ``progress`` is called from any of them.
    """
    jobs = [LayoutJob(trace, layout, seed, options or Options()) for layout in layouts]
    if executor is not None:
        return list(executor.map(run_layout, jobs))
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as threads:
        return list(threads.map(partial(run_layout, progress=progress), jobs))
