"""Planned scans and their interleaving, against block by block."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.errors import TraceError
from tidepool.traces import Flag, InMemoryTrace, Kind, open_trace, page_number, write_trace
from tidepool.traces.scans import (
    PlannedScan,
    Query,
    bitmap_scan,
    closed_loop,
    count_events,
    range_groups,
    scan_events,
    scans_of,
)
from tidepool.traces.scans import planned as module
from traces.helpers import rows


@st.composite
def planned_scans(draw: st.DrawFn) -> PlannedScan:
    size = draw(st.integers(1, 700))
    groups = draw(st.sets(st.integers(0, (size - 1) // 128)))
    low = 0 if groups else draw(st.sampled_from([0, 1, 900]))
    scan = PlannedScan(
        scan=draw(st.integers(1, 2**64 - 1)),
        backend=draw(st.integers(0, 2**32 - 1)),
        relation=draw(st.integers(0, 2**30 - 1)),
        first=low + draw(st.integers(0, size - 1)),
        count=draw(st.integers(1, size)),
        low=low,
        size=size,
        speed=draw(st.sampled_from([0.5, 3.0, 1000.0, 1e6, 1e9])),
        start=draw(st.sampled_from([0.0, 1.0, 1.5, 1e6])),
        backward=draw(st.booleans()),
        through=draw(st.sampled_from([Flag.SEQUENTIAL, Flag.INDEX])),
    )
    return bitmap_scan(scan, np.array(sorted(groups))) if groups else scan


def blocks_of(scan: PlannedScan) -> list[int]:
    """Return the blocks that a scan reads, in order, one at a time."""
    if scan.bitmap is not None:
        blocks = [
            block
            for block in range(scan.size)
            if block // 128 < 8 * len(scan.bitmap)
            and scan.bitmap[block // 1024] >> block // 128 % 8 & 1
        ]
        return blocks[::-1] if scan.backward else blocks
    blocks = []
    block = scan.first
    for _ in range(scan.count):
        blocks.append(block)
        block += -1 if scan.backward else 1
        if block < scan.low:
            block = scan.low + scan.size - 1
        if block == scan.low + scan.size:
            block = scan.low
    return blocks


def events_of(scan: PlannedScan) -> list[tuple[Any, ...]]:
    """Return a scan's events as rows(): page, kind, flags, time, backend, scan, …"""

    def event(block: int, kind: Kind, moment: int, announced: bool = False) -> tuple[Any, ...]:
        flags = scan.through | (Flag.BACKWARD if announced and scan.backward else 0)
        time = int(scan.start + moment * (1e6 / scan.speed))
        what = (scan.count, scan.size, scan.low, np.float32(scan.speed))
        what = what if announced else (0, 0, 0, 0.0)
        page = page_number(scan.relation, block)
        bitmap = scan.bitmap if announced else None
        return (page, kind, flags, time, scan.backend, scan.scan, *what, 0, bitmap)

    blocks = blocks_of(scan)
    return [
        event(blocks[0], Kind.SCAN_BEGIN, 0, True),
        *(event(block, Kind.READ, moment) for moment, block in enumerate(blocks)),
        event(blocks[-1], Kind.SCAN_END, len(blocks)),
    ]


def made(streams: list[list[PlannedScan]]) -> list[tuple[Any, ...]]:
    return rows(InMemoryTrace("scans", scan_events(streams)))


@given(planned_scans(), st.sampled_from([1, 7, 128, 4096]))
def test_events_of_a_scan(scan: PlannedScan, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        found = made([[scan]])
    assert found == events_of(scan)
    assert len(found) == count_events(scan.count)


@given(st.lists(st.lists(planned_scans(), max_size=3), min_size=1, max_size=5))
def test_scans_that_overlap(streams: list[list[PlannedScan]]) -> None:
    """Each scan reads block j at start + j / speed; at one time, the streams take turns."""
    planned = [list(closed_loop(stream, stream[0].start if stream else 0)) for stream in streams]
    expected = [event for stream in planned for scan in stream for event in events_of(scan)]
    expected.sort(key=lambda event: event[3])
    if expected:
        assert made(planned) == expected


def test_wrapping_and_backward_literally() -> None:
    scan = PlannedScan(
        scan=1, backend=1, relation=0, first=3, count=4, size=5, speed=1e6, start=10.0
    )
    assert [(r[0], r[1], r[3]) for r in made([[scan]])] == [
        (3, Kind.SCAN_BEGIN, 10),
        (3, Kind.READ, 10),
        (4, Kind.READ, 11),
        (0, Kind.READ, 12),
        (1, Kind.READ, 13),
        (1, Kind.SCAN_END, 14),
    ]
    down = replace(scan, first=1, backward=True)
    assert [r[0] for r in made([[down]])] == [1, 1, 0, 4, 3, 3]
    part = replace(scan, first=12, low=10, size=4)
    assert [r[0] for r in made([[part]])] == [12, 12, 13, 10, 11, 11]
    assert scan.end == 14.0


def test_block_groups_literally() -> None:
    scan = PlannedScan(scan=1, backend=1, relation=0, first=0, count=1, size=1200, speed=1.0)
    made_of = bitmap_scan(scan, np.array([1, 9]))
    assert (made_of.first, made_of.count, made_of.bitmap) == (128, 128 + 48, b"\x02\x02")
    assert made_of.through == Flag.BITMAP
    assert bitmap_scan(replace(scan, backward=True), np.array([1, 9])).first == 1199
    assert range_groups(127, 2).tolist() == [0, 1]
    assert range_groups(128, 128).tolist() == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": 5},
        {"first": -1},
        {"count": 0},
        {"count": 6},
        {"size": 2**32, "count": 1},
        {"low": 1},
        {"low": -1},
        {"low": 2**32 - 5, "first": 2**32 - 5},
        {"speed": 0.0},
        {"speed": float("nan")},
        {"start": -1.0},
    ],
)
def test_scans_that_are_not_possible(wrong: dict[str, Any]) -> None:
    right = {"first": 0, "count": 5, "size": 5, "speed": 1.0, "start": 0.0}
    PlannedScan(scan=1, backend=0, relation=1, **right)
    with pytest.raises(TraceError):
        PlannedScan(scan=1, backend=0, relation=1, **(right | wrong))


def test_scans_survive_the_file(tmp_path: Any) -> None:
    scan = PlannedScan(
        scan=7, backend=2, relation=3, first=0, count=300, size=300, speed=9.0, backward=True
    )
    trace = InMemoryTrace("scan", scan_events([[bitmap_scan(scan, np.array([0, 2]))]]))
    for name in ("t.parquet", "t.csv"):
        write_trace(trace, tmp_path / name)
        assert rows(open_trace(tmp_path / name)) == rows(trace)


# ---- queries


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.integers(1, 20),
            st.lists(st.tuples(st.integers(1, 3), st.integers(1, 50)), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 5),
)
def test_queries_become_scans(facts: list[tuple[int, int, list[Any]]], seed: int) -> None:
    queries = [Query(float(start), float(lasts), tuple(reads)) for start, lasts, reads in facts]
    queries.sort(key=lambda query: query.start)
    backends = scans_of(queries, {1: 50, 2: 60, 3: 70}, np.random.default_rng(seed))
    scans = sorted((scan for one in backends for scan in one), key=lambda scan: scan.scan)
    assert [scan.scan for scan in scans] == list(range(1, len(scans) + 1))
    reads = [read for query in queries for read in query.reads]
    assert [(scan.relation, scan.count) for scan in scans] == reads
    assert all(scan.first + scan.count <= scan.size for scan in scans), "none wraps"
    by_query = _by_query(scans, queries)
    for query, own in zip(queries, by_query, strict=True):
        assert own[0].start == query.start
        assert own[-1].end == pytest.approx(query.start + query.duration)
        assert len({scan.backend for scan in own}) == len({scan.speed for scan in own}) == 1
    for number, one in enumerate(backends, 1):
        assert {scan.backend for scan in one} == {number}
        assert all(b.start >= a.end for a, b in pairwise(one))
    # no more backends than queries run at a time
    moments = [query.start for query in queries]
    spans = [(one[0].start, one[-1].end) for one in by_query]
    most = max(sum(a <= moment < b for a, b in spans) for moment in moments)
    assert len(backends) == most


def _by_query(scans: list[PlannedScan], queries: list[Query]) -> list[list[PlannedScan]]:
    at = iter(scans)
    return [[next(at) for _ in query.reads] for query in queries]
