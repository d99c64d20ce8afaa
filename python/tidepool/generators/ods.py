"""An operational data store: queries like TPC-H's, over mostly recent data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tidepool.generators.base import GeneratedTrace, length_parameter
from tidepool.generators.storage import Btree, Heap, Pages, entries_per_page, rows_per_page
from tidepool.traces.draws import Integers, Random, ZipfRanks, below, choose, sources
from tidepool.traces.model import Chunk, Flag
from tidepool.traces.parameters import parameter, seed_parameter
from tidepool.traces.scans import GROUP, PlannedScan
from tidepool.traces.streams import cut, interleave

NAMES = (
    *("lineitem", "orders", "customer", "part", "partsupp"),
    *("lineitem_pkey", "orders_pkey", "customer_pkey", "part_pkey", "partsupp_pkey"),
)
NUMBER = {name: number for number, name in enumerate(NAMES, start=1)}

# TPC-H, clauses 1.4 and 4.2.5: rows at scale factor 1, and their typical widths.
ORDERS, CUSTOMERS, PARTS = 1_500_000, 150_000, 200_000
LINES, SUPPLIERS = 4, 4  # of an order in the mean, of a part
WIDTH = {"lineitem": 112, "orders": 104, "customer": 179, "part": 155, "partsupp": 144}
KEY = {"lineitem": 8, "orders": 4, "customer": 4, "part": 4, "partsupp": 8}
DAYS = 2406  # of orders, from 1992 to August 1998

REPORT, JOIN, CUSTOMER, STATUS = range(4)
# The mix is our choice: docs/generators.md, "ods".
SHARES = (0.4, 0.3, 0.2, 0.1)
RANGES = (7, 30, 90)  # days that a query covers


@dataclass(frozen=True)
class _Table:
    """A table whose rows are in the order of their key."""

    rows: int
    heap: Heap
    index: Btree

    def look_up(self, row: Integers) -> list[Pages]:
        """Return the pages that lead to these rows, the last being theirs."""
        return [*self.index.path(self.index.leaf(row)), self.heap.page(row)]


def _table(name: str, rows: float) -> _Table:
    count = max(1, int(rows))
    return _Table(
        count,
        Heap(NUMBER[name], rows_per_page(WIDTH[name])),
        Btree(NUMBER[f"{name}_pkey"], count, entries_per_page(KEY[name])),
    )


@dataclass(frozen=True, kw_only=True)
class Ods(GeneratedTrace):
    """Queries like TPC-H's over mostly recent days: range scans and index lookups.

    About 160,000 pages at scale 1.
    """

    command = "ods"
    relations = MappingProxyType({number: name for name, number in NUMBER.items()})

    scale: float = parameter(0.5, "TPC-H's scale factor", low=1e-3, high=1000)
    length: int = length_parameter(3_000_000)
    alpha: float = parameter(
        1.0, "exponent of the Zipf distribution of the days back that a query is about", low=0
    )
    streams: int = parameter(8, "backends that make queries, one after the other", low=1, high=1000)
    lookups: int = parameter(
        200, "rows that a query which joins looks up in each other table", low=0, high=10**5
    )
    speed: float = parameter(5_000.0, "blocks per second that a scan reads", low=1e-3, high=1e9)
    rate: float = parameter(
        2_000.0, "references per second of a stream that looks up", low=1e-3, high=1e9
    )
    seed: int = seed_parameter()

    def _events(self) -> Iterator[Chunk]:
        queries = _Queries(self)
        streams = (
            queries.stream(number, rng)
            for number, rng in enumerate(sources(self.seed, self.streams))
        )
        return cut(interleave(*streams), self.length)


class _Queries:
    """What the queries read.  Rows are numbered from 0; days from 0, the oldest."""

    def __init__(self, trace: Ods) -> None:
        self.trace = trace
        scale = trace.scale
        self.orders = _table("orders", scale * ORDERS)
        self.lineitem = _table("lineitem", scale * ORDERS * LINES)
        self.customer = _table("customer", scale * CUSTOMERS)
        self.part = _table("part", scale * PARTS)
        self.partsupp = _table("partsupp", scale * PARTS * SUPPLIERS)
        self.days_back = ZipfRanks(DAYS, trace.alpha)

    def stream(self, number: int, rng: Random) -> Iterator[Chunk]:
        """Yield what one backend does: query after query."""
        start = rng.random() * 1e6  # out of step with the others
        streams, query = self.trace.streams, 0
        while True:
            kind = int(choose(rng, SHARES, 1)[0])
            first, last = self._days(rng)
            if kind != STATUS:
                table = self.orders if kind == CUSTOMER else self.lineitem
                scan = self._scan(
                    table, first, last, start, number + 1, query * streams + number + 1
                )
                query += 1
                yield from scan.events()
                start = scan.end
            pages = self._looked_up(rng, kind, first, last)
            if len(pages):
                step = 1e6 / self.trace.rate
                yield _index_reads(pages, number + 1, start, step)
                start += len(pages) * step

    def _days(self, rng: Random) -> tuple[int, int]:
        """Draw the days that a query is about: from the first to the last of them."""
        last = DAYS - 1 - int(self.days_back.draw(rng, 1)[0])
        count = RANGES[int(below(rng, len(RANGES), 1)[0])]
        return max(0, last - count + 1), last

    def _scan(
        self, table: _Table, first: int, last: int, start: float, backend: int, number: int
    ) -> PlannedScan:
        """Scan a table's rows of these days, from the beginning of a block group on."""
        begin, end = (day * table.rows // DAYS // table.heap.per_page for day in (first, last + 1))
        begin -= begin % GROUP
        return PlannedScan(
            scan=number,
            backend=backend,
            relation=table.heap.relation,
            first=begin,
            count=max(1, end - begin),
            size=-(-table.rows // table.heap.per_page),
            start=start,
            speed=self.trace.speed,
        )

    def _looked_up(self, rng: Random, kind: int, first: int, last: int) -> Pages:
        """Return the pages that a query reads through indexes, row after row."""
        count = self.trace.lookups
        order = self._orders_of(rng, first, last, count)
        if kind == JOIN:  # the parts of lines
            return _row_by_row(self.part.look_up(below(rng, self.part.rows, count)))
        if kind == CUSTOMER:  # the customers and the lines of orders
            return _row_by_row(
                self.customer.look_up(below(rng, self.customer.rows, count))
                + self.lineitem.look_up(order * LINES)
            )
        if kind == STATUS:  # orders, whose they are, what they are of, and who has it
            supply = below(rng, self.partsupp.rows, count)
            return _row_by_row(
                self.orders.look_up(order)
                + self.lineitem.look_up(order * LINES)
                + self.customer.look_up(below(rng, self.customer.rows, count))
                + self.partsupp.look_up(supply)
            )
        return np.empty(0, np.uint64)

    def _orders_of(self, rng: Random, first: int, last: int, count: int) -> Integers:
        begin, end = (day * self.orders.rows // DAYS for day in (first, last + 1))
        return begin + below(rng, max(1, end - begin), count)


def _row_by_row(paths: list[Pages]) -> Pages:
    """Return what is read for each row in turn."""
    return np.stack(paths, axis=1).ravel()


def _index_reads(pages: Pages, backend: int, start: float, step: float) -> Chunk:
    return Chunk(
        page=pages,
        kind=np.zeros(len(pages), np.uint8),
        flags=np.full(len(pages), Flag.INDEX, np.uint16),
        time=(start + np.arange(len(pages)) * step).astype(np.uint64),
        backend=np.full(len(pages), backend, np.uint32),
    )
