"""What a replay counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.simulation.ssd import SsdResult

# why a policy that asks scans has evicted, as pg_stat_bufferpool counts it
REASONS = (
    "predicted_evictions",  # by what scans read
    "frequency_evictions",  # by frequency
    "recency_evictions",  # by recency alone
    "premature_evictions",  # of all these: a running scan was to read the page within a second
)


def reasons_of(totals: Any) -> dict[str, Any]:
    """Return the counts of a tps_totals that are named in REASONS."""
    return {name: getattr(totals, name) for name in REASONS}


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
    predicted_evictions: int = 0  # these four: see REASONS
    frequency_evictions: int = 0
    recency_evictions: int = 0
    premature_evictions: int = 0
    sample_rate: float | None = None
    error: float | None = None
    interval: int = 0
    last_interval: int = 0  # references in the last interval, which the end of the trace cuts off
    series: NDArray[np.float64] | None = field(default=None, compare=False)
    # ^ hit ratio of each interval, those of the warm-up among them
    relations: tuple[RelationResult, ...] = ()
    looks: NDArray[np.uint32] | None = field(default=None, compare=False)
    # ^ frames that each search for a victim looked at, those of the warm-up among them
    ssd: SsdResult | None = None

    @property
    def interval_ends(self) -> NDArray[np.int64]:
        """References up to the end of each interval of the series."""
        assert self.series is not None
        ends = self.interval * np.arange(1, len(self.series) + 1)
        ends[len(ends) - 1 :] -= self.interval - self.last_interval
        return ends

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON takes it; the first nine keys are always there."""
        out: dict[str, Any] = {name: getattr(self, name) for name in _ALWAYS}
        out |= {
            name: getattr(self, name)
            for name in ("refused", "correlated", "write_backs", "forgotten", *REASONS)
        }
        if self.sample_rate is not None:
            out |= {"sample_rate": self.sample_rate, "error": self.error}
        if self.series is not None:
            out |= {
                "interval": self.interval,
                "last_interval": self.last_interval,
                "series": [round(float(x), 6) for x in self.series],
            }
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
