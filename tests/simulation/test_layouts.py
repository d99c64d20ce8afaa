"""Layouts: a pool in a layout does what it does alone, and frames move as in a server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tidepool import parse_policy, policies
from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError, TraceError
from tidepool.simulation import (
    Cell,
    Layout,
    LayoutReplay,
    LayoutResult,
    Options,
    PoolSpec,
    recorded_layout,
    relation_numbers,
    simulate,
    simulate_layouts,
)
from tidepool.traces import (
    Chunk,
    Flag,
    InMemoryTrace,
    Kind,
    Recorded,
    RecordedPool,
    page_number,
)

LRU = parse_policy("lru")
NAMES = [policy.name for policy in policies() if not policy.reads_extents]


def mixed(length: int = 8000, forgets: bool = True) -> InMemoryTrace:
    """References and writes by four backends to two relations, and pages that cease to exist."""
    rng = np.random.default_rng(1)
    relation = rng.integers(1, 3, length).astype(np.uint64)
    block = (rng.random(length) ** 3 * 400).astype(np.uint64)
    kind = (rng.random(length) < 0.2).astype(np.uint8)
    if forgets:
        kind[rng.random(length) < 0.002] = Kind.FORGET
    page = relation << np.uint64(34) | block
    return InMemoryTrace.from_arrays(
        "mixed",
        page,
        kind=kind,
        count=np.where(kind == Kind.FORGET, 20, 0),
        time=np.arange(length),
        backend=rng.integers(1, 5, length),
        relations={1: "public.rest", 2: "public.hot"},
    )


def of_relation(trace: InMemoryTrace, relation: int) -> InMemoryTrace:
    chunk = next(trace.chunks())
    rows = chunk.page >> np.uint64(34) == relation
    columns = {name: getattr(chunk, name)[rows] for name in ("kind", "count", "time", "backend")}
    return InMemoryTrace.from_arrays("part", chunk.page[rows], **columns)


def replayed(layout: Layout, trace: InMemoryTrace, options: Options | None = None) -> LayoutResult:
    """Replay, and check the pools at the end."""
    replay = LayoutReplay(layout, 3, options)
    position = 0
    for chunk in trace.chunks():
        replay.feed(position, chunk)
        position += len(chunk)
    assert replay.check() == ""
    return replay.result(trace)


def counts(result: Any) -> tuple[int, ...]:
    names = ("requests", "misses", "refused", "write_backs", "forgotten")
    return tuple(getattr(result, name) for name in names)


@pytest.mark.parametrize(
    ("name", "batch"),
    # alone, the clock is DEFAULT's and has no queues
    [
        (name, batch)
        for name in NAMES
        for batch in (0, 8)
        if name != "keep" and (name, batch) != ("clock", 8)
    ],
)
def test_each_pool_is_as_if_alone(name: str, batch: int) -> None:
    # backends report all that they have queued before pages cease to exist, to all pools
    trace, spec, options = mixed(forgets=batch == 0), parse_policy(name), Options(batch=batch)
    pools = (PoolSpec("hot", spec, 70, (2,)),)
    result = replayed(Layout(LRU, 200, pools), trace, options)
    default, hot = result.pools
    (rest,) = simulate([(of_relation(trace, 1), [Cell(LRU, 130, 3)])], options)
    (alone,) = simulate([(of_relation(trace, 2), [Cell(spec, 70, 3)])], options)
    assert (default.pool, hot.pool) == ("DEFAULT", "hot")
    assert counts(default) == counts(rest)
    assert counts(hot) == counts(alone)
    assert result.requests == rest.requests + alone.requests
    assert (result.misses, result.frames) == (rest.misses + alone.misses, 200)


def test_the_clock_of_default_has_no_queues() -> None:
    """It is PostgreSQL's own; that of a named pool is not."""
    trace, clock = mixed(forgets=False), parse_policy("clock")
    layout = Layout(clock, 200, (PoolSpec("hot", clock, 70, (2,)),))
    queues, none = (replayed(layout, trace, Options(batch=batch)).pools for batch in (8, 0))
    assert counts(queues[0]) == counts(none[0])
    assert counts(queues[1]) != counts(none[1])


def test_a_report_is_to_all_pools() -> None:
    """Also if the trace is replayed into other pools than the server had."""
    first, second, third = (page_number(2, block) for block in range(3))
    trace = InMemoryTrace.from_arrays(
        "reported",
        page=[first, second, first, 0, third, first],
        kind=[*[Kind.READ] * 3, Kind.REPORTED, *[Kind.READ] * 2],
        backend=[0, 0, 0, 0, 1, 0],
    )
    layout = Layout(LRU, 3, (PoolSpec("hot", LRU, 2, (2,)),))
    assert replayed(layout, trace, Options(batch=2)).misses == 3


@pytest.mark.parametrize("name", NAMES)
def test_one_pool_is_a_cache(name: str) -> None:
    options = Options(batch=4, warmup=500, interval=700, per_relation=True, correlation_window=2)
    trace, spec = mixed(), parse_policy(name)
    result = replayed(Layout(spec, 90), trace, options)
    (alone,) = simulate([(trace, [Cell(spec, 90, 3)])], options)
    assert counts(result) == counts(alone)
    assert result.relations == alone.relations
    assert result.series is not None and alone.series is not None
    assert result.series.tolist() == alone.series.tolist()


# in rings and samples frames lie in another order, since they go to the head of DEFAULT's list
@pytest.mark.parametrize("name", ["lru", "slru", "2q", "arc", "lirs", "s3fifo", "w_tinylfu"])
def test_resized_as_if_alone(name: str) -> None:
    trace, spec = mixed(), parse_policy(name)
    resize = ((3000, "hot", 20), (5000, "hot", 120))
    layout = Layout(LRU, 200, (PoolSpec("hot", spec, 70, (2,)),), resize)
    result = replayed(layout, trace)
    assert [pool.frames for pool in result.pools] == [80, 120]
    chunk = next(trace.chunks())
    assert chunk.kind is not None
    is_reference = chunk.kind <= Kind.WRITE
    mine = is_reference & (chunk.page >> np.uint64(34) == 2)
    rows = np.flatnonzero(is_reference)[[at for at, _, _ in resize]]
    before = [int(mine[:row].sum()) for row in rows]
    alone = Options(resize=tuple(zip(before, (20, 120), strict=True)))
    (expected,) = simulate([(of_relation(trace, 2), [Cell(spec, 70, 3)])], alone)
    assert counts(result.pools[1]) == counts(expected)


# ---- against a model ----


@dataclass
class Model:
    """Pools of LRU stacks, most recent last, by their definition."""

    frames: list[int]
    stacks: list[list[int]] = field(init=False)
    counts: list[list[int]] = field(init=False)  # requests, misses, evictions

    def __post_init__(self) -> None:
        self.stacks = [[] for _ in self.frames]
        self.counts = [[0, 0, 0] for _ in self.frames]

    def reference(self, page: int, pool: int) -> None:
        """A page is resident once, in the pool that loaded it."""
        home = next((i for i, stack in enumerate(self.stacks) if page in stack), None)
        if home is None:
            home = pool if self.frames[pool] > 0 else 0
            self.counts[home][1] += 1
            self._shrink(home, self.frames[home] - 1)
        else:
            self.stacks[home].remove(page)
        self.stacks[home].append(page)
        self.counts[home][0] += 1

    def move(self, giver: int, taker: int) -> None:
        if self.frames[giver] > 0:
            self.frames[giver] -= 1
            self.frames[taker] += 1
            self._shrink(giver, self.frames[giver])

    def _shrink(self, pool: int, size: int) -> None:
        while len(self.stacks[pool]) > size:
            self.stacks[pool].pop(0)
            self.counts[pool][2] += 1


def test_pages_stay_where_they_came_in() -> None:
    """Pages come into any of three pools at random, and frames move at random."""
    rng = np.random.default_rng(5)
    model = Model([20, 9, 0])
    events: list[tuple[int, int, int, int]] = []  # page, kind, pool, count
    for _ in range(20000):
        pool, other = (int(n) for n in rng.integers(0, 3, 2))
        if rng.random() < 0.02 and pool != other:
            events.append((0, Kind.MOVED, pool, other))
            model.move(pool, other)
        else:
            page = int(rng.random() ** 2 * 80)
            events.append((page, Kind.READ, pool, 0))
            model.reference(page, pool)
    page, kind, pool, count = (np.array(column) for column in zip(*events, strict=True))
    pools = (PoolSpec("a", LRU, 9), PoolSpec("b", LRU, 0))
    layout = Layout(LRU, 29, pools, as_recorded=True, numbers=(1, 2))
    trace = InMemoryTrace.from_arrays("random", page, kind=kind, pool=pool, count=count)
    result = replayed(layout, trace)
    found = [[p.requests, p.misses, p.evictions] for p in result.pools]
    assert found == model.counts
    assert [p.frames for p in result.pools] == model.frames


# ---- what pools refuse, and what is written ----


def test_what_a_full_pool_refuses_goes_to_default() -> None:
    pages = [page_number(2, block) for block in range(10)]
    trace = InMemoryTrace.from_arrays("keep", [*pages, *pages], kind=[1] * 20)
    keep = parse_policy("keep")
    result = replayed(Layout(LRU, 10, (PoolSpec("kept", keep, 4, (2,)),)), trace)
    default, kept = result.pools
    assert (kept.requests, kept.misses, kept.refused) == (8, 4, 6)
    assert (default.requests, default.misses, default.evictions) == (12, 6, 0)
    assert (result.refused, result.write_backs) == (0, 0)


def test_who_writes_ahead_leaves_a_clean_page() -> None:
    def written(flags: int) -> int:
        trace = InMemoryTrace.from_arrays(
            "w", [1, 1, 2, 3], kind=[1, Kind.WRITTEN, 0, 0], flags=[0, flags, 0, 0]
        )
        (alone,) = simulate([(trace, [Cell(LRU, 1)])])
        assert alone.write_backs == replayed(Layout(LRU, 1), trace).write_backs
        return alone.write_backs

    assert written(0) == 1  # who replaces the page writes it then
    assert written(Flag.BY_CHECKPOINTER) == 0
    assert written(Flag.BY_BACKGROUND_WRITER) == written(Flag.BY_POOL_WRITER) == 0


# ---- recordings ----


def definition(**members: Any) -> bytes:
    given = {"number": 1, "name": "", "algorithm": "", "parameters": "", "buffers": 0}
    return json.dumps(given | members).encode()


def test_pools_are_made_changed_and_dropped() -> None:
    """Seeds of a new policy: all resident pages, and nothing is evicted."""
    recorded = Recorded(
        "18.6", "lru", "", 1, 8, 1, 1, 1.0, pools=(RecordedPool(0, "DEFAULT", "lru", "", 8),)
    )
    events: list[tuple[int, int, int, int, bytes | None]] = [
        *((block, Kind.READ, 0, 0, None) for block in range(6)),
        (0, Kind.POOL, 1, 0, definition(name="hot", algorithm="arc", buffers=3)),
        *((0, Kind.MOVED, 0, 1, None) for _ in range(3)),  # two free ones, and page 0's
        *((block, Kind.READ, 1, 0, None) for block in (20, 21, 22)),
        (0, Kind.POOL, 1, 0, definition(name="hot", algorithm="fifo", buffers=3)),
        *((block, Kind.READ, 1, 0, None) for block in (20, 21, 22, 23)),
        (0, Kind.POOL, 1, 0, definition(name="warm", algorithm="fifo", buffers=0)),
        *((0, Kind.MOVED, 1, 0, None) for _ in range(3)),
        (0, Kind.POOL, 1, 0, definition()),
        (23, Kind.READ, 1, 0, None),
    ]
    page, kind, pool, count, text = zip(*events, strict=True)
    columns = {"kind": kind, "pool": pool, "count": count}
    bitmaps = {row: value for row, value in enumerate(text) if value is not None}
    trace = InMemoryTrace.from_arrays("ddl", page, bitmaps=bitmaps, **columns)
    trace.recorded = recorded
    result = replayed(recorded_layout(recorded), trace)
    default, warm = result.pools
    assert (default.pool, default.policy, default.frames) == ("DEFAULT", "lru", 8)
    assert (default.requests, default.misses, default.evictions) == (7, 7, 1)
    assert (warm.pool, warm.policy, warm.frames) == ("warm", "fifo", 0)
    assert (warm.requests, warm.misses, warm.evictions) == (7, 4, 4)


def test_pools_that_are_made_later_know_their_processes() -> None:
    """Each process has random numbers of its own, whenever the pool was made."""
    pages = np.random.default_rng(1).integers(0, 40, 2000).tolist()
    recorded = Recorded(
        "18.6", "lru", "", 1, 40, 1, 1, 1.0, pools=(RecordedPool(0, "DEFAULT", "lru", "", 40),)
    )

    def misses(former: int, pool_first: bool) -> int:
        pool: list[tuple[int, int, int, int]] = [
            (0, Kind.POOL, 1, 0),
            *((0, Kind.MOVED, 0, 1) for _ in range(20)),
        ]
        process = (0, Kind.PROCESS, 0, former)
        begin = [*pool, process] if pool_first else [process, *pool]
        events = [*begin, *((page, Kind.READ, 1, 0) for page in pages)]
        page, kind, number, count = zip(*events, strict=True)
        columns = {"kind": kind, "pool": number, "count": count, "backend": [3] * len(events)}
        text = definition(name="hot", algorithm="random", buffers=20)
        made = {0 if pool_first else 1: text}
        trace = InMemoryTrace.from_arrays("later", page, bitmaps=made, **columns)
        trace.recorded = recorded
        result = replayed(recorded_layout(recorded), trace)
        assert result.pools[1].requests == len(pages)
        return result.pools[1].misses

    found = [misses(former, pool_first=True) for former in range(4)]
    assert found == [misses(former, pool_first=False) for former in range(4)]
    assert len(set(found)) > 1


def test_a_damaged_definition() -> None:
    layout = Layout(LRU, 5, as_recorded=True)
    for text in (b"", b"{}x", b'{"name": "hot"}'):
        trace = InMemoryTrace.from_arrays("t", [0, 1], kind=[Kind.POOL, 0], bitmaps={0: text})
        with pytest.raises(TraceError, match="definition of pool number 0 is damaged"):
            replayed(layout, trace)


def test_events_of_pools_mean_nothing_for_other_layouts() -> None:
    trace = InMemoryTrace.from_arrays(
        "t",
        [0, page_number(1, 1), 0, page_number(1, 1)],
        kind=[Kind.POOL, 0, Kind.MOVED, 0],
        pool=[1, 9, 1, 0],
        bitmaps={0: definition(name="hot", algorithm="arc", buffers=3)},
    )
    result = replayed(Layout(LRU, 5, (PoolSpec("mine", LRU, 2, (1,)),)), trace)
    assert [(p.pool, p.frames, p.requests) for p in result.pools] == [
        ("DEFAULT", 3, 0),
        ("mine", 2, 2),
    ]
    (alone,) = simulate([(trace, [Cell(LRU, 5)])])
    assert (alone.requests, alone.misses) == (2, 1)


def test_resident_pages_move() -> None:
    """Page 1 is hit in pool 1 once it has moved there; page 2, which is dirty, was written."""
    events = [
        *((page, Kind.WRITE, 0) for page in (1, 2, 3)),
        (1, Kind.PAGE_MOVED, 1),
        (2, Kind.PAGE_MOVED, 1),  # page 1 must go
        (9, Kind.PAGE_MOVED, 1),
        *((page, Kind.READ, 0) for page in (2, 1)),
    ]
    page, kind, pool = zip(*events, strict=True)
    trace = InMemoryTrace.from_arrays("t", page, kind=kind, pool=pool)
    layout = Layout(LRU, 5, (PoolSpec("a", LRU, 1),), as_recorded=True)
    default, other = replayed(layout, trace).pools
    assert (default.requests, default.misses, default.write_backs) == (4, 4, 2)
    assert (other.requests, other.misses, other.evictions) == (1, 0, 1)
    (alone,) = simulate([(trace, [Cell(LRU, 5)])])
    assert (alone.requests, alone.misses, alone.write_backs) == (5, 3, 0)


# ---- the same in any way ----


def test_chunks_and_executors_change_nothing() -> None:
    trace = mixed(3000)
    chunk = next(trace.chunks())
    pieces = InMemoryTrace("mixed", [], trace.relations)
    pieces._chunks = tuple(_pieces(chunk, 7))
    layouts = [
        Layout(parse_policy("clock"), 60, (PoolSpec("hot", parse_policy("arc"), size, (2,)),))
        for size in (10, 30)
    ]
    resized = Layout(LRU, 60, (PoolSpec("hot", LRU, 20, (2,)),), ((1000, "hot", 5),))
    options = Options(batch=8, interval=100)
    first = simulate_layouts(trace, [*layouts, resized], 1, options)
    again = simulate_layouts(pieces, [*layouts, resized], 1, options, workers=1)
    assert [counts(r) for r in first] == [counts(r) for r in again]
    assert [p for r in first for p in r.pools] == [p for r in again for p in r.pools]


def _pieces(chunk: Chunk, rows: int) -> list[Chunk]:
    from tidepool.traces.columns import take

    return [take(chunk, slice(at, at + rows)) for at in range(0, len(chunk), rows)]


# ---- what cannot be ----


@pytest.mark.parametrize(
    ("pools", "resize", "message"),
    [
        ([("a", "arc", 60, ()), ("b", "arc", 40, ())], (), "none is left for DEFAULT"),
        ([("a", "arc", 6, ()), ("a", "arc", 4, ())], (), 'pool "a" is given twice'),
        ([("Default", "arc", 6, ())], (), "has what other pools leave"),
        ([("a", "opt", 6, ())], (), "online policies"),
        ([("a", "tac", 6, ())], (), "for SSDs"),
        ([("a", "arc", 6, (1,)), ("b", "arc", 4, (1,))], (), 'to pool "a" and to pool "b"'),
        ([("a", "arc", 6, ())], ((1, "b", 3),), 'no pool "b" to resize'),
        ([("a", "arc", 6, ())], ((1, "a", 100),), "from reference 1 on"),
    ],
)
def test_layouts_that_cannot_be(
    pools: Sequence[tuple[str, str, int, tuple[int, ...]]],
    resize: tuple[tuple[int, str, int], ...],
    message: str,
) -> None:
    with pytest.raises(TidepoolError, match=message):
        Layout(
            LRU,
            100,
            tuple(PoolSpec(name, parse_policy(p), n, relations) for name, p, n, relations in pools),
            resize,
        )


def test_pools_have_numbers_below_128() -> None:
    pool = PoolSpec("hot", LRU, 6)
    assert max(Layout(LRU, 100, (pool,), numbers=(127,)).numbered()) == 127
    with pytest.raises(TidepoolError, match="at most 127 pools"):
        Layout(LRU, 100, (pool,), numbers=(128,))


@pytest.mark.parametrize(("n", "frames"), [(128, 6), (129, 6), (2, 1 << 31), (3, 1 << 31)])
def test_sizes_that_no_layout_has(n: int, frames: int) -> None:
    """The C layer refuses them by itself; three times 2^31 would wrap."""
    specs, params = ffi.new("tps_pool_spec[]", n), LRU.array()
    for number in {0, 1, n - 1}:
        specs[number].policy, specs[number].params = LRU.begin().handle, params
        specs[number].frames = frames
    made = lib.tps_layout_new(specs, n, False, 0, ffi.new("tps_options *"))
    assert (made == ffi.NULL) == (n > 128 or frames > 6)
    lib.tps_layout_free(made)


def test_relations_by_name() -> None:
    trace = InMemoryTrace.from_arrays(
        "t",
        [page_number(number, 0) for number in (1, 2, 3, 7)],
        relations={1: "public.a", 2: "public.b", 3: "other.b"},
    )
    assert relation_numbers(trace, ["a", "other.b", "7", "public.b"]) == (1, 3, 7, 2)
    with pytest.raises(TidepoolError, match='several relations are called "b"'):
        relation_numbers(trace, ["b"])
    with pytest.raises(TidepoolError, match='no relation "c"') as error:
        relation_numbers(trace, ["c"])
    assert error.value.hint == "It has: public.a, public.b, other.b, 7."
    with pytest.raises(TidepoolError, match='no relation "8"'):
        relation_numbers(trace, ["8"])
