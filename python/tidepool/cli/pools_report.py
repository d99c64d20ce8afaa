"""The results of ``tidepool pools`` as tables."""

from __future__ import annotations

from tidepool.amounts import count, percent, percent_change
from tidepool.cli.printing import print_table
from tidepool.experiments.layouts import Compared


def print_tables(compared: Compared) -> None:
    """Print the layouts, and the pools of those that have several."""
    first = compared.results[0]
    print_table(
        f"{compared.trace.name}, {count(first.frames)} frames, {count(first.requests)} requests",
        ("layout", "reads", "to the first", "write-backs", "hit ratio", *_headers(compared)),
        [
            (
                result.layout,
                count(result.misses),
                _change(result.misses, first.misses) if result is not first else "",
                count(result.write_backs),
                percent(result.hit_ratio),
                *(percent(compared.of_group(result, group).hit_ratio) for group in compared.groups),
            )
            for result in compared.results
        ],
    )
    divided = [result for result in compared.results if len(result.pools) > 1]
    if divided:
        print_table(
            "",
            ("layout", "pool", "policy", "frames", "requests", "reads", "write-backs", "hit ratio"),
            [
                (
                    result.layout if pool is result.pools[0] else "",
                    pool.pool,
                    pool.policy,
                    count(pool.frames),
                    count(pool.requests),
                    count(pool.misses),
                    count(pool.write_backs),
                    percent(pool.hit_ratio),
                )
                for result in divided
                for pool in result.pools
            ],
            left=3,
            keys=2,
        )


def _headers(compared: Compared) -> list[str]:
    return [group.name for group in compared.groups]


def _change(reads: int, first: int) -> str:
    return percent_change(reads / first - 1) if first else ""
