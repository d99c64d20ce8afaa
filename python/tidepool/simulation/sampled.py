"""One sampled replay: a random subset of a trace's pages, and estimates for the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import lib
from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation.options import Options, Sampling
from tidepool.simulation.replay import Replay
from tidepool.simulation.results import RelationResult, Result
from tidepool.simulation.sampler import SampledChunk
from tidepool.traces.model import Trace

SLOPE_STEP = 1.2  # ratio of the two sizes from which the slope of the curve is taken

# What the error of an estimate with a control variate is, relative to that of
# the linear model.  The scatter between samples is as the model has it; what
# it does not see is that a policy does not behave in a small pool as in a
# large one, a bias of about a standard error where that is as small as the
# control variate makes it.  Measured: with this factor two standard errors
# cover 95 % of what bench/sampled_curves.py has, mru left out.
CONTROLLED = 1.75


class SampledReplay:
    """A replay of the sample in proportionally fewer frames, and its estimates.

    The estimate is SHARDS-adj's: the sample's misses relative to the number
    of references that a sample is expected to have.  Its standard error has
    two causes, since a page that happens to be in the sample

    1. adds its own misses, which differ from page to page, and
    2. takes frames from the other pages.

    A second replay with slightly more frames measures what a frame is worth,
    so that both become one sum over the pages in the sample.  The sum's
    variance follows from its scatter between random groups of pages.

    Where the exact miss ratio of LRU is known (Sampling.lru), LRU is replayed
    on the same sample as a control variate: the estimate is corrected by
    what the sample gets wrong about LRU, times the coefficient by which the
    two sums move together from group to group.  (J. M. Hammersley, D. C.
    Handscomb: Monte Carlo methods, 1964, section 5.5.)  What remains of the
    sampling error is then of the size of other errors; see CONTROLLED.
    """

    def __init__(
        self,
        spec: PolicySpec,
        frames: int,
        seed: int,
        options: Options,
        sampling: Sampling,
        pages: int | None = None,
    ) -> None:
        if options.resize:
            raise TidepoolError(
                "a sampled pool cannot be resized", "Leave the resize or the sampling out."
            )
        self.frames, self.options, self.sampling = frames, options, sampling
        # the Sampler has flagged repetitions, for both replays
        own = replace(options, correlation_window=0)
        size = max(1, round(frames * sampling.rate))
        larger = max(size + 1, round(size * SLOPE_STEP))
        self._step = math.log(larger / size)
        self._sample = Replay(spec, size, seed, own, per_group=True, pages=pages)
        self._larger = Replay(spec, larger, seed, Options(warmup=options.warmup), pages=pages)
        self._lru_miss_ratio = dict(sampling.lru).get(frames)
        self._lru: SampledReplay | None = None
        if self._lru_miss_ratio is not None:
            plain = Options(warmup=options.warmup)
            alone = replace(sampling, lru=())
            self._lru = SampledReplay(parse_policy("lru"), frames, 0, plain, alone, pages)

    def feed(
        self, position: int, part: SampledChunk, next_use: NDArray[np.uint64] | None = None
    ) -> None:
        """Replay a chunk of the sample whose first event is the sample's number ``position``."""
        self._sample.feed(position, part.chunk, next_use, part.before)
        self._larger.feed(position, part.chunk, next_use, part.before)
        if self._lru is not None:
            # textbook LRU, as the exact curve: all references count
            self._lru.feed(position, replace(part, chunk=replace(part.chunk, flags=None)))

    def result(self, trace: Trace, references: int) -> Result:
        """Return the estimates; ``references`` is the whole trace's number."""
        rate = self.sampling.rate
        self._end(references)
        counted = self._sample.result(trace)

        def whole(count: int) -> int:
            return round(count / rate)

        requests = max(0, references - self.options.warmup)
        sums = self._sums()
        error = self._standard_error(sums)
        misses = counted.misses / rate
        if self._lru is not None and self._lru_miss_ratio is not None:
            control = self._lru._sums()
            coefficient = _coefficient(sums, control)
            error = CONTROLLED * self._standard_error(sums - coefficient * control)
            expected = self._lru_miss_ratio * requests
            misses += coefficient * (expected - self._lru._misses() / rate)
        misses = min(requests, max(0, round(misses)))
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
            predicted_evictions=whole(counted.predicted_evictions),
            frequency_evictions=whole(counted.frequency_evictions),
            recency_evictions=whole(counted.recency_evictions),
            premature_evictions=whole(counted.premature_evictions),
            sample_rate=rate,
            error=error / (requests * rate) if requests else 0.0,
            series=self._sample.series(rate) if self.options.interval else None,
            relations=tuple(
                RelationResult(r.relation, r.fork, r.name, whole(r.requests), whole(r.misses))
                for r in counted.relations
            ),
        )

    def _seconds(self) -> float:
        own = self._sample.seconds + self._larger.seconds
        return own if self._lru is None else own + self._lru._seconds()

    def _end(self, references: int) -> None:
        self._sample.end(references)
        self._larger.end(references)
        if self._lru is not None:
            self._lru._end(references)

    def _misses(self) -> int:
        """Return the sample's misses."""
        return int(self._sample.totals().misses)

    def _sums(self) -> NDArray[np.float64]:
        """Return what each group of pages adds to the misses, by both causes."""
        hit_ratios, misses = self._sample.groups()
        saved = misses.sum() - self._larger.totals().misses
        frame_worth = max(0.0, float(saved)) / self._step / self._sample.frames
        sums: NDArray[np.float64] = misses + frame_worth * self._residence(hit_ratios, misses)
        return sums

    def _standard_error(self, sums: NDArray[np.float64]) -> float:
        """Return the standard error of the sample's misses."""
        # a sample of everything has no error
        scatter = float(np.var(sums, ddof=1))
        return math.sqrt((1 - self.sampling.rate) * lib.TPS_GROUPS * scatter)

    def _residence(
        self, hit_ratios: NDArray[np.float64], misses: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how many frames each group holds on average.

        If references come independently, a page is resident for the share of
        the time that is its hit ratio.  The frames that this leaves hold
        pages on their way from admission to eviction.
        """
        frames = self._sample.frames
        held: NDArray[np.float64] = hit_ratios * min(
            1.0, frames / max(1.0, float(hit_ratios.sum()))
        )
        return held + misses * ((frames - float(held.sum())) / max(1.0, float(misses.sum())))


def _coefficient(sums: NDArray[np.float64], control: NDArray[np.float64]) -> float:
    """Return the coefficient of the control variate with the least variance."""
    variance = float(np.var(control, ddof=1))
    return float(np.cov(sums, control)[0, 1]) / variance if variance > 0 else 0.0
