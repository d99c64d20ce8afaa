"""One sampled replay: a random subset of a trace's pages, and what it says about the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec
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
BEYOND = 3  # how many times over what they miss less is taken for pages beyond them
# ^ chosen on generated traces of two classes of pages, Zipf, TPC-C- and YCSB-like: the
#   smallest that is hardly worse than SHARDS-adj on any, and up to twice as good on some


class SampledReplay:
    """A replay of the sample in proportionally fewer frames, and its estimates.

    How many references a sample is expected to have is known.  This one
    lacks some, or has too many, because of a few popular pages.  SHARDS-adj
    takes those references for hits.  That is right where popular pages always
    hit, and wrong where pages are alike; so here the misses are corrected for
    them, by the miss ratio that the sample lets one expect of pages still
    more popular than its most popular ones.

    The standard error has three causes.  A page that happens to be in the
    sample adds its own misses, and takes frames from the other pages; what a
    frame is worth is learnt from a further replay with a few more.  Both are
    sums over the pages, whose variance is known from the pages that there
    are.  And half of the correction is taken for uncertain.
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

    def feed(self, position: int, chunk: Chunk, next_use: NDArray[np.uint64] | None = None) -> None:
        """Replay a chunk of the sample whose first event is the sample's number ``position``."""
        self._sample.feed(position, chunk, next_use)
        self._larger.feed(position, chunk, next_use)

    def result(self, trace: Trace, references: int) -> Result:
        """Return the estimates; ``references`` is the whole trace's number."""
        rate = self.sampling.rate
        counted = self._sample.result(trace)

        def whole(count: float) -> int:
            return round(count / rate)

        requests = max(0, references - self.options.warmup)
        estimate, error = self._estimate(trace, requests * rate)
        misses = min(max(0, whole(estimate)), requests)
        return replace(
            counted,
            frames=self.frames,
            requests=requests,
            misses=misses,
            hit_ratio=1 - misses / requests if requests else 0.0,
            seconds=round(self._sample.seconds + self._larger.seconds, 6),
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

    def _estimate(self, trace: Trace, expected: float) -> tuple[float, float]:
        """Return the misses of a sample with the expected references, and their standard error."""
        pages = self._sample.pages()
        misses = float(pages.misses.sum())
        saved = misses - self._larger.result(trace).misses
        frame_worth = max(0.0, float(saved)) / self._step / self._sample.frames
        popular = _miss_ratio_beyond(pages)
        correction = popular * (expected - float(pages.requests.sum()))
        cost = pages.misses + frame_worth * self._residence(pages) - popular * pages.requests
        # the whole trace, of which the sample is this share, has no error
        variance = (1 - self.sampling.rate) * float(cost @ cost)
        return misses + correction, math.hypot(math.sqrt(variance), correction / 2)

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


def _miss_ratio_beyond(pages: Pages) -> float:
    """Return the miss ratio of pages more popular than all of these, extrapolated.

    The pages with most references, down to a share of all references, miss
    less often than the average by some factor; beyond them it is that factor
    a few times over.
    """
    requests, misses = float(pages.requests.sum()), float(pages.misses.sum())
    if misses == 0:
        return 0.0
    order = np.argsort(-pages.requests, kind="stable")
    covered = np.cumsum(pages.requests[order])
    popular = order[: int(np.searchsorted(covered, POPULAR * requests)) + 1]
    ratio = float(pages.misses[popular].sum() / pages.requests[popular].sum())
    return ratio * min(1.0, ratio * requests / misses) ** BEYOND


def sampled(chunk: Chunk, sampling: Sampling | None) -> Chunk:
    """Return what a replay with this sampling is fed of a chunk."""
    return chunk if sampling is None else sample(chunk, sampling.rate, sampling.seed)
