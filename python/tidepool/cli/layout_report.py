"""What was counted in the pools of a layout, as tables."""

from __future__ import annotations

from tidepool.amounts import count, percent
from tidepool.cli.printing import print_table
from tidepool.simulation import LayoutResult, PoolResult
from tidepool.simulation.results import REASONS

COUNTS = ("refused", "correlated", "evictions", "write_backs", "forgotten", *REASONS)


def print_pools(result: LayoutResult) -> None:
    """Print each pool of a replay, and their sums."""
    counts = [name for name in COUNTS if any(getattr(pool, name) for pool in result.pools)]
    sums = PoolResult(
        pool="all",
        policy="",
        params={},
        frames=result.frames,
        requests=result.requests,
        misses=result.misses,
        hit_ratio=result.hit_ratio,
        **{name: getattr(result, name) for name in COUNTS},
    )
    print_table(
        result.layout,
        (
            *("pool", "policy", "frames", "requests", "hits", "misses", "hit ratio"),
            *(name.replace("_", "-") for name in counts),
        ),
        [
            (
                pool.pool,
                pool.policy,
                count(pool.frames),
                count(pool.requests),
                count(pool.requests - pool.misses),
                count(pool.misses),
                percent(pool.hit_ratio),
                *(count(getattr(pool, name)) for name in counts),
            )
            for pool in (*result.pools, sums)
        ],
        left=2,
    )
