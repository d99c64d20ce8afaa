"""The generators that scan: scans well formed, in their time and beside point references."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from generators.generated import Columns, block, columns, fits, is_near, relation
from tidepool.errors import TraceError
from tidepool.generators import (
    DynZipfRo,
    DynZipfRoCs,
    OltpScan,
    RedsetLike,
    Scan,
    TpchScans,
)
from tidepool.traces import trace_info
from tidepool.traces.model import Flag, Kind


def check_scans(events: Columns, pages: int) -> dict[int, Columns]:
    """Assert that all scans of ranges are well formed; return each one's events."""
    of_scan = events["scan"] > 0
    sequential = (events["flags"] & Flag.SEQUENTIAL) != 0
    assert np.array_equal(sequential, of_scan)
    assert set(np.unique(events["kind"][~of_scan])) <= {Kind.READ, Kind.WRITE}
    scans = {}
    for number in np.unique(events["scan"][of_scan]):
        mine = {name: column[events["scan"] == number] for name, column in events.items()}
        kind, at, time = mine["kind"], block(mine["page"]), mine["time"].astype(np.int64)
        blocks, first = int(mine["count"][0]), int(at[0])
        assert kind[0] == Kind.SCAN_BEGIN and kind[-1] == Kind.SCAN_END
        assert len(kind) == blocks + 2 and (kind[1:-1] == Kind.READ).all()
        assert mine["size"][0] == pages
        for name in ("count", "size", "speed"):
            assert mine[name][0] > 0 and not mine[name][1:].any()
        # each announced block exactly once, in order
        down = mine["flags"][0] & Flag.BACKWARD
        expected = (first + np.arange(blocks) * (-1 if down else 1)) % pages
        assert np.array_equal(at[1:-1], expected)
        assert at[-1] == at[-2]
        assert len(set(mine["backend"])) == 1
        assert len(set(relation(mine["page"]))) == 1
        # at the speed announced, within the rounding to microseconds
        pace = np.arange(blocks) * 1e6 / mine["speed"][0]
        assert np.abs(time[1:-1] - time[0] - pace).max() <= 2 + 1e-6 * pace[-1]
        assert time[-1] - time[0] == pytest.approx(blocks * 1e6 / mine["speed"][0], abs=2, rel=1e-6)
        scans[int(number)] = mine
    return scans


def wraps(scan: Columns) -> bool:
    """Whether a scan goes over an end of its table."""
    return bool((np.abs(np.diff(block(scan["page"]))) > 1).any())


def spans(scans: dict[int, Columns]) -> dict[int, list[tuple[int, int]]]:
    """Return when each backend scans: begin and end of its scans, in order."""
    by_backend = defaultdict(list)
    for mine in scans.values():
        times = mine["time"].astype(np.int64)
        by_backend[int(mine["backend"][0])].append((int(times[0]), int(times[-1])))
    return {backend: sorted(times) for backend, times in by_backend.items()}


@pytest.mark.parametrize(
    "trace",
    [
        Scan(pages=3000, scans=30, blocks=1000, backends=4, spread=3.0, pause=0.02),
        Scan(pages=3000, scans=5, backends=8, spread=1.0),
        Scan(pages=1, scans=3),
        Scan(pages=129, scans=3, blocks=128),
        Scan(pages=70_000, scans=2, blocks=66_000),  # events come in several pieces
        Scan(pages=3000, scans=30, blocks=1000, backward=True),
        Scan(pages=3001, scans=30, blocks=1000, wrap=True),
        Scan(pages=3001, scans=30, wrap=True, backward=True),
    ],
    ids=lambda trace: trace.name,
)
def test_scan(trace: Scan) -> None:
    events = columns(trace)
    blocks = trace.blocks or trace.pages
    scans = check_scans(events, trace.pages)
    assert all(mine["count"][0] == blocks for mine in scans.values())
    assert any(map(wraps, scans.values())) == trace.wrap
    starts = [int(block(mine["page"])[0]) for mine in scans.values()]
    if trace.backward and not trace.wrap:
        starts = [first - blocks + 1 for first in starts]
    assert not any(first % 128 for first in starts)
    backward = events["flags"][events["kind"] == Kind.SCAN_BEGIN] & Flag.BACKWARD != 0
    assert (backward == trace.backward).all()
    assert sorted(scans) == list(range(1, trace.scans + 1))
    assert (events["scan"] > 0).all()
    speeds = [float(mine["speed"][0]) for mine in scans.values()]
    assert min(speeds) >= trace.speed / trace.spread * 0.999999
    assert max(speeds) <= trace.speed * trace.spread * 1.000001
    times = spans(scans)
    assert len(times) == min(trace.backends, trace.scans)
    for own in times.values():
        for (_, end), (begin, _) in pairwise(own):
            assert -1 <= begin - end <= 2e6 * trace.pause + 1


def test_scans_vary() -> None:
    trace = Scan(pages=100_000, scans=200, blocks=128, backends=4, spread=4.0, pause=0.1)
    scans = check_scans(columns(trace), 100_000)
    assert len({int(block(mine["page"])[0]) for mine in scans.values()}) > 150
    octaves = [math.log2(mine["speed"][0] / trace.speed) for mine in scans.values()]
    assert abs(np.mean(octaves)) < 0.4 and min(octaves) < -1.8 and max(octaves) > 1.8
    own = spans(scans).values()
    gaps = [begin - end for t in own for (_, end), (begin, _) in pairwise(t)]
    assert np.mean(gaps) == pytest.approx(0.1e6, rel=0.2)
    assert len({begin for t in own for begin, _ in t[:1]}) == 4  # out of step


def test_oltp_scan() -> None:
    trace = OltpScan(
        pages=3000,
        length=150_000,
        alpha=0.8,
        update_fraction=0.4,
        backends=5,
        rate=10_000.0,
        scanners=3,
        scan_blocks=700,
        scan_speed=2000.0,
        scan_interval=0.5,
    )
    events = columns(trace)
    scans = check_scans(events, 3000)
    points = events["scan"] == 0
    backends = events["backend"][points]
    assert fits(np.bincount(backends, minlength=6)[1:], np.ones(5))
    assert not events["flags"][points].any()
    writes = events["kind"][points] == Kind.WRITE
    assert is_near(writes.mean(), 0.4, points.sum())

    counts = np.sort(np.bincount(block(events["page"][points]), minlength=3000))[::-1]
    probabilities = np.arange(1, 3001) ** -0.8
    probabilities /= probabilities.sum()
    for rank in range(3):  # so different that ranks by count are ranks
        assert is_near(counts[rank] / points.sum(), probabilities[rank], points.sum())

    # one scan of each scanner in each interval, and as many intervals as fit
    seconds = events["time"][-1] / 1e6
    assert seconds == pytest.approx(points.sum() / 10_000, rel=0.01)
    times = spans(scans)
    assert sorted(times) == [6, 7, 8]
    for own in times.values():
        assert len(own) == int(points.sum() / 10_000 / 0.5)
        for interval, (begin, end) in enumerate(own):
            assert interval * 0.5e6 - 1 <= begin and end <= (interval + 1) * 0.5e6 + 1
        assert len({begin % 500_000 for begin, _ in own}) > 1
    assert len(scans) == sum(map(len, times.values()))


def test_oltp_scan_back_to_back() -> None:
    trace = OltpScan(
        pages=2000,
        length=50_000,
        update_fraction=0.0,
        scanners=1,
        scan_blocks=500,
        scan_speed=20_000.0,
        scan_interval=0.0,
    )
    events = columns(trace)
    (own,) = spans(check_scans(events, 2000)).values()
    for (_, end), (begin, _) in pairwise(own):
        assert abs(begin - end) <= 1
    # scans as fast as the points: half of the references
    assert (events["scan"] > 0).mean() == pytest.approx(0.5, abs=0.02)
    assert not (events["kind"] == Kind.WRITE).any()


def test_oltp_scan_without_scans() -> None:
    events = columns(OltpScan(pages=100, length=1000, scanners=0))
    assert not events["scan"].any()


def test_oltp_scan_repeats() -> None:
    trace = OltpScan(pages=1000, length=30_000, scanners=0, repeats=3, backends=4)
    events = columns(trace)
    for backend in range(1, 5):
        mine = events["backend"] == backend
        length = mine.sum() // 4 * 4
        page = events["page"][mine][:length].reshape(-1, 4)
        flags = events["flags"][mine][:length].reshape(-1, 4)
        assert (page == page[:, :1]).all()
        assert (flags == [0, Flag.CORRELATED, Flag.CORRELATED, Flag.CORRELATED]).all()


# ---- TPC-H-like


def test_tpch_scans() -> None:
    trace = TpchScans(
        pages=10_000, streams=30, queries=10, selectivity=0.2, speed=500.0, factor=3.0
    )
    events = columns(trace)
    scans = check_scans(events, 10_000)
    assert sorted(scans) == list(range(1, 301))
    assert {int(mine["count"][0]) for mine in scans.values()} == {2000}
    speeds = [float(mine["speed"][0]) for mine in scans.values()]
    assert set(speeds) == {500.0, 1500.0}
    assert is_near(np.mean(np.array(speeds) == 500.0), 0.5, 300)
    starts = np.array([block(mine["page"])[0] for mine in scans.values()])
    assert fits(np.bincount(starts * 8 // 8001, minlength=8), np.ones(8))
    # a closed loop: all streams begin at 0, each query when the one before ends
    own = spans(scans)
    assert sorted(own) == list(range(1, 31))
    for times in own.values():
        assert len(times) == 10 and times[0][0] == 0
        assert all(abs(begin - end) <= 1 for (_, end), (begin, _) in pairwise(times))


def test_more_streams_leave_the_others_as_they_are() -> None:
    few = columns(TpchScans(pages=1000, streams=2, queries=3))
    more = columns(TpchScans(pages=1000, streams=4, queries=3))
    for backend in (1, 2):
        for name in ("page", "time", "kind", "speed"):
            assert np.array_equal(
                few[name][few["backend"] == backend], more[name][more["backend"] == backend]
            )


def test_tpch_scans_of_block_groups() -> None:
    parameters = {"pages": 1000, "streams": 3, "queries": 5, "selectivity": 0.3, "seed": 3}
    ranges = check_scans(columns(TpchScans(**parameters)), 1000)
    trace = TpchScans(**parameters, bitmap=True)
    (chunk,) = trace.chunks()
    found = columns(trace)
    assert (found["flags"] == Flag.BITMAP).all()
    assert len(chunk.bitmaps) == 15
    for row, bitmap in chunk.bitmaps.items():
        scan = int(found["scan"][row])
        reads = (found["scan"] == scan) & (found["kind"] == Kind.READ)
        wanted = block(ranges[scan]["page"])[1:-1]
        groups = sorted({b // 128 for b in wanted.tolist()})
        blocks = [b for group in groups for b in range(group * 128, min(1000, group * 128 + 128))]
        assert block(found["page"][reads]).tolist() == blocks
        assert found["count"][row] == len(blocks) and found["size"][row] == 1000
        assert [i for i in range(8 * len(bitmap)) if bitmap[i // 8] >> i % 8 & 1] == groups


def test_tpch_scans_that_meet() -> None:
    parameters = {"pages": 1000, "streams": 6, "queries": 5, "selectivity": 0.3, "seed": 3}
    alone, met = (columns(TpchScans(**parameters, meet=meet)) for meet in (False, True))
    moved = 0
    for scan in range(1, 31):
        plain, own = (
            {name: column[events["scan"] == scan] for name, column in events.items()}
            for events in (alone, met)
        )
        for name in ("time", "kind", "backend", "count", "speed"):
            assert np.array_equal(own[name], plain[name])
        blocks, first = block(plain["page"])[1:-1], block(own["page"])[0]
        assert (own["low"][0], own["size"][0]) == (blocks[0], 300)
        turn = int(first - blocks[0])
        assert block(own["page"])[1:-1].tolist() == np.roll(blocks, -turn).tolist()
        moved += turn > 0
    assert moved > 10
    with pytest.raises(TraceError, match="cannot meet"):
        TpchScans(bitmap=True, meet=True)


# ---- dynZipfRO


def dynzipf_parts(trace: DynZipfRo) -> tuple[Columns, Columns, dict[int, Columns]]:
    events = columns(trace)
    points = {name: column[events["scan"] == 0] for name, column in events.items()}
    return events, points, check_scans(events, trace.pages)


def test_dynzipf() -> None:
    parameters = {"pages": 3000, "scans": 90, "blocks": 1001, "alpha": 1.0, "phase": 20_000}
    events, points, scans = dynzipf_parts(DynZipfRo(**parameters, turnover=0.3, rate=5000.0))
    lengths = [int(mine["count"][0]) for mine in scans.values()]
    assert min(lengths) >= 501 and max(lengths) <= 1501
    assert np.mean(lengths) == pytest.approx(1001, rel=0.1)
    assert len(points["page"]) == sum(lengths), "half are point reads"
    assert (points["kind"] == Kind.READ).all()
    # in any part of the trace
    reads = events["kind"] == Kind.READ
    halves = [part.mean() for part in np.array_split(events["scan"][reads] > 0, 10)]
    assert max(abs(half - 0.5) for half in halves) < 0.02
    (own,) = spans(scans).values()
    assert all(abs(begin - end) <= 1 for (_, end), (begin, _) in pairwise(own)), "one at a time"

    # Zipf in each phase; 30 % of the pages have other ranks in the next one
    at = block(points["page"])
    shares = np.arange(1, 3001) ** -1.0
    hottest = []
    for begin in range(0, 80_000, 20_000):
        counts = np.bincount(at[begin : begin + 20_000], minlength=3000)
        expected = shares / shares.sum() * 20_000
        assert np.sort(counts)[::-1][:5] == pytest.approx(expected[:5], rel=0.12)
        hottest.append(set(np.argsort(-counts)[:100].tolist()))
    kept = [len(a & b) for a, b in pairwise(hottest)]
    assert all(45 <= n <= 85 for n in kept)


def test_dynzipf_without_turnover_never_changes() -> None:
    at = block(columns(DynZipfRo(pages=1000, scans=90, blocks=600, turnover=0.0))["page"])
    other = block(columns(DynZipfRo(pages=1000, scans=90, blocks=600, phase=1000))["page"])
    assert not np.array_equal(at, other)
    events = columns(DynZipfRo(pages=1000, scans=90, blocks=600, turnover=0.0, phase=1000))
    assert np.array_equal(block(events["page"]), at)


def test_dynzipf_cs_is_the_same_interleaved() -> None:
    parameters = {"pages": 5000, "scans": 60, "blocks": 500, "phase": 5000, "seed": 9}
    _, points, scans = dynzipf_parts(DynZipfRo(**parameters))
    trace = DynZipfRoCs(**parameters, at_once=6)
    _, other_points, other_scans = dynzipf_parts(trace)
    assert np.array_equal(points["page"], other_points["page"])
    assert np.array_equal(points["time"], other_points["time"])
    assert sorted(scans) == sorted(other_scans)
    for number, mine in scans.items():
        assert np.array_equal(mine["page"], other_scans[number]["page"])
        assert other_scans[number]["speed"][0] == pytest.approx(mine["speed"][0] / 6)
    assert trace_info(trace).scans.at_once == 6
    own = spans(other_scans)
    assert len(own) == 6
    for times in own.values():
        assert all(abs(begin - end) <= 1 for (_, end), (begin, _) in pairwise(times))


# ---- Redset-like


@pytest.mark.parametrize("variant", ["A", "B"])
def test_redset_like(variant: str) -> None:
    trace = RedsetLike(variant=variant, queries=2000, pages=20_000, concurrency=8.0, speed=1e5)
    events = columns(trace)
    tables = relation(events["page"])
    begins = events["kind"] == Kind.SCAN_BEGIN
    sizes = dict(zip(tables[begins].tolist(), events["size"][begins].tolist(), strict=True))
    harmonic = sum(1 / i for i in range(1, 13))
    assert sizes == {i: int(20_000 / i / harmonic) for i in range(1, 13)}
    for table, size in sizes.items():
        mine = {name: column[tables == table] for name, column in events.items()}
        check_scans(mine, size)
    share = events["count"][begins] / events["size"][begins]
    counts = np.bincount(tables[begins], minlength=13)[1:]
    if variant == "A":
        assert is_near((share >= 0.29).mean(), 0.5, 2000) and (share[share < 0.29] < 0.011).all()
        hot = counts > 2000 * 0.15 / 12 * 2
        assert sum(sizes[int(t) + 1] for t in np.flatnonzero(hot)) <= 20_000 / 3
        expected = 0.85 + 0.15 * hot.mean()
        assert is_near(counts[hot].sum() / 2000, expected, 2000)
    else:
        assert share.min() > 0.59 and share.max() <= 1.0
        assert fits(counts, np.ones(12))
    speeds = events["speed"][begins]
    assert speeds.min() >= 1e5 / 4 * 0.999999 and speeds.max() <= 1e5 * 4 * 1.000001
    # the mean number of queries that run
    seconds = (events["count"][begins] / speeds).sum()
    assert seconds / (events["time"][-1] / 1e6) == pytest.approx(8, rel=0.1)
