"""The core workloads of the Yahoo! Cloud Serving Benchmark, as the pages that they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tidepool.generators.base import GeneratedTrace, length_parameter
from tidepool.generators.storage import Btree, Heap, entries_per_page
from tidepool.generators.transactions import Statements, Transactions, ordinals, run
from tidepool.traces.draws import (
    Integers,
    Random,
    ZipfRanks,
    below,
    choose,
    hashed,
    scattered,
    sources,
)
from tidepool.traces.model import Chunk, Kind
from tidepool.traces.parameters import parameter, seed_parameter
from tidepool.traces.streams import cut

TABLE, INDEX = 1, 2
KEY_WIDTH = 24  # bytes: "user" and up to 19 digits, with their length
MAX_SCAN = 100  # records
OPERATIONS = 4096  # generated at a time

READ, UPDATE, INSERT, SCAN, MODIFY = range(5)

# The shares of read, update, insert, scan, read-modify-write.
WORKLOADS = {
    "A": (0.50, 0.50, 0.00, 0.00, 0.00),
    "B": (0.95, 0.05, 0.00, 0.00, 0.00),
    "C": (1.00, 0.00, 0.00, 0.00, 0.00),
    "D": (0.95, 0.00, 0.05, 0.00, 0.00),  # reads the latest
    "E": (0.00, 0.00, 0.05, 0.95, 0.00),
    "F": (0.50, 0.00, 0.00, 0.00, 0.50),
}


@dataclass(frozen=True, kw_only=True)
class Ycsb(GeneratedTrace):
    """YCSB's workloads A to F on a table with a B-tree.

    Each operation goes down the index and then to the record's page.
    """

    command = "ycsb"
    relations = MappingProxyType({TABLE: "usertable", INDEX: "usertable_pkey"})

    workload: str = parameter("A", "which of YCSB's workloads", choices=tuple(WORKLOADS))
    records: int = parameter(400_000, "records loaded beforehand", low=1, high=2**31)
    length: int = length_parameter(2_000_000)
    alpha: float = parameter(0.99, "exponent of the Zipf distribution of requests", low=0)
    rows_per_page: int = parameter(
        7, "records in a page; 7 of YCSB's 1,000 bytes fit in 8 KiB", low=1, high=2**16
    )
    backends: int = parameter(16, "backends that make the requests", low=1, high=OPERATIONS)
    rate: float = parameter(
        50_000.0, "references per second, of all backends together", low=1e-3, high=1e9
    )
    repeats: int = parameter(
        0, "correlated references that follow each reference", low=0, high=1000
    )
    seed: int = seed_parameter()

    def _events(self) -> Iterator[Chunk]:
        for_operations, for_times = sources(self.seed, 2)
        stream = run(
            _Operations(self, for_operations).batches(),
            rng=for_times,
            backends=self.backends,
            rate=self.rate,
            repeats=self.repeats,
        )
        return cut(stream, self.length)


class _Operations:
    """The operations of a workload.

    Records are numbered in the order in which they were inserted, which is
    their order in the heap.  Keys are hashes, so that their order, which is
    the index's, has nothing to do with it; and which records are popular has
    nothing to do with either.
    """

    def __init__(self, trace: Ycsb, rng: Random) -> None:
        self.trace = trace
        self.rng = rng
        self.zipf = ZipfRanks(trace.records, trace.alpha)
        self.popular = scattered(rng, trace.records)  # record by rank
        self.by_key = scattered(rng, trace.records)  # record by position in the index
        self.position = np.empty_like(self.by_key)  # position in the index by record
        self.position[self.by_key] = np.arange(trace.records, dtype=np.uint32)
        self.heap = Heap(TABLE, trace.rows_per_page)
        self.index = Btree(INDEX, trace.records, entries_per_page(KEY_WIDTH))
        self.inserted = 0

    def batches(self) -> Iterator[Transactions]:
        while True:
            yield self._batch()

    def _batch(self) -> Transactions:
        kind = choose(self.rng, WORKLOADS[self.trace.workload], OPERATIONS)
        statements = Statements(OPERATIONS)
        inserts = kind == INSERT
        next_record = self.trace.records + self.inserted + np.cumsum(inserts) - inserts
        self.inserted += int(inserts.sum())

        ranks = self.zipf.draw(self.rng, OPERATIONS)
        if self.trace.workload == "D":
            record = next_record - 1 - ranks
        else:
            record = self.popular[ranks].astype(np.int64)

        for operation, carry_out in (
            (READ, self._read),
            (UPDATE, self._update),
            (INSERT, self._insert),
            (SCAN, self._scan),
            (MODIFY, self._modify),
        ):
            which = np.flatnonzero(kind == operation)
            carry_out(statements, which, (next_record if operation == INSERT else record)[which])
        return statements.gather()

    def _leaf(self, record: Integers) -> Integers:
        """Return the leaves in which the records' keys are."""
        loaded = self.position[np.minimum(record, self.trace.records - 1)].astype(np.int64)
        later = (hashed(self.trace.seed, record) * self.trace.records).astype(np.int64)
        return self.index.leaf(np.where(record < self.trace.records, loaded, later))

    def _read(
        self, statements: Statements, operation: Integers, record: Integers, step: int = 0
    ) -> None:
        place = statements.place(operation, step)
        statements.descend(place, self.index, self._leaf(record))
        statements.touch(place, self.heap.page(record))

    def _update(
        self, statements: Statements, operation: Integers, record: Integers, step: int = 0
    ) -> None:
        place = statements.place(operation, step)
        statements.descend(place, self.index, self._leaf(record))
        statements.touch(place, self.heap.page(record), Kind.WRITE)

    def _modify(self, statements: Statements, operation: Integers, record: Integers) -> None:
        self._read(statements, operation, record)
        self._update(statements, operation, record, step=1)

    def _insert(self, statements: Statements, operation: Integers, record: Integers) -> None:
        place = statements.place(operation)
        statements.insert(place, self.heap.page(record))
        statements.enter(place, self.index, self._leaf(record))

    def _scan(self, statements: Statements, operation: Integers, record: Integers) -> None:
        """Read 1 … MAX_SCAN records, in the order of their keys, from a popular one on."""
        wanted = 1 + below(self.rng, MAX_SCAN, len(operation))
        start = self.position[record].astype(np.int64)
        statements.descend(statements.place(operation), self.index, self.index.leaf(start))

        count = np.minimum(wanted, self.trace.records - start)
        ordinal = ordinals(count)
        position = np.repeat(start, count) + ordinal
        place = statements.place(np.repeat(operation, count), 1 + ordinal)
        next_leaf = (position % self.index.per_page == 0) & (ordinal > 0)
        *_, leaf_page = self.index.path(self.index.leaf(position[next_leaf]))
        statements.touch(place[next_leaf], leaf_page)
        statements.touch(place, self.heap.page(self.by_key[position].astype(np.int64)))
