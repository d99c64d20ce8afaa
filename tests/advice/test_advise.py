"""The right advice where it is known by construction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from advice.recorded import interleaved, loop, page, recording, sampled, uniform, zipf
from tidepool.advice import Report, Request, advise
from tidepool.advice.evidence import prepare
from tidepool.advice.pools import tried_pools
from tidepool.advice.prices import prices
from tidepool.advice.report import NEEDS
from tidepool.advice.setups import Setup
from tidepool.advice.study import LEAST, Study
from tidepool.errors import TidepoolError
from tidepool.policies import parse_policy
from tidepool.simulation.devices import HDD, NVME, SATA_SSD
from tidepool.traces import Flag, InMemoryTrace
from tidepool.traces.columns import select
from tidepool.traces.provenance import RecordedPool

SSD = Request(SATA_SSD)
DISK = Request(HDD)


def kinds(report: Report) -> list[str]:
    return [each.kind for each in report.advice]


def oltp_beside_reports(length: int = 60_000, blocks: int = 1500) -> InMemoryTrace:
    """Point reads of a table, and scans round and round another one three times the buffers."""
    pages, backends = interleaved(
        [(1, zipf(1, 700, length)), (2, loop(2, blocks, length)), (3, zipf(1, 700, length, 7))]
    )
    return recording(pages, backends)


def test_another_algorithm_where_a_scan_thrashes() -> None:
    report = advise([oltp_beside_reports()], SSD)
    best = report.recommended
    assert best is not None
    assert best.share > 0.1
    assert best.errors.sampling == best.errors.agreement == 0
    assert best.reads is not None and best.reads < report.where.reads
    assert report.where.read_ms - best.read_ms == pytest.approx(best.gain_ms)
    assert best.halves is not None and min(best.halves) > LEAST
    assert any(line.startswith("bufferpool.algorithm") for line in best.lines.settings)


def test_a_fence_where_a_cheap_table_takes_the_room_of_a_dear_one() -> None:
    """On a disk a scan's page costs 1/260 of a point read's: no algorithm knows that."""
    length = 60_000
    pages, backends = interleaved(
        # the scanned table just fits, so algorithms keep it
        [(1, uniform(1, 800, length // 4)), (2, loop(2, 420, length))]
    )
    report = advise([recording(pages, backends)], DISK)
    assert report.recommended is not None and report.recommended.kind == "pools"
    advice = report.recommended
    assert advice.share > 0.2
    (create, *assigned) = advice.lines.sql
    assert create.startswith("CREATE BUFFER POOL ")
    relation = "public.report" if "fenced" in create else "public.oltp"
    assert assigned == [f"ALTER TABLE {relation} SET (buffer_pool = '{create.split()[3]}');"]
    assert "bufferpool.max_pools = 16" in advice.lines.settings or any(
        line.startswith("shared_preload_libraries") for line in advice.lines.settings
    )
    names = {each.name: each for each in advice.relations}
    assert names["public.oltp"].after_ms < names["public.oltp"].before_ms


def test_nothing_where_all_pages_are_alike() -> None:
    report = advise([recording(uniform(1, 4000, 60_000))], SSD)
    assert report.by_settings is None
    assert "algorithm" not in kinds(report) and "pools" not in kinds(report)


def test_nothing_where_hits_are_what_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithms that save reads, but less time than their hits cost."""
    measured = prices()
    costly = {name: replace(price, lookups=5.0) for name, price in measured.items()}
    costly["clock"] = replace(measured["clock"], lookups=0.0)
    monkeypatch.setattr("tidepool.advice.prices.prices", lambda: costly)
    length = 200_000
    pages, backends = interleaved([(1, zipf(1, 400, length)), (2, loop(2, 600, length // 50))])
    trace = recording(pages, backends)
    # a device so fast that only hits matter; the same misses on a disk do matter
    fast = replace(NVME, name="fast", random_read=0.5, sequential_read=0.5)
    on_fast, on_disk = (advise([trace], Request(device)) for device in (fast, HDD))
    assert on_fast.where.hit_ratio > 0.97
    assert on_fast.by_settings is None
    assert on_disk.where.reads == on_fast.where.reads
    assert on_disk.by_settings is not None  # so there was something to save


# ---- less memory ----


def hot_set_and_flood(flood: int, **recorded: Any) -> InMemoryTrace:
    """References to 30 pages, and so many to a table in which hardly one is found again."""
    streams = [(1, uniform(1, 30, 3 * flood)), (2, uniform(2, 1_000_000, flood))]
    return recording(*interleaved(streams), **recorded)


def minute_of_a_warm_server() -> InMemoryTrace:
    """References to 30 pages after some to 480, which are as resident."""
    trace = recording(np.concatenate([uniform(1, 480, 20_000), uniform(1, 30, 5000)]))
    (chunk,) = trace.chunks()
    return InMemoryTrace(
        trace.name, [select(chunk, np.arange(25_000) >= 20_000, 0)], recorded=trace.recorded
    )


def test_memory_that_does_nothing_can_be_given_back() -> None:
    report = advise([hot_set_and_flood(1600)], Request(NVME))
    (size,) = report.advice
    assert size.kind == "size" and size.gives_back
    assert size.title.startswith("lower shared_buffers from 3.91 MB to ")
    (setting,) = size.lines.settings
    assert 30 <= int(setting.split("'")[1].removesuffix("kB")) // 8 <= 200
    assert size.share > -0.01


@pytest.mark.parametrize(
    "trace",
    [
        recording(uniform(1, 50, 1)),
        recording(page(1, np.arange(900) % 3)),
        recording(uniform(1, 300, 40_000), frames=4000),  # all that is used is resident
        recording(page(1, np.arange(3000) // 2), frames=4000),  # each page is new
        minute_of_a_warm_server(),
        hot_set_and_flood(1400),
    ],
    ids=["one reference", "three pages", "oversized", "cold", "warm", "nearly enough"],
)
def test_nothing_is_given_back_that_may_be_wanted_later(trace: InMemoryTrace) -> None:
    """Resident pages that were not referenced are unknown, as long as they may be resident."""
    report = advise([trace], Request(NVME))
    assert report.advice == ()
    withheld = "of the buffers would have been enough for the recorded references"
    assert any(withheld in note for note in report.notes)


def test_what_goes_through_rings_replaces_nothing() -> None:
    """A minute in which a large table is scanned says nothing of what else is resident."""
    length = 20_000
    pages, backends = interleaved([(1, uniform(1, 30, length)), (2, loop(2, 50_000, length))])
    flags = np.where(backends == 2, Flag.SEQUENTIAL, 0).astype(np.uint16)
    trace = recording(pages, backends, flags=flags)
    (chunk,) = trace.chunks()
    assert chunk.flags is not None
    chunk.flags[backends == 2] &= ~np.uint16(Flag.HIT)
    report = advise([trace], Request(NVME))
    assert not any(each.gives_back for each in report.advice)
    assert any(note.startswith("too short: 30 pages were read into 500") for note in report.notes)


def test_only_of_the_clock_is_known_what_it_has_evicted() -> None:
    report = advise([hot_set_and_flood(10_000, algorithm="lru")], Request(NVME))
    assert report.advice == ()
    assert any("Only a recording under the clock can show it" in note for note in report.notes)


@pytest.mark.parametrize(("replaced", "resident"), [(1, 100), (3, 0)])
def test_what_the_clock_keeps_of_pages_without_references(replaced: int, resident: int) -> None:
    """Pages that were referenced often stay while others replace each other."""
    frames, hot = 500, np.arange(100)
    flood = len(hot) + np.arange(replaced * frames)
    pages = page(1, np.concatenate([np.tile(hot, 6), flood, hot]))
    (chunk,) = recording(pages, frames=frames).chunks()
    assert chunk.flags is not None
    assert np.count_nonzero(chunk.flags[-len(hot) :] & Flag.HIT) == resident


def test_no_report_raises_and_lowers_the_memory() -> None:
    """A loop that does not fit: less memory would lose nothing, but more gains all."""
    for trace in (recording(loop(1, 700, 60_000)), oltp_beside_reports()):
        report = advise([trace], SSD)
        assert any(each.kind == "size" for each in report.advice)
        assert not any(each.gives_back for each in report.advice)
        assert not any("would have been enough" in note for note in report.notes)


def test_more_memory_where_a_loop_just_does_not_fit() -> None:
    report = advise([recording(loop(1, 700, 60_000), frames=500)], SSD)
    size = next(each for each in report.advice if each.kind == "size")
    assert size.price.memory == pytest.approx(250 * 8192)
    assert size.lines.settings == ("shared_buffers = '6000kB'",)
    assert size.share > 0.9
    little = advise([recording(loop(1, 700, 60_000))], replace(SSD, memory=600))
    assert all(each.kind != "size" or each.gives_back for each in little.advice)
    assert [line.frames for line in little.sizes if 500 < line.frames < 625] == [600]


def test_settings_come_before_hardware() -> None:
    """Then what saves most after its price; the first is what is recommended."""
    for trace in (oltp_beside_reports(), recording(uniform(1, 1200, 30_000))):
        report = advise([trace], DISK)
        assert report.recommended is report.advice[0]
        order = [
            (NEEDS.index(each.needs), each.price.hits_ms - each.gain_ms) for each in report.advice
        ]
        assert order == sorted(order)
        groups = {each.needs for each in report.advice}
        assert groups == {"settings", "hardware"} if report.by_settings else {"hardware"}


def test_a_table_of_sizes() -> None:
    report = advise([oltp_beside_reports()], SSD)
    assert [line.here for line in report.sizes].count(True) == 1
    assert (report.sizes[0].factor, report.sizes[-1].factor) == (0.1, 2.0)
    here = next(line for line in report.sizes if line.here)
    assert here.today.reads == report.where.reads
    assert here.today.read_ms == pytest.approx(report.where.read_ms)
    for line in report.sizes:
        assert line.best.reads <= 1.05 * line.today.reads
    reads = [line.today.reads for line in report.sizes]
    assert reads[0] > reads[-1]


def test_an_ssd_below_a_slow_disk() -> None:
    trace = recording(zipf(1, 6000, 120_000))
    report = advise([trace], DISK)
    ssd = next(each for each in report.advice if each.kind == "ssd")
    assert ssd.share > 0.3
    assert ssd.price.ssd % 8192 == 0 and ssd.price.memory > 0
    assert ssd.lines.settings[-1].startswith("bufferpool.ssd_size = '")
    assert "ssd" not in kinds(advise([trace], Request(NVME)))


def test_what_goes_through_a_ring_is_no_algorithms() -> None:
    """Scans of a table larger than a quarter of the buffers: only pbm keeps their pages."""
    length = 30_000
    pages, backends = interleaved([(1, uniform(1, 400, length)), (2, loop(2, 600, length))])
    flags = np.where(backends == 2, Flag.SEQUENTIAL, 0).astype(np.uint16)
    # the server found none of the scanned pages, since they were in a ring
    trace = recording(pages, backends, flags=flags)
    (chunk,) = trace.chunks()
    assert chunk.flags is not None
    chunk.flags[backends == 2] &= ~np.uint16(Flag.HIT)
    prepared = prepare(trace, 1.0)
    study = Study([prepared], SATA_SSD)
    scanned = study.today.replayed.relations[2].sum()
    assert scanned == length
    lirs, pbm = (replace(study.setup, spec=parse_policy(name)) for name in ("lirs", "pbm"))
    assert 2 in lirs.ringed(prepared) and not pbm.ringed(prepared)
    (verdict,) = study.tried("", [lirs])
    assert verdict.outcome.relations[2].sum() == length
    # nor are they in rings where four times the table fits
    large = study.tried("", [replace(study.setup, frames=2400)])[0]
    assert large.outcome.relations[2].sum() == 600


def test_a_sample_finds_the_same_with_an_error() -> None:
    trace = oltp_beside_reports(150_000, 6000)
    whole = advise([recording_of(trace, 2000)], SSD)
    sample = advise([recording_of(trace, 2000)], replace(SSD, rate=0.3))
    assert sample.sample_rate == 0.3
    assert whole.where.reads == sample.where.reads  # the server's own count
    shares = {each.algorithm: each.share for each in whole.tried}
    for each in sample.tried:
        assert each.share == pytest.approx(shares[each.algorithm], abs=0.08), each.algorithm
    assert any(each.errors.sampling > 0 for each in sample.advice) or not sample.advice


def test_one_percent_of_the_pages_is_enough() -> None:
    """Gains from 1 % are within a point or so of those from all pages, as they say."""
    length = 1_500_000
    pages, backends = interleaved(
        [(1, zipf(1, 150_000, length)), (2, loop(2, 60_000, length // 2))]
    )
    trace = recording(pages, backends, frames=50_000)
    setups = [Setup(parse_policy(name), 50_000) for name in ("arc", "lirs")]
    whole, sample = (
        Study([prepare(trace, rate)], SATA_SSD).tried("", setups) for rate in (1.0, 0.01)
    )
    for exact, estimate in zip(whole, sample, strict=True):
        error = estimate.gain.errors.sampling
        assert exact.gain.share > 0.1
        assert 0.003 < error < 0.02
        assert abs(estimate.gain.share - exact.gain.share) < 3 * error


@pytest.mark.parametrize("rate", [0.1, 0.01])
def test_a_recorded_sample_finds_the_same(rate: float) -> None:
    """Reads ahead among it: on a disk they would take a hundred times as long as random ones."""
    length = 200_000
    streams = [(1, zipf(1, 60_000, length)), (2, loop(2, 60_000, length))]
    pages, backends = interleaved(streams)
    whole = recording(pages, backends, frames=30_000)
    study, part = (
        Study([prepare(trace, 1.0)], HDD) for trace in (whole, sampled(whole, rate, seed=5))
    )
    assert part.today.rate == rate
    assert part.today.reads == pytest.approx(study.today.reads, rel=0.1)
    assert part.today.read_ms == pytest.approx(study.today.read_ms, rel=0.15)
    lirs = Setup(parse_policy("lirs"), 30_000)
    (exact,), (estimate,) = study.tried("", [lirs]), part.tried("", [lirs])
    assert estimate.gain.errors.sampling > 0
    error = abs(estimate.gain.share - exact.gain.share)
    assert error < max(0.02, 3 * estimate.gain.errors.sampling)


def recording_of(trace: InMemoryTrace, frames: int) -> InMemoryTrace:
    (chunk,) = trace.chunks()
    assert chunk.backend is not None
    return recording(chunk.page, chunk.backend, frames)


def test_several_recordings_of_one_server() -> None:
    first = oltp_beside_reports()
    (chunk,) = first.chunks()
    assert chunk.backend is not None
    swapped = (np.uint64(3) - (chunk.page >> np.uint64(34))) << np.uint64(34)
    pages = swapped | chunk.page & np.uint64((1 << 34) - 1)
    second = recording(
        pages, chunk.backend, relations={1: "public.report", 2: "public.oltp"}, name="tuesday"
    )
    one, both = advise([first], SSD), advise([first, second], SSD)
    assert both.recordings == ("monday", "tuesday")
    assert both.where.reads == 2 * one.where.reads
    assert one.recommended is not None and both.recommended is not None
    assert both.recommended.share == pytest.approx(one.recommended.share, abs=1e-6)
    if both.recommended.kind == "pools":
        assert both.recommended.lines == one.recommended.lines
    other = recording(pages, chunk.backend, frames=600, name="other")
    with pytest.raises(TidepoolError, match="other: recorded under clock with 600 buffers"):
        advise([first, other])


def test_a_server_with_pools() -> None:
    pages, backends = interleaved([(1, zipf(1, 700, 40_000)), (2, loop(2, 1500, 40_000))])
    pools = (
        RecordedPool(0, "DEFAULT", "clock", "", 300),
        RecordedPool(1, "hot", "arc", "", 200),
    )
    trace = recording(pages, backends, pools=pools)
    report = advise([trace], SSD)
    assert report.where.pools == ("hot",)
    assert any("has pools" in note for note in report.notes)
    assert "size" not in kinds(report)
    titles = [each.title for each in report.advice]
    # nothing is in the pool
    assert any(title.startswith("divide the buffers otherwise: hot 512 kB") for title in titles)
    for each in report.advice:
        if each.title.startswith("give up the pools"):
            assert each.lines.sql == ('DROP BUFFER POOL "hot" CASCADE;',)


def test_notes() -> None:
    pages = uniform(1, 4000, 3000)
    report = advise([recording(pages, frames=3000, algorithm="lirs", dropped=12, relations={})])
    text = "\n".join(report.notes)
    for words in (
        "12 events are missing",
        "too short",
        "recorded under lirs",
        "100% of the references are to relations without a name",
        "sata-ssd is assumed",
    ):
        assert words in text, words
    sampled = advise([recording(pages, frames=300, sample_rate=0.5)], SSD)
    assert any("a sample of 50% of the pages" in note for note in sampled.notes)


def test_what_is_no_recording() -> None:
    trace = InMemoryTrace.from_arrays("plain", [1, 2, 3])
    with pytest.raises(TidepoolError, match="plain: not a server's recording"):
        advise([trace])
    with pytest.raises(TidepoolError, match="the simulator does not have"):
        advise([renamed(recording(uniform(1, 9, 99)), "second_chance")])


def renamed(trace: InMemoryTrace, algorithm: str) -> InMemoryTrace:
    assert trace.recorded is not None
    trace.recorded = replace(trace.recorded, algorithm=algorithm)
    return trace


def test_pools_are_judged_by_what_was_not_used_to_choose() -> None:
    """The second half is another workload: what the first half likes does not hold."""
    half = 30_000
    first, one = interleaved([(1, uniform(1, 800, half // 4)), (2, loop(2, 420, half))])
    second, two = interleaved(
        [(1, page(1, np.zeros(half // 4, np.int64))), (2, loop(2, 520, half))]
    )
    trace = recording(np.concatenate([first, second]), np.concatenate([one, two]))
    study = Study([prepare(trace, 1.0)], HDD)
    best = tried_pools(study, parse_policy("clock"))[0].verdict
    assert best.gain.first > LEAST
    assert best.gain.second < LEAST
    assert not best.holds
