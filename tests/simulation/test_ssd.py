"""Tiers on an SSD against naive ones, and what must hold of them."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.extents import Extents
from simulation import naive, naive_ssd
from simulation.generated import Event, EventTrace, PageTrace, phases, traces, zipf
from simulation.naive_budget import Budget
from tidepool import TidepoolError, parse_policy, policies
from tidepool import simulate as study
from tidepool.simulation import (
    Cell,
    Device,
    Options,
    Ssd,
    SsdResult,
    parse_device,
    parse_ssd_policy,
    simulate,
)
from tidepool.simulation.offline import least_time
from tidepool.simulation.replay import Replay
from tidepool.simulation.sizes import PAGE_BYTES
from tidepool.simulation.ssd import MB, NO_SSD, OPT, Tier
from tidepool.traces import Kind, Trace

DISK = Device("disk", 101.3, 9.1, 83.5, 7.9)
SSD = Device("ssd", 2.0, 0.5, 31.0, 11.0)
SLOW_SSD = Device("slow", 12.0, 0.5, 400.0, 11.0)

# small extents, so that few pages have several, and few reads to an epoch
TAC = "tac:extent=4,window=6,sequential_above=1,aging=3"
BY_PAGE = "page_temperature:extent=4,aging=3,burst=1,sample=3,admit_margin=0.5"
BY_WINDOW = "page_temperature:extent=4,aging=3,streams=off,pages=off,sample=3"
# pages, window, sequential above; per frame, reads of an epoch and of a short one; streams
EXTENTS: dict[str, tuple[int, int, int, float, float, bool]] = {
    TAC: (4, 6, 1, 3, 1, False),
    BY_PAGE: (4, 20, 2, 3, 1, True),
    BY_WINDOW: (4, 20, 2, 3, 0.1, False),
}
SPECS = [*EXTENTS, "tac", "lru", "clock", "arc", "none", "opt", "opt:by=time"]


def run(trace: Trace, memory: str, frames: int, ssd: Ssd, **options: Any) -> SsdResult:
    cell = Cell(parse_policy(memory), frames, 0, ssd)
    result = simulate([(trace, [cell])], Options(**options), workers=1)[0].ssd
    assert result is not None
    return result


def counts_of(result: SsdResult, reads: int, hits: int) -> tuple[Any, ...]:
    assert (result.reads, result.hits) == (reads, hits)
    return (
        result.disk_random_reads,
        result.disk_sequential_reads,
        result.misjudged,
        result.refused,
        result.too_dear,
        result.disk_writes,
        result.ssd_writes,
        result.dropped,
        result.flushed,
        *(pytest.approx(1e6 * time) for time in result.times),
    )


def naive_tier(ssd: Ssd, stream: list[naive_ssd.IO]) -> naive_ssd.Tier:
    text = str(ssd.spec)
    savings = (
        max(0.0, ssd.disk.random_read - ssd.device.random_read),
        max(0.0, ssd.disk.sequential_read - ssd.device.random_read),
    )
    pages, window, above, *epochs, streams = EXTENTS.get(text, (32, 20, 2, 10, 1, False))
    aging, burst = (max(1, int(reads * ssd.frames)) for reads in epochs)
    extents = Extents(pages, window, above, aging, savings, burst, streams)
    common = (
        extents, ssd.frames, ssd.disk, ssd.device, ssd.write_back, ssd.write_buffer,
        ssd.at_eviction,
    )  # fmt: skip
    if ssd.spec.policy == OPT:
        by_time = text == "opt:by=time"
        return naive_ssd.Optimal(None, *common, by_time=by_time, stream=stream)
    if ssd.spec.policy == NO_SSD:
        return naive_ssd.Tier(None, *common)
    return naive_ssd.Tier(naive_ssd.Frames(ssd.spec, ssd.frames, savings), *common)


@pytest.mark.parametrize("spec", SPECS)
@given(
    trace=traces(),
    memory=st.sampled_from(["lru", "clock"]),
    frames=st.integers(1, 4),
    ssd_frames=st.integers(1, 8),
    device=st.sampled_from([SSD, SLOW_SSD]),
    write_back=st.booleans(),
    at_eviction=st.booleans(),
    write_buffer=st.integers(0, 3),
    rate=st.sampled_from([0, 0, 0.1, 0.5, 2.0]),
    per_day=st.sampled_from([0, 0, 3, 10, 40]),
    warmup=st.sampled_from([0, 0, 7, 30]),
    left_out=st.frozensets(st.integers(0, 2), max_size=2),
)
def test_tier_counts_as_the_naive_one(
    spec: str,
    trace: EventTrace,
    memory: str,
    frames: int,
    ssd_frames: int,
    device: Device,
    write_back: bool,
    at_eviction: bool,
    write_buffer: int,
    rate: float,
    per_day: int,
    warmup: int,
    left_out: frozenset[int],
) -> None:
    back = write_back and not spec.startswith("opt")
    limits = (0, 0) if back or spec.startswith("opt") else (rate / 128, per_day / 128)
    late = at_eviction and not spec.startswith("opt")
    ssd = Ssd(parse_ssd_policy(spec), ssd_frames, DISK, device, back, write_buffer, *limits, late)
    if not back and not spec.startswith("opt"):
        ssd = replace(ssd, left_out=left_out)
    cache = {"lru": naive.LRU, "clock": naive.Clock}[memory](frames)
    stream = list(naive_ssd.reads_and_writes(cache, trace.events, late))
    references = sum(event.is_reference for event in trace.events)
    if references <= warmup:
        return
    theirs = naive_tier(ssd, [io for _, io in stream])
    theirs.budget = Budget(128 * limits[0], 128 * limits[1])
    theirs.left_out = ssd.left_out
    counting = warmup == 0
    for before, io in stream:
        if not counting and before >= warmup:
            theirs.restart()
            counting = True
        theirs.feed(io, sorted({event.page for event in trace.events}))
    if not counting:
        theirs.restart()
    counts = theirs.counts
    ours = run(trace, memory, frames, ssd, warmup=warmup)
    reads = counts.random_reads + counts.sequential_reads
    hits = counts.random_hits + counts.sequential_hits
    assert counts_of(ours, reads, hits) == (
        counts.random_reads - counts.random_hits,
        counts.sequential_reads - counts.sequential_hits,
        counts.misjudged,
        counts.refused,
        counts.too_dear,
        counts.random_writes + counts.sequential_writes,
        counts.ssd_writes,
        counts.dropped,
        counts.flushed,
        *astuple(counts)[-4:],
    )


@given(trace=traces(), frames=st.integers(1, 4))
def test_opt_in_memory_reads_what_it_misses_and_writes_what_it_evicts(
    trace: EventTrace, frames: int
) -> None:
    cell = Cell(parse_policy("opt"), frames, 0, Ssd(parse_ssd_policy("lru"), 3))
    result = simulate([(trace, [cell])], workers=1)[0]
    assert result.ssd is not None
    assert (result.ssd.reads, result.ssd.disk_writes) == (result.misses, result.write_backs)


@pytest.mark.parametrize("policy", [policy.name for policy in policies()])
def test_every_policy_serves_on_the_ssd(policy: str) -> None:
    trace = phases(2000, 20000)
    ssd = Ssd(parse_ssd_policy(policy), 400)
    tier = run(trace, "lru", 50, ssd)
    none = run(trace, "lru", 50, Ssd(parse_ssd_policy("none"), 1))
    assert 0 < tier.hits < tier.reads == none.reads
    assert tier.read_time < none.read_time == none.time
    assert none.hits == none.ssd_writes == 0


@given(trace=traces(), frames=st.integers(1, 4), ssd_frames=st.integers(1, 6))
def test_nothing_stays_under_the_bound(trace: EventTrace, frames: int, ssd_frames: int) -> None:
    warmup = sum(event.is_reference for event in trace.events) // 4
    replay = Replay(parse_policy("lru"), frames, options=Options(warmup=warmup))
    tier = replay.attach(Ssd(parse_ssd_policy("opt"), ssd_frames, DISK, SSD))
    position = 0
    for chunk in trace.chunks():
        replay.feed(position, chunk)
        position += len(chunk)
    stream, counted_from = tier.recorded()
    bound = least_time(stream, ssd_frames, DISK, SSD, counted_from)
    for spec in ("none", "lru", "tac", "opt", "opt:by=time"):
        ssd = Ssd(parse_ssd_policy(spec), ssd_frames, DISK, SSD)
        assert run(trace, "lru", frames, ssd, warmup=warmup).time >= bound - 1e-9


def test_the_bound_is_met_where_everything_fits() -> None:
    """No page makes room for another, so that only first reads are the disk's."""
    trace = zipf(200, 5000)
    replay = Replay(parse_policy("lru"), 20)
    tier = replay.attach(Ssd(parse_ssd_policy("opt"), 200, DISK, SSD))
    position = 0
    for chunk in trace.chunks():
        replay.feed(position, chunk)
        position += len(chunk)
    stream, _ = tier.recorded()
    result = tier.result()
    assert least_time(stream, 200, DISK, SSD) == pytest.approx(result.read_time)


def test_opt_reads_least_from_the_disk() -> None:
    trace = zipf(1000, 20000, skew=0.7)
    opt = run(trace, "lru", 50, Ssd(parse_ssd_policy("opt"), 200))
    for policy in ("lru", "arc", "tac", "lirs", "opt:by=time"):
        assert opt.hits >= run(trace, "lru", 50, Ssd(parse_ssd_policy(policy), 200)).hits


def test_opt_by_time_spares_random_reads() -> None:
    """A loop that would fill the SSD with pages that save little, and a few that save much."""
    pages = []
    for lap in range(30):
        pages += range(lap % 2 * 7, 3000)
        pages += [10**6 + 10**4 * ((7 * lap + i) % 20) for i in range(10)]
    trace = PageTrace(pages)
    by_misses, by_time = (
        run(trace, "lru", 5, Ssd(parse_ssd_policy(spec), 20, device=parse_device("network:20,1")))
        for spec in ("opt", "opt:by=time")
    )
    assert by_misses.hits > by_time.hits
    assert by_time.disk_random_reads < by_misses.disk_random_reads / 2
    assert by_time.read_time < 0.7 * by_misses.read_time


def test_cells_that_share_a_memory_do_not_disturb_each_other() -> None:
    trace = phases(2000, 20000)
    ssds = [Ssd(parse_ssd_policy(spec), 300) for spec in ("lru", "tac", "opt", "none")]
    cells = [Cell(parse_policy("clock"), frames, 0, ssd) for frames in (50, 90) for ssd in ssds]
    together = simulate([(trace, cells)], Options(warmup=1000), workers=2)
    for cell, result in zip(cells, together, strict=True):
        assert cell.ssd is not None
        assert result.ssd == run(trace, "clock", cell.frames, cell.ssd, warmup=1000)
        assert result.misses == result.ssd.reads  # type: ignore[union-attr]


def test_invariants_hold_through_drops_and_flushes() -> None:
    events = [
        Event(page % 997, Kind.WRITE if i % 3 == 0 else Kind.READ)
        for i, page in enumerate(int(p) for p in phases(997, 8000).pages)
    ]
    for i in range(0, len(events), 500):
        events.insert(i, Event(i % 900, Kind.FORGET, count=i % 7))
    for write_back, late in product((False, True), repeat=2):
        stream = naive_ssd.reads_and_writes(naive.LRU(20), events, late)
        parts = [io for _, io in stream]
        ssd = Ssd(parse_ssd_policy("tac"), 100, DISK, SLOW_SSD, write_back, 3, at_eviction=late)
        tier = Tier(ssd)
        for begin in range(0, len(parts), 100):
            chunk = parts[begin : begin + 100]
            _feed(tier, begin, chunk)
            assert tier.check() == []
        result = tier.result()
        assert result.flushed > 0 if write_back else result.dropped > 0


def _feed(tier: Tier, position: int, stream: list[naive_ssd.IO]) -> None:
    import numpy as np

    from tidepool.simulation.events import Events
    from tidepool.traces import Chunk

    chunk = Chunk(
        page=np.array([io.page for io in stream], np.uint64),
        kind=np.array([io.kind for io in stream], np.uint8),
        flags=np.array([io.flags for io in stream], np.uint16),
        count=np.array([io.count for io in stream], np.uint32),
    )
    tier.feed(Events(chunk, position).pointer)


def test_pages_come_at_eviction() -> None:
    """An SSD has no page that memory has had since it was read, and both together hold more."""
    trace = zipf(300, 20_000)
    plain = Ssd(parse_ssd_policy("lru"), 50, write_buffer=0)
    early, late = (
        run(trace, "lru", 50, plain),
        run(trace, "lru", 50, replace(plain, at_eviction=True)),
    )
    assert late.hits > early.hits
    assert late.ssd_writes < early.ssd_writes
    cells = [
        Cell(parse_policy("lru"), 50, 0, replace(plain, at_eviction=at_eviction))
        for at_eviction in (False, True, False)
    ]
    together = [result.ssd for result in simulate([(trace, cells)])]
    assert together == [early, late, early]


def test_the_option_says_when_pages_come() -> None:
    def hits(**options: str) -> int:
        result = study(zipf(300, 5000), "lru", 50, ssd_policies="lru", ssd_frames=50, **options)[0]
        assert result.ssd is not None
        assert result.ssd.at_eviction == (options.get("ssd_admit") == "eviction")
        return result.ssd.hits

    assert hits() == hits(ssd_admit="read") < hits(ssd_admit="eviction")
    with pytest.raises(TidepoolError, match="ssd_admit"):
        hits(ssd_admit="never")


# relation 1, of 40 pages, again and again, each time with 400 of relation 2
ROUNDS = 30
MIXED = PageTrace(
    np.tile(np.r_[(1 << 34) + np.arange(40), (2 << 34) + np.arange(400)], ROUNDS).astype(np.uint64)
)


def below_mixed(**wants: Any) -> SsdResult:
    return run(MIXED, "lru", 1, Ssd(parse_ssd_policy("lru"), 50, write_buffer=0, **wants))


def test_relations_are_kept_or_left_out() -> None:
    """Loops of 440 pages have no hit in 50 frames under LRU; one of 40 has all but its first."""
    again = 40 * (ROUNDS - 1)
    assert below_mixed().hits == 0
    assert below_mixed(keep=frozenset([1]), keep_share=0.8).hits == again
    assert below_mixed(keep=frozenset([1]), keep_share=0).hits == 0
    assert below_mixed(left_out=frozenset([2])).hits == again
    assert below_mixed(left_out=frozenset([1, 2])).ssd_writes == 0
    kept = below_mixed(keep=frozenset([1]), keep_share=0.8)
    assert kept.ssd_writes == 40 + 400 * ROUNDS


def test_what_is_kept_is_written_whatever_the_budget_says() -> None:
    dear = {"write_budget_per_day": 30 * PAGE_BYTES / MB}
    assert below_mixed(left_out=frozenset([2]), **dear).ssd_writes < 40
    kept = below_mixed(keep=frozenset([1]), keep_share=0.8, **dear)
    assert kept.hits >= 40 * (ROUNDS - 1)


def test_options_say_what_relations_want() -> None:
    trace = replace(MIXED, relations={1: "public.hot", 2: "public.log"})

    def hits(**options: Any) -> int:
        found = study(trace, "lru", 1, ssd_policies="lru", ssd_frames=50, ssd_buffer=0, **options)
        assert found[0].ssd is not None
        return found[0].ssd.hits

    again = 40 * (ROUNDS - 1)
    assert hits() == 0
    assert hits(ssd_tier="log=none") == hits(ssd_tier={"public.log": "none"}) == again
    assert hits(ssd_tier="hot=keep", ssd_keep_share=0.8) == again
    assert hits(ssd_tier=["hot=none", "log=none", "hot=auto"]) == again
    with pytest.raises(TidepoolError, match='no relation "orders"'):
        hits(ssd_tier="orders=keep")
    with pytest.raises(TidepoolError, match="invalid choice"):
        hits(ssd_tier="hot=always")
    with pytest.raises(TidepoolError, match="invalid share"):
        hits(ssd_tier="hot=keep", ssd_keep_share=2)
    for options in ({"ssd_policies": "opt"}, {"ssd_write": "back"}):
        with pytest.raises(TidepoolError, match="relations have a choice only where"):
            study(
                trace,
                "lru",
                1,
                ssd_frames=50,
                ssd_tier="hot=keep",
                **{"ssd_policies": "lru", **options},
            )


def test_bytes_written() -> None:
    result = run(zipf(300, 3000), "lru", 10, Ssd(parse_ssd_policy("lru"), 50, write_buffer=0))
    assert result.ssd_writes == result.reads - result.hits
    assert result.written_per_tb == pytest.approx(1e12 * result.ssd_writes / result.reads)
    record = result.to_json()
    assert record["bytes_written"] == 8192 * result.ssd_writes
    assert record["time"] == pytest.approx(sum(result.times), abs=1e-5)


@pytest.mark.parametrize(
    "text", ["", "hdd2", "network:", "network:1", "network:1,2,3", "network:0,1", "network:1,x"]
)
def test_devices_that_are_none(text: str) -> None:
    with pytest.raises(TidepoolError):
        parse_device(text)


def test_devices() -> None:
    assert parse_device("network:500,20") == Device("network:500,20", 500, 20, 500, 20)
    assert parse_device("network:5,.2,7,3") == Device("network:5,.2,7,3", 5, 0.2, 7, 3)
    hdd, ssd, nvme = (parse_device(name) for name in ("hdd", "sata-ssd", "nvme"))
    assert hdd.random_read > 100 * ssd.random_read > 100 * nvme.random_read
    assert hdd.random_read > 100 * hdd.sequential_read


@pytest.mark.parametrize("policy", ["lru", "tac", "page_temperature", "arc"])
def test_the_budget_is_kept(policy: str) -> None:
    """No more is written than is allowed; with enough of it nothing changes."""
    trace = zipf(2000, 20_000)  # minutes of random reads
    plain = Ssd(parse_ssd_policy(policy), 60, write_buffer=0)
    free = run(trace, "lru", 10, plain)
    assert free.too_dear == 0
    assert run(trace, "lru", 10, replace(plain, write_budget=1000)) == free
    last = free.ssd_writes
    for share in (0.5, 0.2, 0.05):
        rate = share * free.ssd_writes / free.time * 8192 / MB
        limited = run(trace, "lru", 10, replace(plain, write_budget=rate))
        allowed = share * free.ssd_writes / free.time * (limited.time + 10)
        assert limited.ssd_writes <= max(allowed, 2)
        assert limited.too_dear > 0
        day = run(
            trace,
            "lru",
            10,
            replace(plain, write_budget_per_day=share * free.ssd_writes * 8192 / MB),
        )
        assert 0 < day.ssd_writes <= min(share * free.ssd_writes, last)
        last = day.ssd_writes


def test_of_few_writes_the_warmest_are_made() -> None:
    """Half of the writes buy more than half of what all of them do."""
    trace = zipf(2000, 30_000)
    plain = Ssd(parse_ssd_policy("lru"), 400, write_buffer=0)
    none = run(trace, "lru", 20, replace(plain, spec=parse_ssd_policy("none")))
    free = run(trace, "lru", 20, plain)
    half = run(
        trace,
        "lru",
        20,
        replace(plain, write_budget_per_day=0.5 * free.ssd_writes * 8192 / MB),
    )
    assert half.ssd_writes <= 0.5 * free.ssd_writes
    assert none.time - half.time > 0.6 * (none.time - free.time)


def test_what_does_not_go_together() -> None:
    for spec, back in (("opt", False), ("tac", True)):
        with pytest.raises(TidepoolError, match="write budget is for write-through"):
            Ssd(parse_ssd_policy(spec), 10, write_back=back, write_budget=1)
    with pytest.raises(TidepoolError, match="negative"):
        Ssd(parse_ssd_policy("tac"), 10, write_budget_per_day=-1)
    with pytest.raises(TidepoolError, match="writes through"):
        Ssd(parse_ssd_policy("opt"), 10, write_back=True)
    with pytest.raises(TidepoolError, match="takes pages when they are read"):
        Ssd(parse_ssd_policy("opt"), 10, at_eviction=True)
    for spec, back in (("opt", False), ("tac", True)):
        with pytest.raises(TidepoolError, match="relations have a choice only where"):
            Ssd(parse_ssd_policy(spec), 10, write_back=back, keep=frozenset([1]))
    with pytest.raises(TidepoolError, match="both"):
        Ssd(parse_ssd_policy("tac"), 10, keep=frozenset([1]), left_out=frozenset([1, 2]))
    with pytest.raises(TidepoolError, match="no share"):
        Ssd(parse_ssd_policy("tac"), 10, keep_share=1.5)
    late = Ssd(parse_ssd_policy("tac"), 10, at_eviction=True)
    with pytest.raises(TidepoolError, match="does not say when a page leaves"):
        run(zipf(100, 1000), "opt", 10, late)
    ssd = Ssd(parse_ssd_policy("tac"), 10)
    with pytest.raises(TidepoolError, match="one size"):
        run(zipf(100, 1000), "lru", 10, ssd, resize=((5, 20),))
