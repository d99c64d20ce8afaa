"""One replay: a trace against one policy with one number of frames."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation.events import Events, references
from tidepool.simulation.options import Options
from tidepool.simulation.results import RelationResult, Result, reasons_of
from tidepool.simulation.ssd import EXTENT_BYTES, Ssd, Tier
from tidepool.traces.columns import take
from tidepool.traces.model import Chunk, Trace
from tidepool.traces.provenance import Recorded

_TABLE_BYTES = 49  # of a frame: its share of the page table, on average, and its dirty mark
_OPT_FRAME_BYTES = 76  # likewise, with the heap


def is_as_recorded(
    recorded: Recorded | None, spec: PolicySpec, frames: int, options: Options
) -> bool:
    """Return whether the trace's server ran this, and its recording says all that a replay needs.

    Then backends report what they have queued when they did in the server, and give
    up what they gave up there.
    """
    if recorded is None or not recorded.reports or options.resize or options.sampling:
        return False
    ran = parse_policy(recorded.policy)
    return (spec.policy, spec.params()) == (ran.policy, ran.params()) and (
        frames,
        options.batch,
    ) == (recorded.buffers, recorded.batch)


class Replay:
    """A replay in progress: feed it the trace's chunks in order, then take the result.

    OPT needs the next uses with each chunk (future.py).  ``options.sampling``
    is ignored: SampledReplay is built from several of these.  ``per_group``
    counts for ``groups``, ``per_event`` for ``missed``; ``pages`` is as in
    frames_made.  ``as_recorded``: the trace's server ran this (is_as_recorded).
    SSD tiers attached before the first chunk are fed with this cache's reads and
    writes, and do not affect it.
    """

    def __init__(
        self,
        spec: PolicySpec,
        frames: int,
        seed: int = 0,
        options: Options | None = None,
        per_group: bool = False,
        pages: int | None = None,
        per_event: bool = False,
        as_recorded: bool = False,
    ) -> None:
        options = options or Options()
        if options.resize and spec.policy.handle is None:
            raise TidepoolError(
                "only pools of online policies can be resized", "Leave the resize or opt out."
            )
        self.spec, self.frames, self.seed, self.options = spec, frames, seed, options
        self.seconds = 0.0
        self._per_event = per_event
        self._missed: list[NDArray[np.bool_]] = []  # of the last feed
        self._references = 0  # fed so far
        # (reference, frames): before it, resize; None: what SSD tiers count begins
        self._stops: list[tuple[int, int | None]] = sorted(options.resize)
        made = frames_made(frames, options, pages)
        capacity = max(made, *(size for _, size in options.resize), 1)
        c_options = ffi.new(
            "tps_options *",
            {
                "warmup": options.warmup,
                "interval": options.interval,
                "correlation_window": options.correlation_window,
                "batch": options.batch,
                "as_recorded": as_recorded,
                "scans": options.scans,
                "per_relation": options.per_relation,
                "per_group": per_group,
                "per_search": options.per_search,
                "per_event": per_event,
            },
        )
        self._policy = spec.begin()
        if spec.policy.handle is None:
            bypass = bool(spec.params()["bypass"])
            replay = lib.tps_replay_new_opt(made, bypass, c_options)
        else:
            cache = lib.tps_cache_new(self._policy.handle, spec.array(), capacity, made, seed)
            replay = lib.tps_replay_new(cache, c_options) if cache != ffi.NULL else ffi.NULL
        if replay == ffi.NULL:
            raise MemoryError(f"no memory to simulate {spec} with {frames} frames")
        self._replay = ffi.gc(replay, lib.tps_replay_free)
        self._policy.start(made, seed)
        self._tiers: list[Tier] = []

    def attach(self, ssd: Ssd) -> Tier:
        """Put an SSD tier below the cache, and return it.

        All tiers of a replay take pages when they are read, or all at eviction.
        """
        if self.options.resize or self.options.sampling:
            raise TidepoolError(
                "a tier on an SSD needs the whole trace and a pool of one size",
                "Leave out the sampling, the resize or the SSD.",
            )
        if ssd.at_eviction and self.spec.policy.handle is None:
            raise TidepoolError(
                "opt in memory does not say when a page leaves it",
                "Leave out the admission at eviction, or opt as memory's policy.",
            )
        if not self._tiers:
            if not lib.tps_replay_keep_io(self._replay, ssd.at_eviction):
                raise MemoryError("no memory to keep reads and writes")
            self._stops = [(self.options.warmup, None)]
        elif self._tiers[0].ssd.at_eviction != ssd.at_eviction:
            raise ValueError("the tiers of a replay take pages at the same time")
        self._tiers.append(Tier(ssd, self.seed))
        return self._tiers[-1]

    def feed(
        self,
        position: int,
        chunk: Chunk,
        next_use: NDArray[np.uint64] | None = None,
        before: NDArray[np.uint64] | None = None,
    ) -> None:
        """Replay a chunk whose first event is the trace's event number ``position``.

        ``before``, of a sample, is SampledChunk's (sampler.py).
        """
        begin = time.perf_counter()
        self._missed = []
        start = 0
        while self._stops and self._stops[0][0] < self._references + references(chunk):
            at, frames = self._stops.pop(0)
            end = row_of_reference(chunk, at - self._references)
            self._feed_rows(position, chunk, next_use, before, slice(start, end))
            if frames is not None:
                now = position + end if chunk.time is None else int(chunk.time[end])
                lib.tps_replay_resize(self._replay, frames, now)
                self._policy.check()
            for tier in self._tiers:
                tier.restart()
            start = end
        self._feed_rows(position, chunk, next_use, before, slice(start, len(chunk)))
        self._references += references(chunk)
        self.seconds += time.perf_counter() - begin

    def _feed_rows(
        self,
        position: int,
        chunk: Chunk,
        next_use: NDArray[np.uint64] | None,
        before: NDArray[np.uint64] | None,
        part: slice,
    ) -> None:
        if part.start == part.stop:
            return
        if part.start > 0 or part.stop < len(chunk):
            chunk = take(chunk, part)
            next_use = None if next_use is None else next_use[part]
            before = None if before is None else before[part]
        events = Events(chunk, position + part.start, next_use, before)
        if not lib.tps_replay_feed(self._replay, events.pointer):
            raise MemoryError(f"no memory to simulate {self.spec} with {self.frames} frames")
        self._policy.check()
        if self._per_event:
            self._missed.append(missed_of(self._replay, events))
        if self._tiers:
            io = ffi.new("tps_events *")
            lib.tps_replay_io(self._replay, io)
            for tier in self._tiers:
                tier.feed(io)

    def end(self, references: int | None = None) -> None:
        """End the trace; of a sample, give the number of references of the whole trace."""
        if references is not None:
            self._references = references
        if not lib.tps_replay_end(self._replay, self._references):
            raise MemoryError("no memory for the time series")

    def totals(self) -> Any:
        """Return the sums so far: a tps_totals (sim/include/tidepool/sim.h)."""
        totals = ffi.new("tps_totals *")
        lib.tps_replay_totals(self._replay, totals)
        return totals

    def result(self, trace: Trace) -> Result:
        """Return what was counted; nothing may be fed afterwards."""
        self.end()
        totals = self.totals()
        requests, misses = totals.requests, totals.misses
        return Result(
            trace=trace.name,
            policy=self.spec.policy.name,
            params=self.spec.typed_params(),
            frames=self.frames,
            requests=requests,
            misses=misses,
            hit_ratio=1 - misses / requests if requests else 0.0,
            seconds=round(self.seconds, 6),
            seed=self.seed,
            refused=totals.refused,
            correlated=totals.correlated,
            write_backs=totals.write_backs,
            forgotten=totals.forgotten,
            **reasons_of(totals),
            interval=self.options.interval,
            last_interval=self._last_interval(),
            series=self.series() if self.options.interval else None,
            relations=relations_of(self._replay, trace),
            looks=self._looks() if self.options.per_search else None,
        )

    def groups(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, of TPS_GROUPS random groups of pages, the sum of their hit ratios and misses."""
        hit_ratios = np.empty(lib.TPS_GROUPS, dtype=np.float64)
        misses = np.empty(lib.TPS_GROUPS, dtype=np.uint64)
        lib.tps_replay_groups(
            self._replay,
            ffi.cast("double *", hit_ratios.ctypes.data),
            ffi.cast("uint64_t *", misses.ctypes.data),
        )
        return hit_ratios, misses.astype(np.float64)

    def missed(self) -> NDArray[np.bool_]:
        """Return which events of the last chunk were references that missed."""
        return np.concatenate([np.zeros(0, np.bool_), *self._missed])

    def series(self, rate: float = 1.0) -> NDArray[np.float64]:
        """Return the hit ratio of each interval; ``rate`` is the share of the pages replayed."""
        return series_of(self._replay, self.options.interval, self._last_interval(), rate)

    def _last_interval(self) -> int:
        """Return how many references of the whole trace are in the last interval."""
        if self.options.interval == 0 or self._references == 0:
            return 0
        return (self._references - 1) % self.options.interval + 1

    def _looks(self) -> NDArray[np.uint32]:
        looks = ffi.new("uint32_t **")
        n = lib.tps_replay_looks(self._replay, looks)
        return np.array(ffi.unpack(looks[0], n) if n else [], dtype=np.uint32)


def frames_made(frames: int, options: Options, pages: int | None) -> int:
    """Return how many frames to allocate for a cache of ``frames``; the trace has ``pages`` pages.

    With a frame for each page nothing is evicted.  Free frames are taken
    without asking the policy, so more frames would change no count, even if the
    policy's parameters are fractions of the frames.  A pool that is resized
    keeps its size: when it shrinks, the policy chooses what to evict.
    """
    if pages is None or options.resize:
        return frames
    return min(frames, max(1, pages))


def replay_bytes(spec: PolicySpec, frames: int) -> int:
    """Return about how much memory a replay needs, the look-ahead of OPT apart."""
    if spec.policy.handle is None:
        return frames * _OPT_FRAME_BYTES
    ghosts = int(lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array()))
    per_frame = spec.policy.frame_bytes + ghosts * spec.policy.ghost_bytes + _TABLE_BYTES
    if spec.policy.reads_extents:
        per_frame += EXTENT_BYTES
    return frames * per_frame


# ---- what a tps_replay has counted ----


def missed_of(replay: Any, events: Events) -> NDArray[np.bool_]:
    """Return which of the events, the last that it was fed, were references that missed."""
    buffer = ffi.buffer(lib.tps_replay_missed(replay), events.pointer.n)
    return np.frombuffer(buffer, np.bool_).copy()


def series_of(replay: Any, interval: int, last: int, rate: float = 1.0) -> NDArray[np.float64]:
    """Return the hit ratio of each interval, the last one of ``last`` references.

    ``rate`` is the share of the pages replayed.
    """
    misses = ffi.new("uint64_t **")
    n = lib.tps_replay_series(replay, misses)
    counts = np.array(ffi.unpack(misses[0], n) if n else [], dtype=np.float64)
    lengths = np.full(n, interval, dtype=np.float64)
    lengths[n - 1 :] = last
    found: NDArray[np.float64] = np.clip(1 - counts / (rate * lengths), 0, 1)
    return found


def relations_of(replay: Any, trace: Trace) -> tuple[RelationResult, ...]:
    """Return the counts of each relation and fork."""
    found = []
    relation, requests, misses = (ffi.new("uint64_t *") for _ in range(3))
    for i in range(lib.tps_replay_relations(replay)):
        lib.tps_replay_relation(replay, i, relation, requests, misses)
        number, fork = relation[0] >> 2, relation[0] & 3
        name = trace.relations.get(number, str(number))
        found.append(RelationResult(number, fork, name, requests[0], misses[0]))
    return tuple(sorted(found, key=lambda r: (r.relation, r.fork)))


def row_of_reference(chunk: Chunk, n: int) -> int:
    """Return the row of the chunk's n-th reference, counted from 0."""
    if chunk.kind is None:
        return n
    return int(np.flatnonzero(chunk.kind <= 1)[n])
