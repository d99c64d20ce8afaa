"""What an algorithm costs: measured throughput of hits and misses, and memory."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from tidepool.policies import Policy, PolicySpec

SOURCE = "docs/benchmarks.md, The price of hits and The price of misses"

# The lookups of that table reference a page every microsecond with hardly any work
# between, so 1 % of them is 10 ns of a hit.
NS_PER_PERCENT = 10.0


# percent that lookups lose in a named pool of the clock, which in DEFAULT is
# PostgreSQL's own (docs/pools.md, Memory)
NAMED_CLOCK = 3.0


@dataclass(frozen=True)
class Price:
    """What was measured of an algorithm, against PostgreSQL as it comes; None: nothing.

    Attributes:
        lookups: percent by which lookups in memory are slower, the worst case for hits.
        mean: likewise, the mean of fifteen query patterns.
        misses: throughput where most lookups miss, 8 clients, as a multiple.
    """

    lookups: float | None
    mean: float | None
    misses: float | None

    @property
    def hit_ns(self) -> float:
        """What a hit costs more than on PostgreSQL as it comes, in nanoseconds; never less."""
        return NS_PER_PERCENT * max(0.0, self.lookups or 0.0)

    @property
    def in_named_pool(self) -> Price:
        """The price in a named pool of the clock, which has no shorter path there."""
        return replace(self, lookups=(self.lookups or 0.0) + NAMED_CLOCK)


@cache
def prices() -> dict[str, Price]:
    """Return the prices by algorithm, from prices.csv, which has the numbers of SOURCE."""
    text = files("tidepool.advice").joinpath("prices.csv").read_text()
    return {
        row["algorithm"]: Price(*(_number(row[key]) for key in ("lookups", "mean", "clients_8")))
        for row in csv.DictReader(text.splitlines())
    }


def price_of(policy: Policy) -> Price:
    """Return the price of a policy; of one that was not measured, all None."""
    known = prices()
    return known.get(policy.name) or known.get(policy.alias or "") or Price(None, None, None)


def memory_of(spec: PolicySpec, frames: int) -> int:
    """Return the bytes that an algorithm's bookkeeping takes beside so many buffers.

    The clock of a server without pools takes none: its counts are in the buffers.
    """
    policy = spec.policy
    if policy.name == "clock":
        return 0
    return frames * (policy.frame_bytes + policy.ghosts_per_frame * policy.ghost_bytes)


def _number(text: str) -> float | None:
    return float(text) if text else None
