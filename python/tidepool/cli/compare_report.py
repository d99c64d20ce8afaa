"""The results of ``tidepool compare`` on one trace: differences, tables, records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from tidepool.cli.printing import count, points, print_table
from tidepool.policies import PolicySpec
from tidepool.simulation import Result


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

    def print_tables(self) -> None:
        """Print the hit ratios, the best online ones marked, and the differences."""
        headers = ["policy", *map(_header, self.sizes, self.frames)]
        names = [str(spec) for spec in self.policies]
        rows: list[list[str | Text]] = [
            [name, *(_ratio(float(ratio), bool(best)) for ratio, best in zip(*row, strict=True))]
            for name, *row in zip(names, self.hit_ratios(), self.best(), strict=True)
        ]
        print_table(f"{self.trace}: hit ratio (%), * best but opt{self._error()}", headers, rows)
        for to in self.references():
            print_table(
                f"{self.trace}: hit ratio minus that of {to} (percentage points)",
                headers,
                [
                    [name, *(points(float(difference)) for difference in row)]
                    for name, row in zip(names, self.differences(to), strict=True)
                ],
            )

    def _error(self) -> str:
        errors = [r.error for results in self.results.values() for r in results if r.error]
        return f"; standard errors up to {100 * max(errors):.2f}" if errors else ""


def _header(size: str, frames: int) -> str:
    return size if size == str(frames) else f"{size}\n{count(frames)}"


def _ratio(ratio: float, best: bool) -> Text:
    text = f"{100 * ratio:.2f}"
    return Text(f"{text}*", style="bold") if best else Text(f"{text} ")
