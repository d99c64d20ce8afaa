"""What to replay of a trace, and what to count."""

from __future__ import annotations

from dataclasses import dataclass

from tidepool._sim import lib
from tidepool.errors import TidepoolError
from tidepool.traces.provenance import MOST_SCANS


@dataclass(frozen=True)
class Sampling:
    """Simulate a random subset of the pages in proportionally fewer frames.

    Source: Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC construction
    with SHARDS, FAST 2015 (the sample and its adjustment); Waldspurger,
    Saemundsson, Ahmad, Park: Cache modeling and optimization using miniature
    simulations, ATC 2017 (any policy).

    ``lru`` lists (frames, exact miss ratio of LRU), which one pass computes
    for all sizes (curves.exact_lru_curve).  For these sizes LRU is the control
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
    0, the pool is resized.  A warm-up is replayed but not counted.  Warm-up
    and intervals count references of the whole trace, even when sampling.
    With a ``batch``, policies whose hits need the pool's lock learn of a
    backend's hits when so many have come together, or when it misses, as in a
    server; those of pages that have left by then are lost.  Pages that come in
    are queued likewise, also with a batch of 1. The clock has no queues, except in
    named pools: in DEFAULT it is PostgreSQL's own.
    """

    warmup: int = 0  # references
    interval: int = 0  # references per point of the time series; 0: none
    correlation_window: int = 0  # microseconds; 0: only what the trace flags
    batch: int = 0  # hits that a backend queues before it tells the policy; 0: no queues
    scans: int = 0  # places of the registry of scans, as a server has them; 0: plenty
    per_relation: bool = False
    per_search: bool = False  # how many frames each search for a victim looked at
    sampling: Sampling | None = None
    resize: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.scans <= MOST_SCANS:
            raise TidepoolError(f"scans must be from 0 to {MOST_SCANS}")
        if not 0 <= self.batch <= lib.TP_BATCH_MAX:
            raise TidepoolError(f"batch must be from 0 to {lib.TP_BATCH_MAX}")
        if self.batch > 0 and self.sampling is not None:
            raise TidepoolError(
                "a sample has no queues of hits", "Leave out the sampling or the batch."
            )
