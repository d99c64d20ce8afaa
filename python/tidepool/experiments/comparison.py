"""Policies over sizes on one trace, against one of them and OPT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidepool.experiments.plan import Grid
from tidepool.options import Amount, GivenSize, Input
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Cell, Options, Result, Sampling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = ("1%", "2%", "5%", "10%", "20%", "40%", "60%", "80%")
OPT = parse_policy("opt")


@dataclass(frozen=True)
class Comparison:
    """Policies over sizes.

    ``sizes`` are as given, ``frames`` what they are for this trace;
    ``results`` holds the replays of each policy and number of frames, one per
    seed.  ``baseline`` and ``opt`` are among the policies.
    """

    trace: str
    policies: tuple[PolicySpec, ...]
    baseline: PolicySpec
    opt: PolicySpec
    sizes: tuple[str, ...]
    frames: tuple[int, ...]
    results: Mapping[tuple[PolicySpec, int], Sequence[Result]]
    warmup: int

    def hit_ratios(self) -> NDArray[np.float64]:
        """Return the hit ratios, the mean over the seeds: a row per policy, a column per size."""
        return np.array(
            [
                [fmean(result.hit_ratio for result in self.results[spec, n]) for n in self.frames]
                for spec in self.policies
            ]
        )

    def differences(self, to: PolicySpec) -> NDArray[np.float64]:
        """Return how far the hit ratios are above that of a policy, in percentage points."""
        ratios = self.hit_ratios()
        found: NDArray[np.float64] = 100 * (ratios - ratios[self.policies.index(to)])
        return found

    def best(self) -> NDArray[np.bool_]:
        """Return where a policy other than opt is as good as any."""
        ratios = self.hit_ratios()
        online = np.array([spec.policy.handle is not None for spec in self.policies])
        if not online.any():
            return np.zeros(ratios.shape, dtype=np.bool_)
        most = ratios[online].max(axis=0)
        return np.asarray((ratios == most) & online[:, None], dtype=np.bool_)

    def references(self) -> list[PolicySpec]:
        """Return the policies that the others are compared with."""
        return list(dict.fromkeys((self.baseline, self.opt)))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record per policy and size: first the keys of simulate, then the comparison."""
        to_baseline, to_opt = self.differences(self.baseline), self.differences(self.opt)
        for i, spec in enumerate(self.policies):
            for k, frames in enumerate(self.frames):
                results = self.results[spec, frames]
                ratios = [result.hit_ratio for result in results]
                record = {
                    "trace": self.trace,
                    "policy": spec.policy.name,
                    "params": spec.typed_params(),
                    "frames": frames,
                    "requests": results[0].requests,
                    "misses": round(fmean(result.misses for result in results)),
                    "hit_ratio": fmean(ratios),
                    "seconds": round(sum(result.seconds for result in results), 6),
                    "seed": results[0].seed,
                    "seeds": len(results),
                    "deviation": stdev(ratios) if len(ratios) > 1 else 0.0,
                    "size": self.sizes[k],
                    "warmup": self.warmup,
                    "baseline": str(self.baseline),
                    "points_above_baseline": float(to_baseline[i, k]),
                    "points_above_opt": float(to_opt[i, k]),
                }
                if results[0].error is not None:
                    record |= {
                        "sample_rate": results[0].sample_rate,
                        "error": results[0].error,
                    }
                yield record


@dataclass(frozen=True)
class ComparisonPlan:
    """What is asked of each trace: the baseline, these policies and OPT, with so many seeds."""

    specs: Sequence[PolicySpec]
    baseline: PolicySpec
    frames: Sequence[GivenSize]
    seed: int = 0
    seeds: int = 1
    warmup: Amount = field(default=Amount(references=0))
    sample: float | None = None

    @property
    def policies(self) -> tuple[PolicySpec, ...]:
        """All policies, the baseline first and OPT last."""
        given = (spec for spec in self.specs if spec != OPT)
        return tuple(dict.fromkeys([self.baseline, *given, OPT]))

    def grids(self, input: Input) -> Iterator[Grid]:
        """Yield the replays of a trace."""
        sampling = Sampling(self.sample, self.seed) if self.sample is not None else None
        options = Options(warmup=self.warmup.resolve(input.references), sampling=sampling)
        cells = [
            Cell(spec, input.frames(size), (self.seed + i) % 2**64)
            for spec in self.policies
            for size in self.frames
            for i in range(self.seeds if spec.policy.randomized else 1)
        ]
        yield Grid(input, list(dict.fromkeys(cells)), options)

    def comparison(self, done: Grid, results: Sequence[Result]) -> Comparison:
        """Return what the replays of a trace say."""
        found: dict[tuple[PolicySpec, int], list[Result]] = {}
        for cell, result in zip(done.cells, results, strict=True):
            found.setdefault((cell.spec, cell.frames), []).append(result)
        return Comparison(
            trace=done.input.name,
            policies=self.policies,
            baseline=self.baseline,
            opt=OPT,
            sizes=tuple(size.text for size in self.frames),
            frames=tuple(done.input.frames(size) for size in self.frames),
            results=found,
            warmup=done.options.warmup,
        )


def picture(comparisons: Sequence[Comparison]) -> Figure:
    """Draw the differences as heat maps, a row of maps per trace."""
    from tidepool.plots import HeatMap, heat_figure

    return heat_figure(
        [
            HeatMap(c.trace, str(to), tuple(map(str, c.policies)), c.sizes, c.differences(to))
            for c in comparisons
            for to in c.references()
        ]
    )
