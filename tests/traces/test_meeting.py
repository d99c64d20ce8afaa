"""Where scans begin that meet others, against the rule worked out by hand and naively."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool import Scans
from tidepool.errors import TraceError
from tidepool.traces.scans import PlannedScan, closed_loop, meet

MS = 1000.0


def scan(number: int, first: int, count: int, start: float = 0.0, **other: Any) -> PlannedScan:
    return PlannedScan(
        scan=number,
        backend=number,
        relation=other.pop("relation", 1),
        first=first,
        count=count,
        size=10_000,
        speed=other.pop("speed", 1000.0),
        start=start,
        **other,
    )


def begins(*streams: list[PlannedScan]) -> list[int]:
    return [planned.first for stream in meet(streams) for planned in stream]


def test_a_scan_joins_the_one_that_runs() -> None:
    # after 200 ms the first has read its blocks 0 to 199
    first, second = meet([[scan(1, 0, 500)], [scan(2, 100, 300, 200 * MS)]])
    assert first == [replace(scan(1, 0, 500), size=500)]
    assert second == [replace(scan(2, 100, 300, 200 * MS), first=200, low=100, size=300)]


def test_a_scan_begins_at_its_beginning_if_there_is_nothing_to_meet() -> None:
    other = scan(1, 0, 500)
    assert begins([other], [scan(2, 100, 300, 200 * MS, relation=2)]) == [0, 100]
    assert begins([other], [scan(2, 100, 300, 500 * MS)]) == [0, 100], "it is over"
    assert begins([other], [scan(2, 300, 300, 200 * MS)]) == [0, 300], "it has yet to come there"
    assert begins([other], [scan(2, 0, 200, 300 * MS)]) == [0, 0], "it has left"


def test_the_scan_is_met_that_has_most_to_share() -> None:
    def begin(speed: float) -> int:
        late = scan(3, 0, 1000, 900 * MS)
        return begins([scan(1, 0, 1000)], [scan(2, 0, 600, 600 * MS, speed=speed)], [late])[2]

    assert begin(1000.0) == 300, "300 blocks to come, of the other 100"
    assert begin(100.0) == 900, "speeds that differ share less"


def test_one_that_met_is_met_where_it_goes_round() -> None:
    # the second begins at 400, and is at its block 100 when the third asks
    streams = [[scan(1, 0, 500)], [scan(2, 100, 400, 400 * MS)], [scan(3, 0, 450, 510 * MS)]]
    assert begins(*streams) == [0, 400, 110]


@pytest.mark.parametrize("wrong", [{"backward": True}, {"first": 9_950}])
def test_scans_whose_order_is_not_free(wrong: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="can meet"):
        meet([[replace(scan(1, 100, 100), **wrong)]])


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 300), st.integers(1, 200), st.sampled_from([1000.0, 2000.0])),
            min_size=1,
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_begins_are_the_beginning_or_a_position(
    streams: list[list[tuple[int, int, float]]],
) -> None:
    """Each scan reads what it would have, from its beginning or from where another is."""
    planned = [
        list(
            closed_loop(
                scan(10 * i + j + 1, first, count, speed=speed)
                for j, (first, count, speed) in enumerate(stream)
            )
        )
        for i, stream in enumerate(streams)
    ]
    met = meet(planned)
    for before, after in zip(planned, met, strict=True):
        for plain, found in zip(before, after, strict=True):
            assert (found.low, found.size, found.start) == (plain.first, plain.count, plain.start)
            assert sorted(found.blocks(0, found.count)) == list(plain.blocks(0, plain.count))
            positions = {plain.first}
            for other in (one for stream in met for one in stream):
                read = int((plain.start - other.start) * other.speed / 1e6)
                if other.start <= plain.start < other.end and other.scan != plain.scan:
                    positions.add(int(other.blocks(read, read + 1)[0]))
            assert found.first in positions


def test_the_registry_is_asked() -> None:
    scans = Scans()
    running = scans.begin(first=1 << 34 | 5, count=100)
    scans.advance(running, 1 << 34 | 44)
    assert scans.meet(1 << 34 | 20, 60) == 1 << 34 | 45
    assert scans.meet(2 << 34 | 20, 60) == 2 << 34 | 20
    round = scans.begin(first=3 << 34 | 15, count=10, size=10, low=10, speed=1e6)
    assert (scans.next_access(3 << 34 | 10), scans.next_access(3 << 34 | 9)) == (5, float("inf"))
    scans.end(round)
    assert scans.check() == []
