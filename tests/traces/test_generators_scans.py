"""The generators that scan: scans well formed, in their time and beside point references."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from tidepool.traces.generators import OltpScan, Scan
from tidepool.traces.model import Flag, Kind
from traces.generated import Columns, block, columns, fits, is_near, relation


def check_scans(events: Columns, pages: int, blocks: int) -> dict[int, Columns]:
    """Assert that all scans are well formed; return each one's events."""
    of_scan = events["scan"] > 0
    sequential = (events["flags"] & Flag.SEQUENTIAL) != 0
    assert np.array_equal(sequential, of_scan & (events["kind"] == Kind.READ))
    assert set(np.unique(events["kind"][~of_scan])) <= {Kind.READ, Kind.WRITE}
    scans = {}
    for number in np.unique(events["scan"][of_scan]):
        mine = {name: column[events["scan"] == number] for name, column in events.items()}
        kind, at, time = mine["kind"], block(mine["page"]), mine["time"].astype(np.int64)
        assert kind[0] == Kind.SCAN_BEGIN and kind[-1] == Kind.SCAN_END
        assert set(kind[1:-1]) <= {Kind.READ, Kind.SCAN_ADVANCE}
        first = at[0]
        assert mine["count"][0] == blocks and not mine["count"][1:].any()
        assert mine["speed"][0] > 0 and not mine["speed"][1:].any()
        assert first % 128 == 0 and first + blocks <= pages
        # each announced block exactly once, in order
        assert np.array_equal(at[kind == Kind.READ], np.arange(first, first + blocks))
        # each block group announced just before its first block
        (advances,) = np.nonzero(kind == Kind.SCAN_ADVANCE)
        assert np.array_equal(at[advances], np.arange(first + 128, first + blocks, 128))
        assert np.array_equal(at[advances + 1], at[advances])
        assert len(set(mine["backend"])) == 1
        assert len(set(relation(mine["page"]))) == 1
        # at the speed announced, within the rounding to microseconds
        pace = np.arange(blocks) * 1e6 / mine["speed"][0]
        assert np.abs(time[kind == Kind.READ] - time[0] - pace).max() <= 2 + 1e-6 * pace[-1]
        assert time[-1] - time[0] == pytest.approx(blocks * 1e6 / mine["speed"][0], abs=2, rel=1e-6)
        scans[int(number)] = mine
    return scans


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
    ],
    ids=lambda trace: trace.name,
)
def test_scan(trace: Scan) -> None:
    events = columns(trace)
    blocks = trace.blocks or trace.pages
    scans = check_scans(events, trace.pages, blocks)
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
    scans = check_scans(columns(trace), 100_000, 128)
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
    scans = check_scans(events, 3000, 700)
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
    (own,) = spans(check_scans(events, 2000, 500)).values()
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
