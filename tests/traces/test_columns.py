"""Work on chunks, against the same done row by row."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.errors import TraceError
from tidepool.traces import Chunk, InMemoryTrace, load
from tidepool.traces.columns import column, join, resize, select, take
from traces.helpers import everything, plain, rows


@given(st.lists(st.integers(0, 7), max_size=12), st.integers(1, 9))
def test_resize_keeps_the_events(sizes: list[int], wanted: int) -> None:
    chunks = []
    n = 0
    for size in sizes:
        page = np.arange(n, n + size, dtype=np.uint64)
        # every other chunk has its times, which are the default ones
        time = page.copy() if size % 2 else None
        bitmaps = {0: bytes([size])} if size == 5 else {}
        chunks.append(Chunk(page=page, time=time, bitmaps=bitmaps))
        n += size
    resized = list(resize(chunks, wanted))
    assert [len(chunk) for chunk in resized[:-1]] == [wanted] * (len(resized) - 1)
    assert not resized or 0 < len(resized[-1]) <= wanted
    position = 0
    found = {}
    for chunk in resized:
        assert column(chunk, "time", position).tolist() == list(
            range(position, position + len(chunk))
        )
        assert chunk.page.tolist() == list(range(position, position + len(chunk)))
        found.update({position + row: bitmap for row, bitmap in chunk.bitmaps.items()})
        position += len(chunk)
    assert position == n
    assert found == {sum(sizes[:i]): b"\x05" for i, size in enumerate(sizes) if size == 5}


def test_select_keeps_times_and_bitmaps() -> None:
    chunk = next(everything().chunks())
    kept = select(chunk, np.array([0, 0, 1, 0, 1, 0, 0, 0, 1], bool), 100)
    assert kept.page.tolist() == chunk.page[[2, 4, 8]].tolist()
    assert kept.bitmaps == {0: b"\x05\x80", 1: b""}
    assert kept.time is not None and kept.time.tolist() == [11, 2_000_000, 2**63 + 5]
    timeless = select(Chunk(page=chunk.page), np.array([0, 0, 1, 0, 1, 0, 0, 0, 0], bool), 100)
    assert timeless.time is not None and timeless.time.tolist() == [102, 104]
    assert timeless.kind is None


def test_take_and_join_are_inverse() -> None:
    trace = everything()
    chunk = next(trace.chunks())
    joined = join([take(chunk, slice(3)), take(chunk, slice(3, None))], 0)
    assert rows(InMemoryTrace("x", [joined])) == rows(trace)


@given(st.permutations(range(9)), st.integers(1, 9))
def test_take_moves_bitmaps_along(order: list[int], length: int) -> None:
    trace = everything()
    taken = take(next(trace.chunks()), np.array(order[:length], np.int64))
    events = rows(trace)
    assert rows(InMemoryTrace("x", [taken])) == [events[row] for row in order[:length]]


def test_join_fills_in_defaults() -> None:
    one, other = (Chunk(page=np.array(pages, np.uint64)) for pages in ([1, 2], [3]))
    joined = join([one, replace(other, scan=np.array([9], np.uint64))], 0)
    assert joined.scan is not None and joined.scan.tolist() == [0, 0, 9]
    assert joined.scan.dtype == np.uint64
    assert joined.flags is None


def test_in_memory_trace() -> None:
    trace = everything()
    assert trace.length == 9
    again = pickle.loads(pickle.dumps(trace))
    assert rows(again) == rows(trace)
    assert again.relations == trace.relations
    assert load(trace) is trace
    large = InMemoryTrace.from_arrays("large", np.arange((1 << 20) + 3))
    assert [len(chunk) for chunk in large.chunks()] == [1 << 20, 3]


def test_in_memory_trace_of_unequal_columns() -> None:
    with pytest.raises(TraceError, match=r'^column "kind" has 1 rows, column "page" 2$'):
        InMemoryTrace.from_arrays("x", [1, 2], kind=[0])


def test_load_reads_a_trace_once() -> None:
    trace = plain()
    calls = []

    class Watched(InMemoryTrace):
        def chunks(self):  # type: ignore[no-untyped-def]
            calls.append(1)
            return super().chunks()

    # a subclass is a trace in memory already; a wrapper is not
    assert load(Watched("w", trace.chunks())).length == 1000
    assert calls == []
