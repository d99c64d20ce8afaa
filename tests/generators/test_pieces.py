"""What the generators are made of: draws, storage, streams, transactions."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.generated import all_columns, block, fits, is_near, relation
from tidepool.generators import transactions
from tidepool.generators.storage import Btree, entries_per_page, rows_per_page
from tidepool.generators.tpcc import _earlier
from tidepool.traces import draws, streams
from tidepool.traces.columns import resize
from tidepool.traces.model import Chunk, Flag


def test_zipf_probabilities() -> None:
    for alpha in (0, 0.5, 0.9, 1, 1.3, 4):
        rng = np.random.default_rng(1)
        counts = np.bincount(draws.ZipfRanks(300, alpha).draw(rng, 200_000), minlength=300)
        probabilities = np.arange(1, 301) ** -float(alpha)
        assert fits(counts, probabilities), alpha
        wrong = np.arange(1, 301) ** -(alpha + 0.05)
        assert alpha > 3 or not fits(counts, wrong), alpha


def test_hashed_is_uniform_and_splitmix64() -> None:
    assert draws._mix(np.zeros(1, np.uint64))[0] == 0xE220A8397B1DCDAF
    numbers = np.arange(100_000)
    uniform = draws.hashed(5, numbers)
    assert np.array_equal(uniform[::-1], draws.hashed(5, numbers[::-1]))
    assert fits(np.bincount((uniform * 100).astype(int), minlength=100), np.ones(100))
    assert abs(np.corrcoef(uniform, draws.hashed(6, numbers))[0, 1]) < 0.02


def test_nurand_is_the_definition() -> None:
    a, c, low, high = 7, 3, 1, 10
    grid = np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(10) + 0.5) / 10)
    ours = draws.nurand((grid[0].ravel(), grid[1].ravel()), a, c, low, high) + low
    theirs = [
        ((x | y) + c) % (high - low + 1) + low for x in range(a + 1) for y in range(low, high + 1)
    ]
    assert sorted(ours) == sorted(theirs)


def test_choose() -> None:
    chosen = draws.choose(np.random.default_rng(0), (0.2, 0.0, 0.8), 100_000)
    counts = np.bincount(chosen, minlength=3)
    assert counts[1] == 0
    assert is_near(counts[0] / 100_000, 0.2, 100_000)


def test_rows_and_entries_in_a_page() -> None:
    # customer: 24 + 655 -> 680, pointer 4: 684 into 8168
    assert rows_per_page(655) == 11
    assert rows_per_page(8) == 8168 // 36
    # three integers: 8 + 12 -> 24, pointer 4: 28 into 90 % of 8152
    assert entries_per_page(12) == 262
    assert entries_per_page(4) == 7336 // 20


@pytest.mark.parametrize("entries", [1, 10, 11, 100, 101, 1234])
def test_btree_paths(entries: int) -> None:
    tree = Btree(3, entries, 10)
    path = np.array(tree.path(tree.leaf(np.arange(entries))))
    assert (relation(path) == 3).all()
    blocks = block(path)
    # every page but the metapage is on a path, and all paths begin at the root
    assert sorted(set(blocks.ravel())) == list(range(1, 1 + sum(tree.levels)))
    assert set(blocks[0]) == {1}
    assert tree.levels[-1] == 1
    for level in blocks:
        assert (np.diff(level) >= 0).all()
    for parent, child in pairwise(blocks):
        children = defaultdict(set)
        for p, q in zip(parent, child, strict=True):
            children[p].add(q)
        assert max(map(len, children.values())) <= 10
        assert sum(map(len, children.values())) == len(set(child))
    assert np.bincount(blocks[-1]).max() <= 10


def test_btree_path_to_an_added_leaf() -> None:
    tree = Btree(3, 1000, 10)
    path = block(np.array(tree.path(np.array([100, 105]), under=np.array([57, 99]))))
    assert path.tolist() == [[1, 1], [7, 11], [112, 117]]


def chunk_of(times: list[int], backend: int, **more: Any) -> Chunk:
    return Chunk(
        page=np.arange(len(times), dtype=np.uint64),
        time=np.array(times, np.uint64),
        backend=np.full(len(times), backend, np.uint32),
        **more,
    )


@given(
    st.lists(st.lists(st.lists(st.integers(0, 20), min_size=1), max_size=4), max_size=4),
    st.integers(1, 10),
)
def test_interleave(pieces: list[list[list[int]]], sort_rows: int) -> None:
    """Against sorting everything; times in a stream's chunks may overlap, their begins not."""
    parts = [sorted((sorted(times) for times in stream), key=lambda t: t[0]) for stream in pieces]
    chunks = [
        [chunk_of(times, 100 * s + i) for i, times in enumerate(stream)]
        for s, stream in enumerate(parts)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "SORT_ROWS", sort_rows)
        merged = list(streams.interleave(*(iter(stream) for stream in chunks)))
    assert all(len(chunk) for chunk in merged)
    ours = [
        (int(t), int(b), int(p))
        for c in merged
        for t, b, p in zip(c.time, c.backend, c.page, strict=True)
    ]
    theirs = [
        (int(t), int(b), int(p))
        for stream in chunks
        for c in stream
        for t, b, p in zip(c.time, c.backend, c.page, strict=True)
    ]
    assert ours == sorted(theirs, key=lambda event: event[0])


def test_interleave_keeps_bitmaps() -> None:
    first = chunk_of([1, 5, 9], 1, bitmaps={1: b"a", 2: b"b"})
    second = chunk_of([5, 9], 2, bitmaps={0: b"c"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "SORT_ROWS", 1)
        merged = list(streams.interleave(iter([second]), iter([first])))
    rows = [
        (int(time), int(backend), chunk.bitmaps.get(row))
        for chunk in merged
        for row, (time, backend) in enumerate(zip(chunk.time, chunk.backend, strict=True))
    ]
    assert rows == [(1, 1, None), (5, 2, b"c"), (5, 1, b"a"), (9, 2, None), (9, 1, b"b")]


@given(st.lists(st.integers(0, 9)), st.integers(1, 12), st.integers(0, 60))
def test_cut_and_resize(sizes: list[int], size: int, length: int) -> None:
    pages = np.arange(sum(sizes), dtype=np.uint64)
    parts = [Chunk(page=part) for part in np.split(pages, np.cumsum(sizes)[:-1])] if sizes else []
    chunks = [c.page.tolist() for c in resize(streams.cut(iter(parts), length), size)]
    expected = pages[:length].tolist()
    assert chunks == [expected[i : i + size] for i in range(0, len(expected), size)]


@given(st.integers(1, 5), st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=20)))
def test_backends_take_transactions_in_turn(backends: int, batches: list[list[int]]) -> None:
    """Lindley's recursion, batch by batch, against one transaction at a time."""
    free = np.zeros(backends)
    expected = [0.0] * backends
    now = 0.0
    for services in batches:
        arrival = now + np.arange(len(services)) * 2.0
        now += 2.0 * len(services)
        begin, free = transactions._begin(arrival, np.array(services, float), free)
        for i, service in enumerate(services):
            start = max(arrival[i], expected[i % backends])
            assert begin[i] == start
            expected[i % backends] = start + service


def test_run_keeps_each_backends_transactions_apart() -> None:
    rng = np.random.default_rng(4)

    def batches() -> Any:
        number = 0
        for _ in range(5):
            sizes = rng.integers(1, 9, 100)
            first, number = number, number + 100
            page = np.repeat(np.arange(first, number, dtype=np.uint64), sizes)
            zeros = np.zeros(len(page), np.uint8)
            yield transactions.Transactions(sizes, page, zeros, zeros.astype(np.uint16))

    stream = transactions.run(batches(), rng=rng, backends=7, rate=1000.0, repeats=2)
    events = all_columns(list(stream))
    assert set(events["backend"]) == set(range(1, 8))
    seen = set()
    for backend in range(1, 8):
        mine = events["backend"] == backend
        page, flags = events["page"][mine], events["flags"][mine]
        assert (np.diff(page.astype(np.int64)) >= 0).all()  # one after the other
        begins = np.diff(page.astype(np.int64), prepend=-1) != 0
        assert np.array_equal(flags == Flag.CORRELATED, ~begins)  # within a transaction
        seen |= set(page)
    assert len(seen) == 500
    # 1000 references a second
    assert events["time"][-1] / 1e6 == pytest.approx(len(events["page"]) / 1000, rel=0.05)
    # and they do interleave
    assert (np.diff(events["backend"].astype(int)) != 0).mean() > 0.5


def test_earlier() -> None:
    rng = np.random.default_rng(0)
    group, marked = rng.integers(0, 5, 200), rng.random(200) < 0.3
    expected = [int((marked[:i] & (group[:i] == group[i])).sum()) for i in range(200)]
    assert _earlier(group, marked).tolist() == expected
