"""Scans made from queries: known is how much each query read, not which blocks.

As Khalaji, Guo, Vanderkooy and Daudjee (PVLDB 18, 2025) do with Redset: a
scan covers a range of its table of the size read, anywhere in the table with
equal probability.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidepool.traces.draws import Random
from tidepool.traces.scans.planned import PlannedScan


@dataclass(frozen=True, slots=True)
class Query:
    """A query that scans tables one after the other, at one speed."""

    start: float  # microseconds
    duration: float  # microseconds, above 0
    reads: tuple[tuple[int, int], ...]  # relation and blocks of each scan, in order

    @property
    def speed(self) -> float:
        """How many blocks it reads per second."""
        return sum(blocks for _, blocks in self.reads) * 1e6 / self.duration


def scans_of(
    queries: Iterable[Query], sizes: Mapping[int, int], rng: Random
) -> list[list[PlannedScan]]:
    """Return the scans of queries, which come in the order of their starts, by backend.

    A query runs on the backend that has been free for longest, or on a new
    one if none is; backends are numbered from 1, and so are scans, in the
    order of the queries.  ``sizes``: blocks of each relation.
    """
    backends: list[list[PlannedScan]] = []
    free: list[tuple[float, int]] = []  # when each backend is free
    scan = 1
    for query in queries:
        if free and free[0][0] <= query.start:
            _, number = heapq.heappop(free)
        else:
            number = len(backends)
            backends.append([])
        scans = list(_scans(query, scan, number + 1, sizes, rng))
        backends[number] += scans
        heapq.heappush(free, (scans[-1].end, number))
        scan += len(scans)
    return backends


def _scans(
    query: Query, scan: int, backend: int, sizes: Mapping[int, int], rng: Random
) -> Iterator[PlannedScan]:
    start = query.start
    for number, (relation, blocks) in enumerate(query.reads):
        planned = PlannedScan(
            scan=scan + number,
            backend=backend,
            relation=relation,
            first=int(rng.random() * (sizes[relation] - blocks + 1)),
            count=blocks,
            size=sizes[relation],
            start=start,
            speed=query.speed,
        )
        yield planned
        start = planned.end
