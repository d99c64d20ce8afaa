"""One sampled replay: a random subset of a trace's pages, and what it says about the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation.events import sample
from tidepool.simulation.replay import (
    Options,
    Pages,
    RelationResult,
    Replay,
    Result,
    Sampling,
)
from tidepool.traces.model import Chunk, Trace

SLOPE_STEP = 1.2  # ratio of the two sizes from which the worth of a frame is taken
POPULAR = 0.05  # share of the sample's references that its most popular pages have


class SampledReplay:
    """A replay of the sample in proportionally fewer frames, and its estimates.

    How many references a sample is expected to have is known.  This one
    lacks some, or has too many, because of a few popular pages; so its misses
    are corrected by as many references with the miss ratio of the most
    popular pages in it.  Where these always hit, as in all but small caches,
    that is SHARDS-adj; where all pages are alike, it is the sample's own miss
    ratio.

    The standard error has three causes.  A page that happens to be in the
    sample adds its own misses, and takes frames from the other pages; what a
    frame is worth is learnt from a further replay with a few more.  Both are
    sums over the pages, whose variance is known from the pages that there
    are.  And the pages that the correction stands for may be more popular
    still, and hit more often: half of it is taken for uncertain.

    Where the exact miss ratio of LRU is known (Sampling.lru), LRU is replayed
    on the same sample as a control variate: the estimate is corrected by
    what the sample gets wrong about LRU, times the coefficient with which
    the costs of the pages under the two policies go together.  (J. M.
    Hammersley, D. C. Handscomb: Monte Carlo methods, 1964, section 5.5.)
    """

    def __init__(
        self, spec: PolicySpec, frames: int, seed: int, options: Options, sampling: Sampling
    ) -> None:
        if options.resize:
            raise TidepoolError(
                "a sampled pool cannot be resized", "Leave the resize or the sampling out."
            )
        self.frames, self.options, self.sampling = frames, options, sampling
        rate = sampling.rate
        scaled = replace(
            options,
            warmup=round(options.warmup * rate),
            interval=max(1, round(options.interval * rate)) if options.interval else 0,
        )
        size = max(1, round(frames * rate))
        larger = max(size + 1, round(size * SLOPE_STEP))
        self._step = math.log(larger / size)
        self._sample = Replay(spec, size, seed, scaled, per_page=True)
        self._larger = Replay(spec, larger, seed, Options(warmup=scaled.warmup))
        self._lru: SampledReplay | None = None
        self._lru_miss_ratio = dict(sampling.lru).get(frames, 0.0)
        # (LRU would correct itself away)
        if frames in dict(sampling.lru) and spec.policy.name != "lru":
            plain = Options(warmup=options.warmup)
            alone = replace(sampling, lru=())
            self._lru = SampledReplay(parse_policy("lru"), frames, 0, plain, alone)

    def feed(self, position: int, chunk: Chunk, next_use: NDArray[np.uint64] | None = None) -> None:
        """Replay a chunk of the sample whose first event is the sample's number ``position``."""
        self._sample.feed(position, chunk, next_use)
        self._larger.feed(position, chunk, next_use)
        if self._lru is not None:
            # textbook LRU, as the exact curve: all references count
            self._lru.feed(position, replace(chunk, flags=None))

    def result(self, trace: Trace, references: int) -> Result:
        """Return the estimates; ``references`` is the whole trace's number."""
        rate = self.sampling.rate
        counted = self._sample.result(trace)

        def whole(count: float) -> int:
            return round(count / rate)

        requests = max(0, references - self.options.warmup)
        estimate, error = self._controlled(trace, requests * rate)
        misses = min(max(0, whole(estimate)), requests)
        return replace(
            counted,
            frames=self.frames,
            requests=requests,
            misses=misses,
            hit_ratio=1 - misses / requests if requests else 0.0,
            seconds=round(self._seconds(), 6),
            refused=whole(counted.refused),
            correlated=whole(counted.correlated),
            write_backs=whole(counted.write_backs),
            forgotten=whole(counted.forgotten),
            sample_rate=rate,
            error=error / (requests * rate) if requests else 0.0,
            interval=self.options.interval,
            relations=tuple(
                RelationResult(r.relation, r.fork, r.name, whole(r.requests), whole(r.misses))
                for r in counted.relations
            ),
        )

    def _seconds(self) -> float:
        own = self._sample.seconds + self._larger.seconds
        return own if self._lru is None else own + self._lru._seconds()

    def _controlled(self, trace: Trace, expected: float) -> tuple[float, float]:
        """Return the misses of a sample with the expected references, and their standard error."""
        misses, correction, cost = self._estimate(trace, expected)
        if self._lru is not None:
            lru_misses, lru_correction, lru_cost = self._lru._estimate(trace, expected)
            square = float(lru_cost @ lru_cost)
            coefficient = float(cost @ lru_cost) / square if square > 0 else 0.0
            misses += coefficient * (self._lru_miss_ratio * expected - lru_misses)
            correction -= coefficient * lru_correction
            cost = cost - coefficient * lru_cost
        # the whole trace, of which the sample is this share, has no error
        variance = (1 - self.sampling.rate) * float(cost @ cost)
        return misses, math.hypot(math.sqrt(variance), correction / 2)

    def _estimate(self, trace: Trace, expected: float) -> tuple[float, float, NDArray[np.float64]]:
        """Return the misses, the part of them that is a correction, and the cost of each page."""
        pages = self._sample.pages()
        misses = float(pages.misses.sum())
        saved = misses - self._larger.result(trace).misses
        frame_worth = max(0.0, float(saved)) / self._step / self._sample.frames
        popular = _miss_ratio_of_popular(pages)
        correction = popular * (expected - float(pages.requests.sum()))
        cost = pages.misses + frame_worth * self._residence(pages) - popular * pages.requests
        return misses + correction, correction, cost

    def _residence(self, pages: Pages) -> NDArray[np.float64]:
        """Return how many frames each page holds on average.

        If references come independently, a page is resident for the share of
        the time that is its hit ratio.  The frames that this leaves hold
        pages on their way from admission to eviction.
        """
        frames = self._sample.frames
        hit_ratio = 1 - pages.misses / np.maximum(pages.requests, 1)
        resident: NDArray[np.float64] = hit_ratio * min(1, frames / max(1, hit_ratio.sum()))
        passing = (frames - float(resident.sum())) / max(1.0, float(pages.misses.sum()))
        return resident + passing * pages.misses


def _miss_ratio_of_popular(pages: Pages) -> float:
    """Return the miss ratio of the pages with most references, down to a share of all of these."""
    if len(pages.requests) == 0:
        return 0.0
    order = np.argsort(-pages.requests, kind="stable")
    covered = np.cumsum(pages.requests[order])
    popular = order[: int(np.searchsorted(covered, POPULAR * covered[-1])) + 1]
    return float(pages.misses[popular].sum() / max(1.0, pages.requests[popular].sum()))


def sampled(chunk: Chunk, sampling: Sampling | None) -> Chunk:
    """Return what a replay with this sampling is fed of a chunk."""
    return chunk if sampling is None else sample(chunk, sampling.rate, sampling.seed)
