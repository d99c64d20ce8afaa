"""Miss-ratio curves of traces: which, and as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tidepool.experiments.backend import Advance, Backend
from tidepool.experiments.plan import warmup_too_long
from tidepool.options import Amount, GivenSize, Input
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Curve, Sampling, exact_lru_curve, sampled_curves
from tidepool.traces import Trace

SMALLEST = 0.001  # of the distinct pages: where a logarithmic spread begins
DRAWN = 1000  # points of an exact curve in a picture
LRU = parse_policy("lru")
SPREADS = ("log", "linear")


@dataclass(frozen=True)
class CurvePlan:
    """What is asked of each trace.

    Without ``frames``, ``points`` sizes up to the distinct pages, in a
    ``spread``.  ``control``: correct a sample's curves by its error for LRU.
    """

    specs: Sequence[PolicySpec]
    frames: Sequence[GivenSize] = ()
    points: int = 20
    spread: str = "log"
    seed: int = 0
    warmup: Amount = field(default=Amount(references=0))
    sample: float | None = None
    control: bool = True

    def sizes(self, input: Input) -> list[int]:
        """Return the numbers of frames to take the curves at, ascending."""
        if self.frames:
            return sorted({input.frames(size) for size in self.frames})
        smallest = 1 / self.sample if self.sample else 1  # a frame of the sample's
        return spread_sizes(smallest, input.pages(), self.points, self.spread)

    def curves(self, input: Input, where: Backend) -> Curves:
        """Take the curves of a trace."""
        sizes = self.sizes(input)
        warmup = self.warmup.resolve(input.references)
        sampling = Sampling(self.sample, self.seed) if self.sample is not None else None
        exact = [spec for spec in self.specs if spec == LRU and sampling is None]
        others = [spec for spec in self.specs if spec not in exact]
        made: dict[PolicySpec, Curve] = {}
        fine: dict[PolicySpec, Curve] = {}
        if exact:
            drawn = np.unique(np.geomspace(sizes[0], sizes[-1], DRAWN).round().astype(int))
            every = _lru(input, sorted({*sizes, *drawn.tolist()}), warmup, where)
            made[LRU], fine[LRU] = _at(every, sizes), every
        if others:
            steps = (input.trace.length or 0) * len(others) * len(sizes)
            with where.bar(f"simulating {input.name}", steps or None) as advance:
                simulated = sampled_curves(
                    input.trace,
                    others,
                    sizes,
                    sampling,
                    warmup,
                    self.seed,
                    where.executor,
                    advance,
                    where.workers,
                    self.control,
                    input.known_pages,
                )
            made |= zip(others, simulated, strict=True)
        curves = [made[spec] for spec in self.specs]
        if any(one.requests == 0 for one in curves):
            raise warmup_too_long(input.trace)
        drawn_finely = [fine.get(spec, made[spec]) for spec in self.specs]
        return Curves(self, input.name, sizes, warmup, curves, drawn_finely)


@dataclass(frozen=True)
class Curves:
    """The curves of a trace, one for each policy; and again as finely as a picture wants them."""

    plan: CurvePlan
    trace: str
    sizes: Sequence[int]
    warmup: int
    curves: Sequence[Curve]
    fine: Sequence[Curve]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record per point."""
        for spec, curve in zip(self.plan.specs, self.curves, strict=True):
            yield from self._records(spec, curve)

    def _records(self, spec: PolicySpec, curve: Curve) -> Iterator[dict[str, Any]]:
        """Yield a record per point."""
        for i, frames in enumerate(curve.frames.tolist()):
            miss_ratio = float(curve.miss_ratio[i])
            record = {
                "trace": curve.trace,
                "policy": spec.policy.name,
                "params": spec.typed_params(),
                "frames": frames,
                "requests": curve.requests,
                "misses": round(miss_ratio * curve.requests),
                "miss_ratio": miss_ratio,
                "seed": self.plan.seed,
                "warmup": self.warmup,
            }
            if curve.error is not None:
                record |= {"sample_rate": curve.sample_rate, "error": float(curve.error[i])}
            yield record


def spread_sizes(smallest: float, pages: int, points: int, spread: str) -> list[int]:
    """Return about this many sizes up to the number of pages, ascending and distinct."""
    first = max(smallest, SMALLEST * pages if spread == "log" else pages / points)
    between = np.geomspace if spread == "log" else np.linspace
    sizes = between(min(first, pages), pages, points)
    return sorted({max(1, round(float(size))) for size in sizes})


def _lru(input: Input, sizes: Sequence[int], warmup: int, where: Backend) -> Curve:
    if where.executor is not None:
        return where.executor.submit(exact_lru_at, input.trace, sizes, warmup).result()
    with where.bar(f"stack distances of {input.name}", input.trace.length) as advance:
        return exact_lru_at(input.trace, sizes, warmup, advance)


def exact_lru_at(
    trace: Trace, sizes: Sequence[int], warmup: int, progress: Advance | None = None
) -> Curve:
    """Return the exact curve of LRU at these sizes only: less to send than all of it."""
    return _at(exact_lru_curve(trace, warmup, progress), sizes)


def _at(curve: Curve, sizes: Sequence[int]) -> Curve:
    ratios = np.array([curve.at(size) for size in sizes])
    return replace(curve, frames=np.array(sizes, dtype=np.int64), miss_ratio=ratios)
