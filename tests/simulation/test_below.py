"""SSD tiers below a server: fed with a recording's physical reads and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation import naive_ssd
from tidepool.errors import TidepoolError, TraceError
from tidepool.simulation import Ssd, parse_device, parse_ssd_policy, simulate_below
from tidepool.simulation.below import (
    FollowingTier,
    measured_disk,
    measured_ssd,
    reads_and_writes,
    replay_recorded_ssd,
)
from tidepool.simulation.events import Events, positioned
from tidepool.simulation.ssd import Tier
from tidepool.traces import Chunk, Flag, InMemoryTrace, Kind, Recorded, page_number
from tidepool.traces.columns import take
from tidepool.traces.provenance import ReadTime, ReadTimes, RecordedSsd

RAN = RecordedSsd("lru", "", 4, 8, 0, 1024, 256, 100.0, 0.0, True)
SERVER = Recorded("18.6", "clock", "", 1, 128, 1, 1, 1.0, dropped=0, physical=True, ssd=RAN)
DISK, DEVICE = parse_device("network:100,10,70,7"), parse_device("network:5,5,3,3")

Row = tuple[Kind, int, int, int]  # kind, block, count, flags


def trace_of(
    rows: Sequence[Row], recorded: Recorded = SERVER, began: int = 0, **states: bytes
) -> InMemoryTrace:
    """A recording of relation 1 that began at this time; states are named row<N>."""
    columns = list(zip(*rows, strict=True))
    chunk = Chunk(
        page=np.array([page_number(1, block) for block in columns[1]], np.uint64),
        kind=np.array(columns[0], np.uint8),
        count=np.array(columns[2], np.uint32),
        flags=np.array(columns[3], np.uint16),
        time=began + np.arange(len(rows), dtype=np.uint64) * 1000,
        bitmaps={int(name[3:]): text for name, text in states.items()},
    )
    return InMemoryTrace("below", [chunk], recorded=recorded)


def read(block: int, count: int = 1, hit: bool = False, asked: bool = True) -> Row:
    flags = Flag.SSD_ASKED * asked | Flag.HIT * hit
    return Kind.PHYSICAL_READ, block, count, int(flags)


def has(block: int) -> Row:
    return Kind.SSD_HAS, block, 1, 0


def write(block: int, count: int = 1) -> Row:
    return Kind.PHYSICAL_WRITE, block, count, 0


def lost(block: int, count: int = 1) -> Row:
    return Kind.SSD_LOST, block, count, 0


def busy(place: int) -> Row:
    return Kind.SSD_BUSY, 0, place, 0


def freed(place: int) -> Row:
    return Kind.SSD_FREED, 0, place, 0


def relation(number: int) -> Row:
    return Kind.SSD_RELATION, 0, number, 0


def state(pages: int = 4, useful: bool = True, emptied: bool = False) -> bytes:
    members = {"pages": pages, "random_saving": 100, "sequential_saving": 0}
    members |= {"useful": useful, "emptied": emptied}
    return json.dumps(members).encode()


# ---- the server's tier, again ----


def test_a_page_is_read_from_the_ssd_once_its_copy_is_there() -> None:
    rows = [read(1), read(1), has(1), read(1), write(1), read(1), has(1), read(1)]
    assert replay_recorded_ssd(trace_of(rows)).hits == 2


def test_several_blocks_at_once_need_consecutive_frames() -> None:
    rows = [read(1), read(2), has(1), has(2), read(1, 2)]
    free = replay_recorded_ssd(trace_of(rows))
    assert free.hits in (0, 2)  # by the order in which free frames are given out
    apart = replay_recorded_ssd(trace_of([read(1), read(9), read(2), has(1), has(2), read(1, 2)]))
    assert apart.hits == 0


def test_pages_that_lost_their_places_are_gone() -> None:
    rows = [read(1), read(2), has(1), has(2), lost(1), read(1), read(2), lost(0, 0), read(2)]
    result = replay_recorded_ssd(trace_of(rows))
    assert result.hits == 1
    assert result.dropped == 0
    assert replay_recorded_ssd(trace_of([read(1), lost(1)])).dropped == 1


def test_a_purse_fills_since_its_time() -> None:
    """An empty purse of ten pages a second has 80 after eight seconds, and asks nothing then."""

    def hits(purse_time: int) -> int:
        ran = replace(RAN, write_budget=10.0, purse=0.0, purse_time=purse_time)
        server = replace(SERVER, ssd=ran)
        trace = trace_of([read(1), has(1), read(1)], server, began=10_000_000)
        return replay_recorded_ssd(trace).hits

    assert hits(2_000_000) == 1
    assert hits(9_000_000) == 0
    assert hits(0) == 0  # an older recording's, of its first event


def test_what_was_written_in_the_day_before_counts() -> None:
    def hits(day_writes: int) -> int:
        ran = replace(RAN, write_budget_per_day=100.0, day_writes=day_writes)
        return replay_recorded_ssd(
            trace_of([read(1), has(1), read(1)], replace(SERVER, ssd=ran))
        ).hits

    assert hits(40) == 1
    assert hits(95) == 0


# pages 0 to 3 in places 0 to 3, of which lru would give up the first
FOUR = [row for block in range(4) for row in (read(block), has(block))]
FULL = [relation(3), *FOUR]


def hits(*rows: Row) -> int:
    return replay_recorded_ssd(trace_of(rows)).hits


def test_pages_of_a_dropped_relation_stay_until_they_are_freed() -> None:
    new = [read(5), has(5), read(6), has(6), read(5, 2)]
    assert hits(*FULL, lost(0, 0), *new) == 2  # they displace the oldest, in places 0 and 1
    assert hits(*FULL, lost(0, 0), freed(3), *new) == 0  # 3 and 0
    assert hits(*FULL, freed(3), *new) == 2  # which is not lost
    assert hits(*FULL, lost(0, 0), freed(1), freed(0), freed(0), freed(9), *new) == 2
    # a recording without numbers does not say when: the last place is the first to be free
    assert hits(*FOUR, lost(0, 0), *new) == 0
    assert hits(*FOUR, lost(0, 0), read(3)) == 0
    # a page of that name that comes later is another
    again = [read(3), has(3), freed(1), freed(2), freed(3), freed(0), read(3)]
    assert hits(*FULL, lost(0, 0), *again) == 1
    assert hits(*FULL, lost(0, 0), read(3)) == 0


def test_places_in_use_are_not_chosen() -> None:
    assert hits(*FULL, read(7), read(0)) == 0
    assert hits(*FULL, read(7), busy(0), read(0)) == 1
    assert hits(*FULL, read(7), busy(0), busy(99), read(1)) == 0
    assert hits(*FULL, read(7), busy(0), busy(1), read(1), read(2)) == 1
    # of that read alone
    assert hits(*FULL, read(7, asked=False), busy(0), read(7), read(0)) == 0
    # also while the page is not there any more
    assert hits(*FULL, lost(0), read(7), read(1)) == 1
    assert hits(*FULL, lost(0), read(7), busy(0), read(1)) == 0


def test_a_page_to_be_kept_takes_the_place_of_one_that_is_gone() -> None:
    block, count, flags = read(0)[1:]
    keep: Row = Kind.PHYSICAL_READ, block, count, flags | Flag.SSD_KEPT
    tier = FollowingTier(trace_of(rows := [*FULL, lost(0, 0), keep, has(0), read(0)]))
    tier.feed(0, *trace_of(rows).chunks())
    assert tier.check() == 0
    assert tier.result().hits == 1


def test_relations_are_known_by_the_servers_numbers() -> None:
    assert hits(relation(2**32 - 1), *FOUR, read(0)) == 1
    # with another number its pages are others
    assert hits(*FULL, relation(4), read(0)) == 0
    assert hits(*FULL, lost(0, 0), relation(4), read(3), has(3), read(3)) == 1


def test_a_write_to_another_fork_leaves_the_copy_alone() -> None:
    rows = [relation(3), read(1), has(1), write(1), read(1)]
    assert hits(*rows) == 0
    (chunk,) = trace_of(rows).chunks()
    pages = chunk.page.copy()
    pages[3] |= np.uint64(1 << 32)
    assert (
        replay_recorded_ssd(
            InMemoryTrace("fork", [replace(chunk, page=pages)], recorded=SERVER)
        ).hits
        == 1
    )


@pytest.mark.parametrize("after", range(1, 4))
def test_what_a_read_found_in_use_may_be_in_the_next_chunk(after: int) -> None:
    rows = [*FULL, read(7), (Kind.READ, 1, 0, 0), busy(0), read(0)]
    (whole,) = trace_of(rows).chunks()
    split = len(FULL) + after
    tier = FollowingTier(trace_of(rows))
    tier.feed(0, take(whole, slice(0, split)))
    tier.feed(split, take(whole, slice(split, None)))
    assert tier.result() == replay_recorded_ssd(trace_of(rows))
    assert tier.result().hits == 1


def test_reads_that_pass_the_tier_by() -> None:
    rows = [read(1), has(1), read(1, asked=False), read(2, asked=False), read(2)]
    result = replay_recorded_ssd(trace_of(rows))
    assert (result.reads, result.hits) == (4, 0)


def test_what_the_server_had_is_counted() -> None:
    rows = [read(1), has(1), read(1, hit=True), read(7, 3, hit=True)]
    result = replay_recorded_ssd(trace_of(rows))
    assert result.recorded_hits == 4 and result.hits == 1


def test_an_ssd_that_is_not_useful_gets_no_page() -> None:
    change = (Kind.SSD, 0, 0, 0)
    rows = [read(1), has(1), change, read(1), read(2), has(2), read(2), change, read(2), has(2)]
    trace = trace_of([*rows, read(2)], row2=state(useful=False), row7=state())
    assert replay_recorded_ssd(trace).hits == 2  # of page 1 meanwhile, of page 2 in the end


def test_sizes_and_emptying() -> None:
    all_of = [read(block) for block in range(4)]
    change = (Kind.SSD, 0, 0, 0)
    smaller = trace_of([*FOUR, change, *all_of], row8=state(pages=2))
    assert replay_recorded_ssd(smaller).hits < 4
    larger = trace_of([change, *FOUR, *all_of], row0=state(pages=8))
    assert replay_recorded_ssd(larger).hits == 4
    emptied = trace_of([*FOUR, change, *all_of], row8=state(emptied=True))
    assert replay_recorded_ssd(emptied).hits == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"{}", "damaged state"), (b"", "damaged state"), (state(pages=9), "larger than it can be")],
)
def test_damaged_states(text: bytes, message: str) -> None:
    trace = trace_of([read(1), (Kind.SSD, 0, 0, 0)], row1=text)
    with pytest.raises(TraceError, match=message):
        replay_recorded_ssd(trace)


@pytest.mark.parametrize("row", [read(1, 2**20), write(1, 2**31), lost(1, 2**32 - 1)])
def test_too_many_blocks(row: Row) -> None:
    with pytest.raises(TraceError, match="blocks: damaged"):
        replay_recorded_ssd(trace_of([row]))


def test_a_tier_that_does_not_fit_into_memory() -> None:
    ran = replace(RAN, pages=2**31, capacity=2**31)
    with pytest.raises(MemoryError, match="GB are needed"):
        FollowingTier(trace_of([read(1)], replace(SERVER, ssd=ran)))


def test_no_tier() -> None:
    for recorded in (replace(SERVER, ssd=None), replace(SERVER, physical=False)):
        with pytest.raises(TidepoolError, match="not recorded by a server with an SSD tier"):
            FollowingTier(trace_of([read(1)], recorded))


def naive_hits(rows: Sequence[Row], policy: str) -> int:
    """What the server does, in plain Python, with a model of the policy."""
    frames = naive_ssd.Frames(parse_ssd_policy(policy), RAN.pages, (100, 0))
    there: set[int] = set()
    coming: set[int] = set()
    hits = 0
    for kind, block, count, flags in rows:
        pages = [page_number(1, block + i) for i in range(count)]
        if kind == Kind.PHYSICAL_READ and flags & Flag.SSD_ASKED:
            places = [frames.frame(p) if p in frames else None for p in pages]
            first = places[0]
            if first is not None and all(
                p in there and place == first + i
                for i, (p, place) in enumerate(zip(pages, places, strict=True))
            ):
                hits += count
                for p in pages:
                    frames.hit(p, naive_ssd.IO(Kind.READ, p))
                continue
            for p in pages:
                if p in frames:
                    continue
                pinned = [frames.frame(q) for q in coming]
                if len(pinned) == RAN.pages:
                    continue
                frame = frames.model.victim(p, pinned, 0)
                if frame is None:
                    continue
                if frame not in frames.model.free:
                    there.discard(frames.model.page[frame])
                    frames.model.evict(frame, 0)
                frames.model.admit(frame, p, 0)
                coming.add(p)
        elif kind == Kind.SSD_HAS and pages[0] in frames:
            coming.discard(pages[0])
            there.add(pages[0])
        for p in pages:
            if kind == Kind.PHYSICAL_WRITE and p in frames:
                there.discard(p)
                coming.add(p)
            elif kind == Kind.SSD_LOST and p in frames:
                there.discard(p)
                coming.discard(p)
                frames.forget(p)
    return hits


blocks = st.integers(0, 7)
events = st.one_of(
    st.builds(read, blocks, st.integers(1, 3), st.booleans()),
    st.builds(has, blocks),
    st.builds(has, blocks),
    st.builds(write, blocks, st.integers(1, 2)),
    st.builds(lost, blocks, st.integers(1, 2)),
)


@pytest.mark.parametrize("policy", ["lru", "fifo", "arc"])
@given(rows=st.lists(events, min_size=1, max_size=60))
@settings(deadline=None)
def test_any_recording_is_followed_as_a_naive_server_would(policy: str, rows: list[Row]) -> None:
    # ghosts are as many as the tier may have frames
    ran = replace(RAN, policy=policy, capacity=RAN.pages)
    trace = trace_of(rows, replace(SERVER, ssd=ran))
    tier = FollowingTier(trace)
    for position, chunk in positioned(trace):
        tier.feed(position, chunk)
        assert tier.check() == 0
    assert tier.result().hits == naive_hits(rows, policy)


kept = st.builds(lambda row: (*row[:3], row[3] | Flag.SSD_KEPT), st.builds(read, blocks))
places = st.integers(0, 8)
numbers = st.builds(relation, st.integers(0, 2))
any_event = st.one_of(
    numbers, events, kept, st.just(lost(0, 0)), st.builds(freed, places), st.builds(busy, places)
)


@pytest.mark.parametrize("policy", ["lru", "tac", "arc"])
@given(rows=st.lists(any_event, min_size=1, max_size=60))
@settings(deadline=None)
def test_any_recording_keeps_the_invariants(policy: str, rows: list[Row]) -> None:
    ran = replace(RAN, policy=policy, keep_share=0.5)
    trace = trace_of(rows, replace(SERVER, ssd=ran))
    tier = FollowingTier(trace)
    for position, chunk in positioned(trace):
        tier.feed(position, chunk)
        assert tier.check() == 0


# ---- other SSDs in its place ----


def test_blocks_become_pages() -> None:
    rows = [read(5, 3), write(9, 2), (Kind.FORGET, 3, 0, 0), has(1), (Kind.READ, 1, 0, 0)]
    (chunk,) = trace_of(rows).chunks()
    found = reads_and_writes(chunk)
    assert found is not None and found.kind is not None and found.count is not None
    pages = [page_number(1, block) for block in (5, 6, 7, 9, 10, 3)]
    assert found.page.tolist() == pages
    assert found.kind.tolist() == [*[Kind.READ] * 3, *[Kind.WRITE] * 2, Kind.FORGET]
    assert found.count.tolist() == [0] * 6
    with pytest.raises(TraceError, match="1,048,576 blocks: damaged"):
        reads_and_writes(next(trace_of([read(1, 2**20)]).chunks()))
    other_fork = replace(chunk, page=chunk.page | np.uint64(1 << 32))
    assert reads_and_writes(other_fork) is None


@pytest.mark.parametrize("policy", ["none", "lru", "tac", "page_temperature", "opt", "opt:by=time"])
@pytest.mark.parametrize("warmup", [0, 150])
def test_simulated_as_a_tier_fed_with_the_same(policy: str, warmup: int) -> None:
    draw = np.random.default_rng(3)
    rows: list[Row] = []
    plain: list[tuple[int, int]] = []
    split = 0
    for i in range(300):
        block, count = int(draw.zipf(1.3)) % 60, int(draw.integers(1, 4))
        if i == warmup:
            split = len(plain)
        rows += [(Kind.READ, block, 0, 0), read(block, count)]
        plain += [(Kind.READ, block + j) for j in range(count)]
        if i % 5 == 0:
            rows.append(write(block))
            plain.append((Kind.WRITE, block))
    ssd = Ssd(parse_ssd_policy(policy), 20, DISK, DEVICE)
    (result,) = simulate_below(trace_of(rows), [ssd], seed=1, warmup=warmup)
    tier = Tier(ssd, 1)
    for part in (plain[:split], plain[split:]):
        if warmup and part is not plain and part == plain[split:]:
            tier.restart()
        if part:
            chunk = Chunk(
                page=np.array([page_number(1, block) for _, block in part], np.uint64),
                kind=np.array([kind for kind, _ in part], np.uint8),
                flags=np.zeros(len(part), np.uint16),
                count=np.zeros(len(part), np.uint32),
            )
            tier.feed(Events(chunk, 0 if part == plain[:split] else split).pointer)
    assert result == tier.result()


def test_no_physical_reads() -> None:
    trace = trace_of([(Kind.READ, 1, 0, 0)], replace(SERVER, physical=False))
    with pytest.raises(TidepoolError, match="has no physical reads and writes"):
        simulate_below(trace, [])


# ---- measured devices ----


def test_devices_as_measured() -> None:
    none = ReadTime(0, 0)
    assert measured_disk(None) is None and measured_ssd(None) is None
    assert measured_disk(ReadTimes(ReadTime(5, 80), none, none)) is None
    both = ReadTimes(none, ReadTime(3, 900.5), ReadTime(8, 40))
    disk = measured_disk(both)
    assert disk is not None and measured_ssd(both) is None
    assert (disk.name, disk.random_read, disk.sequential_read) == ("measured", 900.5, 40)
    one = measured_disk(ReadTimes(none, none, ReadTime(8, 40)))
    assert one is not None and (one.random_read, one.sequential_read) == (40, 40)
    ssd = measured_ssd(ReadTimes(ReadTime(5, 80), none, none))
    assert ssd is not None and ssd.random_read == 80
