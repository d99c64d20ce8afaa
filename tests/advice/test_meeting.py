"""Scans of a recording that meet: the same pages at the same times, begun elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from tidepool import parse_policy
from tidepool.advice.evidence import prepare
from tidepool.advice.meeting import met
from tidepool.advice.setups import Setup
from tidepool.policies import PolicySpec
from tidepool.simulation.layouts import PoolSpec
from tidepool.traces import Flag, InMemoryTrace, Kind, page_number
from tidepool.traces.provenance import Recorded

BLOCKS = 1000
STEP = 8  # blocks between two reports of a scan
LATE = 500  # blocks that the first scan has read when the second begins

PBM = parse_policy("pbm")
CLOCK = parse_policy("clock")


def two_scans(bitmap: bool = False, flags: int = 0, algorithm: str = "clock") -> InMemoryTrace:
    """Two scans of one table, the second one half a table behind."""
    rows: list[tuple[int, int, int, int]] = []  # time, kind, scan, block
    for scan, begin in ((1, 0), (2, LATE)):
        rows.append((10 * begin, Kind.SCAN_BEGIN, scan, 0))
        for block in range(BLOCKS):
            rows.append((10 * (begin + block) + scan, Kind.READ, scan, block))
            if block % STEP == STEP - 1:
                rows.append((10 * (begin + block) + 5 + scan, Kind.SCAN_ADVANCE, scan, block))
        rows.append((10 * (begin + BLOCKS) + 9, Kind.SCAN_END, scan, 0))
    rows.sort()
    kind = np.array([row[1] for row in rows])
    begins = kind == Kind.SCAN_BEGIN
    of_scan = Flag.STEPS | flags | (Flag.BITMAP if bitmap else Flag.SEQUENTIAL)
    bits = b"\xff" if bitmap else b""
    trace = InMemoryTrace.from_arrays(
        "scans",
        [page_number(1, row[3]) for row in rows],
        {1: "public.t"},
        bitmaps={int(row): bits for row in np.flatnonzero(begins)} if bitmap else {},
        time=[row[0] for row in rows],
        kind=kind,
        scan=[row[2] for row in rows],
        backend=[row[2] for row in rows],
        flags=np.where(begins, int(of_scan), 0),
        count=np.where(begins, BLOCKS, 0),
        size=np.where(begins, BLOCKS, 0),
    )
    trace.recorded = Recorded("18.6", algorithm, "", 1, 200, 1, 1, 1.0, dropped=0)
    return trace


def reads(trace: InMemoryTrace, scan: int, relations: frozenset[int] | None = None) -> list[int]:
    (each,) = met(prepare(trace, 1.0), relations).slices
    chunk = each.chunk
    assert chunk.kind is not None and chunk.scan is not None
    rows = (chunk.kind == Kind.READ) & (chunk.scan == scan)
    return [int(page) & 0xFFFFFFFF for page in chunk.page[rows]]


@pytest.mark.parametrize("bitmap", [False, True])
def test_the_second_begins_where_the_first_is(bitmap: bool) -> None:
    trace = two_scans(bitmap)
    assert reads(trace, 1) == list(range(BLOCKS))
    second = reads(trace, 2)
    assert sorted(second) == list(range(BLOCKS))
    assert abs(second[0] - LATE) <= (128 if bitmap else 2 * STEP)
    assert second == [(second[0] + i) % BLOCKS for i in range(BLOCKS)]


def test_what_a_scan_reports_moves_along() -> None:
    (each,) = met(prepare(two_scans(), 1.0)).slices
    chunk = each.chunk
    assert chunk.kind is not None and chunk.scan is not None and chunk.time is not None
    second = np.flatnonzero((chunk.scan == 2) & (chunk.kind <= Kind.SCAN_END))
    last = None
    for row in second.tolist():
        if chunk.kind[row] == Kind.READ:
            last = chunk.page[row]
        elif chunk.kind[row] == Kind.SCAN_ADVANCE:
            assert chunk.page[row] == last
        elif chunk.kind[row] == Kind.SCAN_BEGIN:
            begin = chunk.page[row]
    assert begin == chunk.page[second[chunk.kind[second] == Kind.READ][0]]


@pytest.mark.parametrize("flags", [Flag.BACKWARD, Flag.COMPANION, Flag.MET])
def test_scans_that_keep_their_order(flags: int) -> None:
    assert reads(two_scans(flags=flags), 2) == list(range(BLOCKS))


def test_scans_of_other_relations_keep_theirs() -> None:
    assert reads(two_scans(), 2, frozenset({7})) == list(range(BLOCKS))


def test_only_algorithms_that_ask_about_scans_have_them_meet() -> None:
    prepared = prepare(two_scans(), 1.0)

    def moves(setup: Setup) -> bool:
        return setup.recording(prepared) is not prepared

    def pool(spec: PolicySpec, *relations: int) -> PoolSpec:
        return PoolSpec("p", spec, 50, relations)

    assert moves(Setup(PBM, 200))
    assert not moves(Setup(CLOCK, 200))
    assert moves(Setup(CLOCK, 200, (pool(PBM, 1),)))
    assert not moves(Setup(PBM, 200, (pool(CLOCK, 1),)))
    already = prepare(two_scans(algorithm="pbm"), 1.0)
    assert Setup(PBM, 200).recording(already) is already
