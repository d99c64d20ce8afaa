"""Queries of a data warehouse, as two instances of Amazon's Redset are described."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tidepool.generators.base import MAX_BLOCKS, GeneratedTrace
from tidepool.traces.draws import Integers, Random, scattered, sources
from tidepool.traces.model import Chunk
from tidepool.traces.parameters import parameter, seed_parameter
from tidepool.traces.scans import PlannedScan, Query, count_events, scan_events, scans_of


@dataclass(frozen=True)
class Mix:
    """What distinguishes the variants, in fractions."""

    hot_data: float  # of the data that is in the hot tables, at most
    hot_queries: float  # of the queries that scan a hot table
    long_queries: float  # of the queries that are long
    long: tuple[float, float]  # of its table that a long query scans: from, to
    short: tuple[float, float]


MIXES = {
    "A": Mix(1 / 3, 0.85, 0.5, (0.3, 1.0), (0.0005, 0.01)),
    "B": Mix(1.0, 1.0, 1.0, (0.6, 1.0), (0.6, 1.0)),
}


@dataclass(frozen=True, kw_only=True)
class RedsetLike(GeneratedTrace):
    """Concurrent scans of many tables, like the traces derived from Amazon's Redset.

    Variant A: long scans mixed with very short ones, most of them within a
    third of the data.  Variant B: scans of large parts of any table.
    """

    command = "redset_like"

    length: int = field(init=False, repr=False, compare=False)
    relations: dict[int, str] = field(init=False, repr=False, compare=False)

    variant: str = parameter("A", "which of the two instances", choices=tuple(MIXES))
    queries: int = parameter(200, "queries, of one scan each", low=1)
    tables: int = parameter(12, "tables; table number i has a share of 1 / i", low=1, high=2**16)
    pages: int = parameter(
        100_000,
        "pages of all tables together",
        low=1,
        high=MAX_BLOCKS,
    )
    concurrency: float = parameter(
        16.0, "queries that run at the same time in the mean", low=1e-3, high=1e4
    )
    speed: float = parameter(10_000.0, "blocks per second that a query reads", low=1e-3, high=1e9)
    spread: float = parameter(
        4.0,
        "each query's speed is drawn between speed / spread and speed * spread",
        low=1,
        high=1e3,
    )
    seed: int = seed_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            length=sum(count_events(scan.count) for one in self._backends() for scan in one),
            relations={number: f"table {number}" for number in range(1, self.tables + 1)},
        )

    def _events(self) -> Iterator[Chunk]:
        return scan_events(self._backends())

    def _backends(self) -> list[list[PlannedScan]]:
        for_queries, for_places = sources(self.seed, 2)
        sizes = dict(enumerate(self._sizes().tolist(), 1))
        return scans_of(self._queries(for_queries), sizes, for_places)

    def _queries(self, rng: Random) -> Iterator[Query]:
        """Yield the queries in the order of their starts."""
        mix = MIXES[self.variant]
        sizes = self._sizes()
        table = self._tables(rng, mix, sizes)
        is_long = rng.random(self.queries) < mix.long_queries
        low = np.where(is_long, mix.long[0], mix.short[0])
        high = np.where(is_long, mix.long[1], mix.short[1])
        share = low + rng.random(self.queries) * (high - low)
        blocks = np.maximum(1, np.rint(share * sizes[table])).astype(np.int64)
        speed = self.speed * self.spread ** (2 * rng.random(self.queries) - 1)
        duration = blocks * 1e6 / speed
        gap = -np.log1p(-rng.random(self.queries)) * duration.mean() / self.concurrency
        for start, i in zip(np.cumsum(gap).tolist(), range(self.queries), strict=True):
            yield Query(start, float(duration[i]), ((int(table[i]) + 1, int(blocks[i])),))

    def _sizes(self) -> Integers:
        """Return the pages of each table: at least one."""
        shares = 1 / np.arange(1, self.tables + 1)
        sizes: Integers = np.maximum(1, (shares * (self.pages / shares.sum())).astype(np.int64))
        return sizes

    def _tables(self, rng: Random, mix: Mix, sizes: Integers) -> Integers:
        """Draw a table for each query: among the hot ones, or among all, each as likely."""
        order = scattered(rng, self.tables)
        within = np.cumsum(sizes[order]) <= mix.hot_data * sizes.sum()
        hot = max(1, int(np.count_nonzero(within)))
        is_hot = rng.random(self.queries) < mix.hot_queries
        among = np.where(is_hot, hot, self.tables)
        return order[(rng.random(self.queries) * among).astype(np.int64)].astype(np.int64)
