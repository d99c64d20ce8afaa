"""Scans that read ahead: which reads are made together, and what is pinned meanwhile."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.errors import TraceError
from tidepool.generators import TpchScans
from tidepool.traces import InMemoryTrace, Kind, Trace
from tidepool.traces.columns import resize
from tidepool.traces.scans import read_ahead
from traces.helpers import everything, rows

READ, BEGIN, END = Kind.READ, Kind.SCAN_BEGIN, Kind.SCAN_END
PINNED, UNPINNED = Kind.PINNED, Kind.UNPINNED


def trace(*events: tuple[int, int, int]) -> InMemoryTrace:
    """Events: page, kind, scan."""
    page, kind, scan = zip(*events, strict=True)
    return InMemoryTrace.from_arrays("t", page, kind=kind, scan=scan)


def kinds(of: Trace) -> list[tuple[int, int]]:
    return [(page, kind) for page, kind, *_ in rows(of)]


def scan(number: int, *blocks: int) -> list[tuple[int, int, int]]:
    reads = [(block, READ, number) for block in blocks]
    return [(blocks[0], BEGIN, number), *reads, (blocks[-1], END, number)]


def test_a_scan_keeps_its_next_blocks_pinned() -> None:
    assert kinds(read_ahead(trace(*scan(1, 0, 1, 2, 3, 4)), 2, together=1)) == [
        (0, BEGIN),
        (0, READ),
        (0, PINNED),
        (1, READ),
        (1, PINNED),
        (0, UNPINNED),
        (2, READ),
        (2, PINNED),
        (1, UNPINNED),
        (3, READ),
        (3, PINNED),
        (2, UNPINNED),
        (4, READ),
        (4, PINNED),
        (3, UNPINNED),
        (4, UNPINNED),
        (4, END),
    ]


def test_reads_are_made_together() -> None:
    ahead = read_ahead(trace(*scan(1, 0, 1, 2, 3, 4)), 3, together=2)
    assert [(page, kind) for page, kind in kinds(ahead) if kind in (READ, UNPINNED)] == [
        (0, READ),
        (1, READ),
        (0, UNPINNED),
        (2, READ),
        (3, READ),
        (1, UNPINNED),
        (4, READ),
        (2, UNPINNED),
        (3, UNPINNED),
        (4, UNPINNED),
    ]
    times = [time for _, _, _, time, *_ in rows(ahead)]
    assert times == [0, *[2] * 4, *[4] * 5, 5, *[6] * 6]


def test_a_page_is_pinned_until_no_scan_uses_it() -> None:
    two = trace((7, READ, 1), (7, READ, 2), (8, READ, 1), (8, END, 1), (9, READ, 2), (9, END, 2))
    found = [(page, kind) for page, kind in kinds(read_ahead(two, 1, together=1)) if kind != READ]
    assert found == [
        (7, PINNED),
        (8, PINNED),
        (8, UNPINNED),
        (8, END),
        (7, UNPINNED),
        (9, PINNED),
        (9, UNPINNED),
        (9, END),
    ]


def test_what_no_scan_reads_stays_as_it_is() -> None:
    plain = trace((1, READ, 0), (2, Kind.WRITE, 0), (3, Kind.FORGET, 0), (4, READ, 0))
    assert rows(read_ahead(plain, 16)) == rows(plain)
    assert read_ahead(everything(), 16).relations == everything().relations


@given(
    blocks=st.integers(1, 40),
    together=st.integers(1, 40),
    streams=st.integers(1, 4),
    rows_a_chunk=st.integers(1, 50),
)
def test_of_generated_scans(blocks: int, together: int, streams: int, rows_a_chunk: int) -> None:
    scans = TpchScans(pages=60, streams=streams, queries=2, speed=100.0, bitmap=True)

    class Chunked(InMemoryTrace):
        def chunks(self):  # type: ignore[no-untyped-def]
            return resize(scans.chunks(), rows_a_chunk)

    ahead = read_ahead(scans, max(blocks, together), together)
    assert rows(read_ahead(Chunked("t", []), max(blocks, together), together)) == rows(ahead)
    events = kinds(ahead)
    reads = [page for page, kind in events if kind == READ]
    assert Counter(reads) == Counter(page for page, kind in kinds(scans) if kind == READ)
    times = [time for _, _, _, time, *_ in rows(ahead)]
    assert times == sorted(times)
    pinned: set[int] = set()
    for page, kind in events:
        assert len(pinned) <= streams * max(blocks, together)
        if kind == PINNED:
            assert page not in pinned
            pinned.add(page)
        if kind == UNPINNED:
            pinned.remove(page)
    assert not pinned


def test_a_scan_without_an_end_lacks_its_last_reads() -> None:
    found = kinds(read_ahead(trace(*scan(1, 0, 1, 2)[:-1]), 2, together=2))
    assert [page for page, kind in found if kind == READ] == [0, 1]


@pytest.mark.parametrize(("blocks", "together"), [(0, 1), (1, 0), (15, 16)])
def test_what_is_not_possible(blocks: int, together: int) -> None:
    with pytest.raises(TraceError, match=f"^scans cannot make {together} reads at once and be"):
        read_ahead(trace(*scan(1, 0)), blocks, together)
