"""Samples, renumbered pages, and what is in a trace."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.errors import TraceError
from tidepool.traces import (
    Chunk,
    InMemoryTrace,
    Kind,
    RelationInfo,
    RenumberedTrace,
    ScanInfo,
    in_sample,
    sample_trace,
    trace_info,
)
from tidepool.traces.columns import resize
from tidepool.traces.page_table import PageTable
from traces.helpers import everything, pages, plain, rows

# ---- samples ----


def mix(x: int) -> int:
    """The finalizer of splitmix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.floats(0, 1, exclude_min=True))
def test_sample_is_the_documented_one(page: int, seed: int, rate: float) -> None:
    expected = mix((page + mix((seed + 0x9E3779B97F4A7C15) % 2**64)) % 2**64) < rate * 2.0**64
    assert in_sample(np.array([page], np.uint64), rate, seed).tolist() == [expected]


def test_sample_is_by_page() -> None:
    numbers = np.arange(100_000, dtype=np.uint64)
    tenth = in_sample(numbers, 0.1, 0)
    assert abs(tenth.mean() - 0.1) < 0.005
    assert (in_sample(numbers, 0.2, 0) >= tenth).all(), "a larger sample contains a smaller one"
    both = (in_sample(numbers, 0.1, 1) & tenth).mean()
    assert abs(both - 0.01) < 0.002, "seeds are independent"
    shifted = (in_sample(numbers, 0.1, 1)[:-1] & tenth[1:]).mean()
    assert abs(shifted - 0.01) < 0.002
    assert in_sample(numbers, 1.0, 5).all()
    assert in_sample(numbers, 1 - 2**-53, 5).all()


def test_sampled_trace() -> None:
    trace = plain(5000)
    sampled = sample_trace(trace, 0.3, 7)
    chosen = set(
        np.arange(50, dtype=np.uint64)[in_sample(np.arange(50, dtype=np.uint64), 0.3, 7)].tolist()
    )
    assert pages(sampled) == [page for page in pages(trace) if page in chosen]
    # times are those of the whole trace
    times = [i for i, page in enumerate(pages(trace)) if page in chosen]
    assert [row[3] for row in rows(sampled)] == times
    assert rows(pickle.loads(pickle.dumps(sampled))) == rows(sampled)


def test_sample_keeps_scans() -> None:
    sampled = sample_trace(everything(), 1e-9)
    assert [row[1] for row in rows(sampled)] == [2, 3, 4, 5]
    assert rows(sampled)[0][-1] == b"\x05\x80"
    assert sampled.relations == everything().relations


@pytest.mark.parametrize("rate", [0, -1, 1.01, float("nan")])
def test_rates_that_are_not_possible(rate: float) -> None:
    with pytest.raises(TraceError, match=r"^a sampling rate of .* is not possible$"):
        sample_trace(plain(), rate)


# ---- renumbering ----


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), min_size=1), st.integers(1, 5))
def test_renumbered(numbers: list[int], rows_a_chunk: int) -> None:
    chunk = Chunk(page=np.array(numbers, np.uint64))

    class Chunked(InMemoryTrace):
        def chunks(self):  # type: ignore[no-untyped-def]
            return resize([chunk], rows_a_chunk)

    order = list(dict.fromkeys(numbers))
    assert pages(RenumberedTrace(Chunked("t", []))) == [order.index(page) for page in numbers]


def test_renumbered_references_only() -> None:
    found = rows(RenumberedTrace(everything()))
    assert [(page, kind, time) for page, kind, _, time, *_ in found] == [
        (0, 0, 10),
        (1, 1, 10),
        (2, 0, 12),
    ]


# ---- tables of pages ----


@given(
    st.lists(
        st.dictionaries(st.integers(0, 2**64 - 1) | st.integers(0, 9), st.integers(-5, 5)),
        max_size=6,
    )
)
def test_page_table(batches: list[dict[int, int]]) -> None:
    table = PageTable()
    expected: dict[int, int] = {}
    for batch in batches:
        expected.update(batch)
        keys = sorted(batch)
        table.put(np.array(keys, np.uint64), np.array([batch[k] for k in keys], np.int64))
    keys = [*expected, 3, 2**63]
    assert table.get(np.array(keys, np.uint64), -9).tolist() == [expected.get(k, -9) for k in keys]
    assert len(table) == len(expected)


# ---- info ----


def test_info_of_everything() -> None:
    found = trace_info(everything())
    assert found.events == {
        "read": 2,
        "write": 1,
        "scan_begin": 1,
        "scan_advance": 1,
        "scan_end": 1,
        "forget": 1,
        "pinned": 1,
        "unpinned": 1,
        "dirtied": 0,
        "written": 0,
        "pool": 0,
        "moved": 0,
        "page_moved": 0,
        "physical_read": 0,
        "physical_write": 0,
        "ssd_has": 0,
        "ssd_lost": 0,
        "ssd": 0,
        "ssd_busy": 0,
        "ssd_freed": 0,
        "ssd_relation": 0,
        "reported": 0,
        "chosen": 0,
        "given_up": 0,
        "left": 0,
        "process": 0,
    }
    assert (found.references, found.pages, found.one_touch) == (3, 3, 3)
    assert found.bytes == 3 * 8192
    assert (found.timed, found.first_time, found.last_time) == (True, 10, 2**63 + 5)
    assert (found.backends, found.relation_count) == (4, 2)
    assert found.scans == ScanInfo(
        count=1, bitmap=1, index=0, backward=0, wrapping=0, at_once=1, blocks=300, references=1
    )
    assert found.relations == (
        RelationInfo(5, "orders", 2, 1, 2),
        RelationInfo(6, 'a "name", with ünicode', 1, 0, 1),
    )


def test_info_of_scans() -> None:
    begin, read, end = Kind.SCAN_BEGIN, Kind.READ, Kind.SCAN_END
    trace = InMemoryTrace.from_arrays(
        "scans",
        page=[0, 90, 5, 0, 0, 90, 5, 95, 0, 3],
        kind=[begin, begin, begin, read, end, read, begin, begin, end, begin],
        scan=[1, 2, 3, 1, 1, 2, 4, 5, 77, 6],
        flags=[0x10, 0x40, 0x210, 0x10, 0x10, 0x40, 0x210, 0, 0, 0],
        count=[100, 10, 6, 0, 0, 0, 7, 10, 0, 4],
        size=[100, 100, 100, 0, 0, 0, 100, 100, 0, 0],
    )
    assert trace_info(trace).scans == ScanInfo(
        count=6, bitmap=0, index=1, backward=2, wrapping=2, at_once=5, blocks=137, references=2
    )
    assert trace_info(plain()).scans == ScanInfo(*[0] * 8)


@given(
    st.lists(
        st.tuples(st.integers(0, 30) | st.integers(0, 2**64 - 1), st.sampled_from([0, 0, 1])),
        min_size=1,
    ),
    st.integers(1, 9),
)
def test_info_against_counting(references: list[tuple[int, int]], rows_a_chunk: int) -> None:
    numbers, kinds = map(list, zip(*references, strict=True))
    whole = InMemoryTrace.from_arrays("t", np.array(numbers, np.uint64), kind=kinds)

    class Chunked(InMemoryTrace):
        def chunks(self):  # type: ignore[no-untyped-def]
            return resize(whole.chunks(), rows_a_chunk)

    found = trace_info(Chunked("t", []))
    counts = Counter(numbers)
    assert found.references == len(numbers)
    assert found.pages == len(counts)
    assert found.one_touch == sum(n == 1 for n in counts.values())
    assert found.one_touch_fraction == found.one_touch / found.pages
    by_relation = Counter(page >> 34 for page in numbers)
    assert {r.relation: r.references for r in found.relations} == by_relation
    assert sum(r.writes for r in found.relations) == sum(kinds) == found.events["write"]
    assert sum(r.pages for r in found.relations) == len(counts)
    assert not found.timed


def test_info_of_opaque_pages() -> None:
    trace = InMemoryTrace.from_arrays("t", np.arange(3000, dtype=np.uint64) << np.uint64(40))
    found = trace_info(trace)
    assert found.relation_count == 3000
    assert len(found.relations) == 1000


def test_info_without_references() -> None:
    found = trace_info(InMemoryTrace.from_arrays("t", [1], kind=[Kind.SCAN_END]))
    assert (found.references, found.pages, found.one_touch_fraction, found.relations) == (
        0,
        0,
        0,
        (),
    )
