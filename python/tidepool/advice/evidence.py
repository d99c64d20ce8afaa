"""Recordings, made ready to be replayed many times: a sample of the pages, in memory.

Of every row is known in which part of the recording it is, of which random group
its page is (for errors), and how a miss would be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidepool.advice.references import RING_SHARE, Rows, Sizes, TableScans, sequential_references
from tidepool.errors import TidepoolError
from tidepool.simulation.events import references as count_references
from tidepool.simulation.layouts import main_pools
from tidepool.traces.columns import column, of_one_page, only_as_recorded, references, select, take
from tidepool.traces.derived import in_sample
from tidepool.traces.model import CHUNK_ROWS, Chunk, Flag, Kind, Trace
from tidepool.traces.provenance import Recorded

PARTS = 8  # of a recording, of equal numbers of references
GROUPS = 64  # of pages
CLASSES = 2  # random, sequential
SHAPE = (PARTS, GROUPS, CLASSES)
EVENTS = 2_000_000  # that a sample may have by default: about a minute on two cores
FRAMES = 1000  # that a sampled cache of today's size has at least by default
_MIX = np.uint64(0x9E3779B97F4A7C15)

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Slice:
    """A chunk with what is known of its rows.

    Attributes:
        chunk: references, and other events that algorithms hear of.
        read: rows that read a page if they miss: all references but new blocks.
        key: of each row, part, group and class as one index into SHAPE.
        table_scan: rows that go through a ring if their table is large.
    """

    chunk: Chunk
    read: Rows
    key: NDArray[np.int64]
    table_scan: Rows

    def through_rings(self, ringed: frozenset[int]) -> Rows:
        """Return the rows that go through a ring if scans of these relations have one."""
        if not ringed or not self.table_scan.any():
            return np.zeros(len(self.chunk), np.bool_)
        relations = np.array(sorted(ringed), np.uint64)
        rows: Rows = self.table_scan & np.isin(self.chunk.page >> np.uint64(34), relations)
        return rows

    def renumbered(self, old: NDArray[np.uint64], new: NDArray[np.uint64]) -> Slice:
        """Return it with other numbers for relations."""
        return replace(self, chunk=replace(self.chunk, page=_renumbered(self.chunk.page, old, new)))


def _renumbered(
    pages: NDArray[np.uint64], old: NDArray[np.uint64], new: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    relation = pages >> np.uint64(34)
    at = np.minimum(np.searchsorted(old, relation), len(old) - 1)
    known = old[at] == relation  # events that are of no page have no relation
    within = pages & np.uint64((1 << 34) - 1)
    return np.where(known, new[at] << np.uint64(34) | within, pages)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A recording.

    Attributes:
        name: the trace's.
        recorded: what the server ran.
        rate: share of the pages whose references are in ``slices``.
        warm: pages that were resident when the recording began, in no order.
        slices: the events.
        names: of relations, by number.
        blocks: of relations, as far as events show them.
        references: of the whole recording, new blocks among them.
        seconds: that it took.
        live: reads that the server made, by SHAPE.
        live_sample: those of the pages in the sample.
        live_relations: reads by relation and class.
        vacuum: reads through VACUUM's ring of the pages in the sample, not in ``slices``.
        named: references to relations with a name.
        new_blocks: references that made a block.
        pages: distinct ones in ``slices``.
        main_pools: for each relation of a server with pools, the pool of most references to it.
    """

    name: str
    recorded: Recorded
    rate: float
    warm: NDArray[np.uint64]
    slices: tuple[Slice, ...]
    names: Mapping[int, str]
    blocks: Mapping[int, int]
    references: int
    seconds: float
    live: Counts
    live_sample: Counts
    live_relations: Mapping[int, Counts]
    vacuum: Counts
    named: int
    new_blocks: int
    pages: int
    main_pools: Mapping[int, int]

    def renumbered(self, numbers: dict[str, int], free: int) -> Prepared:
        """Return it with these numbers for relations of these names, for others from ``free`` on.

        New names are added to ``numbers``.
        """
        number_of = {}
        for number in sorted(self.blocks):
            name = self.names.get(number)
            number_of[number] = numbers.get(name, free) if name else free
            if number_of[number] == free:
                free += 1
                if name:
                    numbers[name] = number_of[number]
        old = np.array(sorted(number_of), np.uint64)
        new = np.array([number_of[int(number)] for number in old], np.uint64)
        return replace(
            self,
            slices=tuple(each.renumbered(old, new) for each in self.slices),
            warm=_renumbered(self.warm, old, new),
            names={number_of[n]: name for n, name in self.names.items() if n in number_of},
            blocks={number_of[n]: blocks for n, blocks in self.blocks.items()},
            live_relations={number_of[n]: reads for n, reads in self.live_relations.items()},
            main_pools={number_of[n]: pool for n, pool in self.main_pools.items()},
        )

    def came_in(self, ringed: frozenset[int]) -> float:
        """Return how many pages the server read into its buffers, estimated for all pages.

        Those that scans of ``ringed`` relations or VACUUM read into rings replace
        nothing but rings.
        """
        rows = 0
        for each in self.slices:
            missed = each.read & (column(each.chunk, "flags", 0) & Flag.HIT == 0)
            rows += int(np.count_nonzero(missed & ~each.through_rings(ringed)))
        return rows / self.rate

    def is_ringed(self, frames: int) -> frozenset[int]:
        """Return the relations whose scans use a ring in so many buffers."""
        return frozenset(r for r, blocks in self.blocks.items() if blocks > frames // RING_SHARE)


def default_rate(events: int, buffers: int, sample_rate: float = 1.0) -> float:
    """Return the share of the recorded pages to replay, for a recording of so many events.

    Of ``buffers`` at least FRAMES are left, as far as a recording of this share of
    the pages has them.
    """
    if events <= EVENTS:
        return 1.0
    return min(1.0, max(EVENTS / events, FRAMES / (buffers * sample_rate)))


def prepare(
    trace: Trace, rate: float, seed: int = 0, progress: Callable[[int], None] | None = None
) -> Prepared:
    """Read a recording once.

    Raises TidepoolError if no server has recorded it.
    """
    if trace.recorded is None:
        raise TidepoolError(
            f"{trace.name}: not a server's recording",
            "Record one with pg_bufferpool_trace_start(); tidepool compare takes any trace.",
        )
    total = sum(map(count_references, trace.chunks())) if trace.length is None else None
    reader = _Reader(trace, rate, seed, total or trace.length or 1)
    for chunk in trace.chunks():
        reader.take(chunk)
        if progress:
            progress(len(chunk))
    return reader.done()


class _Reader:
    """Takes a recording's chunks in order."""

    def __init__(self, trace: Trace, rate: float, seed: int, events: int) -> None:
        assert trace.recorded is not None
        self._trace, self._rate, self._seed = trace, rate, seed
        self._sample_rate = trace.recorded.sample_rate
        self._part_events = -(-events // PARTS)
        self._scans, self._sizes = TableScans(), Sizes()
        self._slices: list[Slice] = []
        self._position = self._references = self._named = self._new = 0
        self._live, self._vacuum = np.zeros(SHAPE, np.int64), np.zeros(SHAPE, np.int64)
        self._live_sample = np.zeros(SHAPE, np.int64)
        self._by_relation: dict[int, Counts] = {}
        self._times: list[int] = []

    def take(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        is_reference = references(chunk)
        flags, kind = column(chunk, "flags", 0), column(chunk, "kind", 0)
        read = is_reference & (kind == Kind.READ)
        missed = read & (flags & Flag.HIT == 0)
        sequential = sequential_references(chunk, self._sample_rate)
        key = self._keys(chunk, sequential)
        through_ring = self._scans.rows(chunk) & ~((flags & Flag.SEQUENTIAL > 0) & ~missed)
        vacuum = missed & (flags & Flag.VACUUM > 0)
        self._sizes.see(chunk)
        self._count(chunk, is_reference, missed, sequential, key)
        sampled = in_sample(chunk.page, self._rate, self._seed)
        self._vacuum += counted(key[vacuum & sampled])
        self._live_sample += counted(key[missed & sampled])
        kept = (sampled | ~of_one_page(chunk)) & ~vacuum & ~only_as_recorded(chunk)
        if kept.any():
            part = replace(select(chunk, kept, self._position), pool=None)
            self._slices.append(Slice(part, read[kept], key[kept], through_ring[kept]))
        self._position += len(chunk)

    def done(self) -> Prepared:
        """Return the recording."""
        assert self._trace.recorded is not None
        if self._references == 0:
            raise TidepoolError(f"{self._trace.name}: the recording has no references to pages")
        warm, pages = _first_references(self._slices)
        return Prepared(
            name=self._trace.name,
            recorded=self._trace.recorded,
            rate=self._rate * self._sample_rate,
            warm=warm,
            slices=tuple(self._slices),
            names=dict(self._trace.relations),
            blocks=self._sizes.blocks,
            references=self._references,
            seconds=(self._times[-1] - self._times[0]) / 1e6,
            live=self._live,
            live_sample=self._live_sample,
            live_relations=self._by_relation,
            vacuum=self._vacuum,
            named=self._named,
            new_blocks=self._new,
            pages=pages,
            main_pools=main_pools(self._trace) if self._trace.recorded.pools else {},
        )

    def _keys(self, chunk: Chunk, sequential: Rows) -> NDArray[np.int64]:
        """Return each row's index into a flat SHAPE."""
        rows = np.arange(self._position, self._position + len(chunk))
        part = np.minimum(rows // self._part_events, PARTS - 1)
        with np.errstate(over="ignore"):
            group = (chunk.page * _MIX >> np.uint64(58)).astype(np.int64)
        found: NDArray[np.int64] = (part * GROUPS + group) * CLASSES + sequential
        return found

    def _count(
        self, chunk: Chunk, is_reference: Rows, missed: Rows, sequential: Rows, key: Counts
    ) -> None:
        self._live += counted(key[missed])
        self._references += int(np.count_nonzero(is_reference))
        self._new += int(np.count_nonzero(column(chunk, "kind", 0) == Kind.WRITE))
        time = column(chunk, "time", self._position)
        if len(time):
            self._times += [int(time[0]), int(time[-1])]
            self._times = [self._times[0], self._times[-1]]
        relations, counts = np.unique(chunk.page[is_reference] >> np.uint64(34), return_counts=True)
        for relation, count in zip(relations.tolist(), counts.tolist(), strict=True):
            self._named += count if relation in self._trace.relations else 0
        pairs = (chunk.page[missed] >> np.uint64(34) << np.uint64(1)) | sequential[missed]
        for pair, count in zip(*(a.tolist() for a in _unique(pairs)), strict=True):
            sums = self._by_relation.setdefault(pair >> 1, np.zeros(CLASSES, np.int64))
            sums[pair & 1] += count


def _unique(values: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    found, counts = np.unique(values, return_counts=True)
    return found, counts


def counted(key: NDArray[np.int64]) -> Counts:
    """Return how many rows have each key, by SHAPE."""
    found: Counts = np.bincount(key, minlength=PARTS * GROUPS * CLASSES).reshape(SHAPE)
    return found


def _first_references(slices: Sequence[Slice]) -> tuple[NDArray[np.uint64], int]:
    """Return the pages whose first reference hit: they were there when the recording began.

    They are in no order.  Also return how many pages there are.
    """
    pages, hits = [], []
    for each in slices:
        rows = references(each.chunk)
        pages.append(each.chunk.page[rows])
        hits.append(column(each.chunk, "flags", 0)[rows] & Flag.HIT > 0)
    distinct, first = np.unique(np.concatenate(pages), return_index=True)
    found = distinct[np.concatenate(hits)[first]]
    with np.errstate(over="ignore"):
        order = np.argsort(found * _MIX, kind="stable")
    return found[order], len(distinct)


def warm_chunks(prepared: Prepared) -> Iterator[Chunk]:
    """Yield references that bring in what was resident when the recording began."""
    if not len(prepared.warm):
        return
    first = prepared.slices[0].chunk
    begin = int(first.time[0]) if first.time is not None and len(first) else 0
    for at in range(0, len(prepared.warm), CHUNK_ROWS):
        pages = prepared.warm[at : at + CHUNK_ROWS]
        yield Chunk(page=pages, time=np.full(len(pages), begin, np.uint64))


def rows_of(prepared: Prepared, relations: frozenset[int], ringed: frozenset[int]) -> Chunk:
    """Return the references to some relations, those through rings left out, as pages only."""
    wanted = np.array(sorted(relations), np.uint64)
    large = np.array(sorted(ringed), np.uint64)
    pages = []
    for each in prepared.slices:
        numbers = each.chunk.page >> np.uint64(34)
        rows = references(each.chunk) & np.isin(numbers, wanted)
        rows &= ~(each.table_scan & np.isin(numbers, large))
        pages.append(take(each.chunk, rows).page)
    return Chunk(page=np.concatenate([np.zeros(0, np.uint64), *pages]))
