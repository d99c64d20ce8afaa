"""One replay: a trace against one policy with one number of frames."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec
from tidepool.simulation.events import Events, references
from tidepool.simulation.ssd import EXTENT_BYTES, Ssd, SsdResult, Tier
from tidepool.traces.columns import take
from tidepool.traces.model import Chunk, Trace


@dataclass(frozen=True)
class Sampling:
    """Simulate a random subset of the pages in proportionally fewer frames.

    Source: Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC construction
    with SHARDS, FAST 2015 (the sample and its adjustment); Waldspurger,
    Saemundsson, Ahmad, Park: Cache modeling and optimization using miniature
    simulations, ATC 2017 (any policy).

    ``lru`` lists (frames, exact miss ratio of LRU), which one pass tells for
    all sizes (curves.exact_lru_curve).  For these sizes LRU is the control
    variate: what the sample gets wrong about LRU it mostly gets wrong about
    other policies too, and that much is taken off their estimates.
    """

    rate: float  # of the pages, above 0, at most 1
    seed: int = 0
    lru: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Options:
    """What to replay and what to count.

    ``resize`` lists (reference, frames): before that reference, counted from
    0, the pool is resized.  A warm-up is replayed but not counted.
    With a ``batch``, policies whose hits need the pool's lock learn of a
    backend's hits when so many have come together, or when it misses, as in a
    server; those of pages that have left by then are lost.
    """

    warmup: int = 0  # references
    interval: int = 0  # references per point of the time series; 0: none
    correlation_window: int = 0  # microseconds; 0: only what the trace flags
    batch: int = 1  # hits that a backend queues before it tells the policy; 1: none
    per_relation: bool = False
    per_search: bool = False  # how many frames each search for a victim looked at
    sampling: Sampling | None = None
    resize: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= lib.TP_BATCH_MAX:
            raise TidepoolError(f"batch must be from 1 to {lib.TP_BATCH_MAX}")
        if self.batch > 1 and self.sampling is not None:
            raise TidepoolError(
                "a sample has no queues of hits", "Leave out the sampling or the batch."
            )


@dataclass(frozen=True)
class RelationResult:
    """Counts of one relation's fork."""

    relation: int
    fork: int
    name: str
    requests: int
    misses: int


@dataclass(frozen=True)
class Result:
    """What one replay counted.

    Of a sampled replay, ``requests`` is the whole trace's; the other counts
    and ``hit_ratio`` are estimates for the whole trace, and ``error`` is the
    standard error of the hit ratio.  ``seconds`` is the time spent in the
    replay itself.
    """

    trace: str
    policy: str
    params: dict[str, Any]
    frames: int
    requests: int
    misses: int
    hit_ratio: float
    seconds: float
    seed: int
    refused: int = 0  # misses that the policy did not admit
    correlated: int = 0  # hits that were not references of their own
    write_backs: int = 0  # dirty pages evicted
    forgotten: int = 0  # pages that ceased to exist while resident
    sample_rate: float | None = None
    error: float | None = None
    interval: int = 0
    series: NDArray[np.float64] | None = field(default=None, compare=False)
    # ^ hit ratio of each whole interval, those of the warm-up among them
    relations: tuple[RelationResult, ...] = ()
    looks: NDArray[np.uint32] | None = field(default=None, compare=False)
    # ^ frames that each search for a victim looked at, those of the warm-up among them
    ssd: SsdResult | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON takes it; the first nine keys are always there."""
        out: dict[str, Any] = {name: getattr(self, name) for name in _ALWAYS}
        out |= {
            name: getattr(self, name)
            for name in ("refused", "correlated", "write_backs", "forgotten")
        }
        if self.sample_rate is not None:
            out |= {"sample_rate": self.sample_rate, "error": self.error}
        if self.series is not None:
            out |= {"interval": self.interval, "series": [round(float(x), 6) for x in self.series]}
        if self.relations:
            out["relations"] = [vars(relation) for relation in self.relations]
        if self.ssd is not None:
            out["ssd"] = self.ssd.to_json()
        return out


_ALWAYS = (
    "trace",
    "policy",
    "params",
    "frames",
    "requests",
    "misses",
    "hit_ratio",
    "seconds",
    "seed",
)


_TABLE_BYTES = 49  # of a frame: its share of the page table, on average, and its dirty mark
_OPT_FRAME_BYTES = 76  # likewise, with the heap


class Replay:
    """A replay in progress: feed it the trace's chunks in order, then ask for the result.

    OPT needs the future of each chunk beside it (future.py).  A sampled
    replay is made of these (sampled.py), here ``options.sampling`` is not
    looked at.  ``per_group`` counts what ``groups`` returns.  SSD tiers that
    are attached before the first chunk are fed with what this cache reads and
    writes; it does not depend on them.
    """

    def __init__(
        self,
        spec: PolicySpec,
        frames: int,
        seed: int = 0,
        options: Options | None = None,
        per_group: bool = False,
    ) -> None:
        options = options or Options()
        if options.resize and spec.policy.handle is None:
            raise TidepoolError(
                "only pools of online policies can be resized", "Leave the resize or opt out."
            )
        self.spec, self.frames, self.seed, self.options = spec, frames, seed, options
        self.seconds = 0.0
        self._references = 0  # fed so far
        # (reference, frames): before it, resize; None: what SSD tiers count begins
        self._stops: list[tuple[int, int | None]] = sorted(options.resize)
        capacity = max(frames, *(size for _, size in options.resize), 1)
        c_options = ffi.new(
            "tps_options *",
            {
                "warmup": options.warmup,
                "interval": options.interval,
                "correlation_window": options.correlation_window,
                "batch": options.batch,
                "per_relation": options.per_relation,
                "per_group": per_group,
                "per_search": options.per_search,
            },
        )
        if spec.policy.handle is None:
            bypass = bool(spec.params()["bypass"])
            replay = lib.tps_replay_new_opt(frames, bypass, c_options)
        else:
            cache = lib.tps_cache_new(spec.policy.handle, spec.array(), capacity, frames, seed)
            replay = lib.tps_replay_new(cache, c_options) if cache != ffi.NULL else ffi.NULL
        if replay == ffi.NULL:
            raise MemoryError(f"no memory to simulate {spec} with {frames} frames")
        self._replay = ffi.gc(replay, lib.tps_replay_free)
        self._tiers: list[Tier] = []

    def attach(self, ssd: Ssd) -> Tier:
        """Put an SSD tier below the cache, and return it."""
        if self.options.resize or self.options.sampling:
            raise TidepoolError(
                "a tier on an SSD needs the whole trace and a pool of one size",
                "Leave out the sampling, the resize or the SSD.",
            )
        if not self._tiers:
            if not lib.tps_replay_keep_io(self._replay):
                raise MemoryError("no memory to keep reads and writes")
            self._stops = [(self.options.warmup, None)]
        self._tiers.append(Tier(ssd, self.seed))
        return self._tiers[-1]

    def feed(self, position: int, chunk: Chunk, next_use: NDArray[np.uint64] | None = None) -> None:
        """Replay a chunk whose first event is the trace's event number ``position``."""
        begin = time.perf_counter()
        start = 0
        while self._stops and self._stops[0][0] < self._references + references(chunk):
            at, frames = self._stops.pop(0)
            end = _row_of_reference(chunk, at - self._references)
            self._feed_rows(position, chunk, next_use, slice(start, end))
            if frames is not None:
                now = position + end if chunk.time is None else int(chunk.time[end])
                lib.tps_replay_resize(self._replay, frames, now)
            for tier in self._tiers:
                tier.restart()
            start = end
        self._feed_rows(position, chunk, next_use, slice(start, len(chunk)))
        self._references += references(chunk)
        self.seconds += time.perf_counter() - begin

    def _feed_rows(
        self, position: int, chunk: Chunk, next_use: NDArray[np.uint64] | None, part: slice
    ) -> None:
        if part.start == part.stop:
            return
        if part.start > 0 or part.stop < len(chunk):
            chunk = take(chunk, part)
            next_use = None if next_use is None else next_use[part]
        events = Events(chunk, position + part.start, next_use)
        if not lib.tps_replay_feed(self._replay, events.pointer):
            raise MemoryError(f"no memory to simulate {self.spec} with {self.frames} frames")
        if self._tiers:
            io = ffi.new("tps_events *")
            lib.tps_replay_io(self._replay, io)
            for tier in self._tiers:
                tier.feed(io)

    def totals(self) -> Any:
        """Return the sums so far: a tps_totals (sim/include/tidepool/sim.h)."""
        totals = ffi.new("tps_totals *")
        lib.tps_replay_totals(self._replay, totals)
        return totals

    def result(self, trace: Trace) -> Result:
        """Return what was counted."""
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
            interval=self.options.interval,
            series=self._series() if self.options.interval else None,
            relations=self._relations(trace),
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

    def _series(self) -> NDArray[np.float64]:
        misses = ffi.new("uint64_t **")
        n = lib.tps_replay_series(self._replay, misses)
        counts = np.array(ffi.unpack(misses[0], n) if n else [], dtype=np.float64)
        return 1 - counts / self.options.interval

    def _looks(self) -> NDArray[np.uint32]:
        looks = ffi.new("uint32_t **")
        n = lib.tps_replay_looks(self._replay, looks)
        return np.array(ffi.unpack(looks[0], n) if n else [], dtype=np.uint32)

    def _relations(self, trace: Trace) -> tuple[RelationResult, ...]:
        found = []
        relation, requests, misses = (ffi.new("uint64_t *") for _ in range(3))
        for i in range(lib.tps_replay_relations(self._replay)):
            lib.tps_replay_relation(self._replay, i, relation, requests, misses)
            number, fork = relation[0] >> 2, relation[0] & 3
            name = trace.relations.get(number, str(number))
            found.append(RelationResult(number, fork, name, requests[0], misses[0]))
        return tuple(sorted(found, key=lambda r: (r.relation, r.fork)))


def replay_bytes(spec: PolicySpec, frames: int) -> int:
    """Return about how much memory a replay needs, the look-ahead of OPT apart."""
    if spec.policy.handle is None:
        return frames * _OPT_FRAME_BYTES
    ghosts = int(lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array()))
    per_frame = spec.policy.frame_bytes + ghosts * spec.policy.ghost_bytes + _TABLE_BYTES
    if spec.policy.reads_extents:
        per_frame += EXTENT_BYTES
    return frames * per_frame


def _row_of_reference(chunk: Chunk, n: int) -> int:
    """Return the row of the chunk's n-th reference, counted from 0."""
    if chunk.kind is None:
        return n
    return int(np.flatnonzero(chunk.kind <= 1)[n])
