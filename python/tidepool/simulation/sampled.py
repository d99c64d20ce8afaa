"""One sampled replay: a random subset of a trace's pages, and what it says about the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import lib
from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec
from tidepool.simulation.events import sample
from tidepool.simulation.replay import Options, RelationResult, Replay, Result, Sampling
from tidepool.traces.model import Chunk, Trace

SLOPE_STEP = 1.2  # ratio of the two sizes from which the slope of the curve is taken


class SampledReplay:
    """A replay of the sample in proportionally fewer frames, and its estimates.

    The estimate is SHARDS-adj's: the sample's misses relative to the number
    of references that a sample is expected to have.  Its standard error has
    two causes, since a page that happens to be in the sample

    1. adds its own misses, which differ from page to page, and
    2. takes frames from the other pages.

    A further replay with a few more frames tells what a frame is worth, so
    that both are seen as one sum over the pages in the sample.  The sum's
    variance follows from its scatter between random groups of pages.
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
        self._sample = Replay(spec, size, seed, scaled, per_group=True)
        self._larger = Replay(spec, larger, seed, Options(warmup=scaled.warmup))

    def feed(self, position: int, chunk: Chunk, next_use: NDArray[np.uint64] | None = None) -> None:
        """Replay a chunk of the sample whose first event is the sample's number ``position``."""
        self._sample.feed(position, chunk, next_use)
        self._larger.feed(position, chunk, next_use)

    def result(self, trace: Trace, references: int) -> Result:
        """Return the estimates; ``references`` is the whole trace's number."""
        rate = self.sampling.rate
        counted = self._sample.result(trace)

        def whole(count: int) -> int:
            return round(count / rate)

        requests = max(0, references - self.options.warmup)
        misses = min(requests, whole(counted.misses))
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
            error=self._standard_error(trace) / (requests * rate) if requests else 0.0,
            interval=self.options.interval,
            relations=tuple(
                RelationResult(r.relation, r.fork, r.name, whole(r.requests), whole(r.misses))
                for r in counted.relations
            ),
        )

    def _standard_error(self, trace: Trace) -> float:
        """Return the standard error of the sample's misses."""
        hit_ratios, misses = self._sample.groups()
        saved = misses.sum() - self._larger.result(trace).misses
        frame_worth = max(0.0, float(saved)) / self._step / self._sample.frames
        scatter = np.var(misses + frame_worth * self._residence(hit_ratios, misses), ddof=1)
        # the whole trace, of which the sample is this share, has no error
        return math.sqrt((1 - self.sampling.rate) * lib.TPS_GROUPS * float(scatter))

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


def sampled(chunk: Chunk, sampling: Sampling | None) -> Chunk:
    """Return what a replay with this sampling is fed of a chunk."""
    return chunk if sampling is None else sample(chunk, sampling.rate, sampling.seed)
