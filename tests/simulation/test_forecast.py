"""What is foretold of SSDs of several sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulation.generated import zipf
from simulation.test_below import SERVER, read, trace_of, write
from tidepool import TidepoolError, parse_policy
from tidepool.simulation import (
    Cell,
    Endurance,
    Options,
    Ssd,
    forecast_ssd,
    parse_device,
    parse_ssd_policy,
    simulate,
    simulate_below,
)
from tidepool.simulation.forecast import DAY, SERVER_WRITE_BUFFER, YEAR, Forecast
from tidepool.traces import InMemoryTrace, Kind
from tidepool.traces.provenance import ReadTime, ReadTimes

DISK, DEVICE = parse_device("network:10000,100"), parse_device("network:100,100")


def recording(
    reads: int = 4000, spread: int = 200, times: ReadTimes | None = None
) -> InMemoryTrace:
    draw = np.random.default_rng(5)
    rows = []
    for i in range(reads):
        block = int(draw.zipf(1.2)) * 40 % (spread * 40)
        rows += [(Kind.READ, block, 0, 0), read(block)]
        if i % 10 == 0:
            rows.append(write(block))
    return trace_of(rows, replace(SERVER, ssd=None, read_times=times))


def foretold(**options: object) -> Forecast:
    return forecast_ssd(recording(), [10, 50, 200], disk=DISK, device=DEVICE, **options)  # type: ignore[arg-type]


def test_rows_are_the_simulation() -> None:
    found = foretold()
    trace = recording()
    specs = [parse_ssd_policy(name) for name in ("none", "page_temperature")]
    ssds = [Ssd(specs[0], 0, DISK, DEVICE)]
    ssds += [
        Ssd(specs[1], n, DISK, DEVICE, write_buffer=SERVER_WRITE_BUFFER) for n in (10, 50, 200)
    ]
    without, *rest = simulate_below(trace, ssds, seed=SERVER.seed)
    seconds = found.seconds
    assert seconds is not None and seconds == pytest.approx(8.4, abs=0.1)
    assert found.physical and not found.disk_assumed
    for row, result in zip(found.ssds, rest, strict=True):
        assert (row.reads, row.hits, row.read_time) == (result.reads, result.hits, result.read_time)
        assert row.read_time_without == without.read_time
        assert row.saved == pytest.approx(without.read_time - result.read_time)
        assert row.saved == pytest.approx(row.hits * 0.0099, rel=0.01)
        assert row.saved_share == pytest.approx(row.saved / without.read_time)
        assert row.written == result.ssd_writes * 8192
        assert row.written_per_day == pytest.approx(row.written / seconds * DAY)
        assert row.years == pytest.approx(600 * row.bytes / row.written_per_day / YEAR)
        assert row.bytes == row.frames * 8192
    savings = [row.saved for row in found.ssds]
    assert savings == sorted(savings) and savings[0] < savings[-1]


def test_endurance() -> None:
    of_size = foretold().ssds[0]
    absolute = foretold(endurance=Endurance(total=1e12)).ssds[0]
    assert of_size.written_per_day is not None
    assert absolute.years == pytest.approx(1e12 / of_size.written_per_day / YEAR)
    twice = foretold(endurance=Endurance(times=1200)).ssds[0]
    assert twice.years == pytest.approx(2 * of_size.years)  # type: ignore[operator]


def test_the_best_is_the_smallest_that_saves_nearly_as_much_and_lasts() -> None:
    lasting = foretold(endurance=Endurance(total=1e30))
    best = lasting.best
    most = max(row.saved for row in lasting.ssds)
    assert best is not None and best.saved >= 0.9 * most
    assert all(row.saved < 0.9 * most for row in lasting.ssds if row.frames < best.frames)
    assert f"saves {100 * best.saved_share:.0f}% of the read time" in lasting.recommendation()
    assert "over 100 years" in lasting.recommendation()
    worn = foretold(endurance=Endurance(total=1))
    assert worn.best is None
    assert worn.recommendation().startswith("None of these lasts 5 years")


def test_an_ssd_that_does_not_pay() -> None:
    once = trace_of([read(40 * i) for i in range(500)], replace(SERVER, ssd=None))
    found = forecast_ssd(once, [100], disk=DISK, device=DEVICE)
    assert found.best is None
    assert found.recommendation() == "No SSD: none of these saves more than 0.0% of the read time."
    slower = forecast_ssd(recording(), [100], disk=parse_device("nvme"), device=DISK)
    assert not slower.useful and slower.best is None
    assert slower.ssds[0].hits == 0 and slower.ssds[0].saved == 0 and slower.ssds[0].written == 0
    assert slower.recommendation().startswith("No SSD: reading a page from it takes 1e+04 µs")


def test_the_disk_is_as_measured() -> None:
    times = ReadTimes(ReadTime(0, 0), ReadTime(9, 700), ReadTime(9, 70))
    found = forecast_ssd(recording(times=times), [50], device=DEVICE)
    assert (found.disk.name, found.disk.random_read) == ("measured", 700)
    assert not found.disk_assumed
    assumed = forecast_ssd(recording(), [50], device=DEVICE)
    assert assumed.disk.name == "hdd" and assumed.disk_assumed
    assert "the disk was not measured: its times are those of hdd" in assumed.caveats()


def test_caveats() -> None:
    caveats = foretold().caveats()
    assert caveats[0] == "days are extrapolated from 8 s"
    assert caveats[1].startswith("the recording is too short for that")
    full = forecast_ssd(recording(), [10], disk=DISK, device=DEVICE)
    assert not any("was not full" in caveat for caveat in full.caveats())
    empty = forecast_ssd(recording(), [10, 100_000], disk=DISK, device=DEVICE)
    assert any(
        caveat.startswith("from 100,000 pages on the SSD was not full")
        for caveat in empty.caveats()
    )


def test_memory_can_be_another() -> None:
    """Of a trace without physical reads, or if that is asked for."""
    trace = zipf(400, 6000)
    with pytest.raises(TidepoolError, match="says nothing of memory"):
        forecast_ssd(trace, [50])
    memory = Cell(parse_policy("lru"), 20)
    found = forecast_ssd(trace, [50], disk=DISK, device=DEVICE, memory=memory, warmup=100)
    spec = parse_ssd_policy("page_temperature")
    ssd = Ssd(spec, 50, DISK, DEVICE, write_buffer=SERVER_WRITE_BUFFER)
    cell = Cell(memory.spec, 20, 0, ssd)
    (result,) = simulate([(trace, [cell])], Options(warmup=100))
    assert result.ssd is not None
    assert (found.ssds[0].reads, found.ssds[0].hits) == (result.ssd.reads, result.ssd.hits)
    assert not found.physical and found.seconds is None
    assert found.ssds[0].years is None and found.ssds[0].written_per_day is None
    assert any("has no times" in caveat for caveat in found.caveats())
    assert any("memory was simulated" in caveat for caveat in found.caveats())
    # of a recording without physical reads, as the server ran it
    old = recording()
    recorded = replace(SERVER, ssd=None, physical=False, buffers=10)
    old = InMemoryTrace("old", list(old.chunks()), recorded=recorded)
    again = forecast_ssd(old, [50], disk=DISK, device=DEVICE)
    assert not again.physical and again.ssds[0].reads > 0


def test_several_policies() -> None:
    specs = [parse_ssd_policy(name) for name in ("lru", "tac", "opt")]
    found = forecast_ssd(recording(), [50, 10, 50], specs, disk=DISK, device=DEVICE)
    assert [(row.policy, row.frames) for row in found.ssds] == [
        *(("lru", 50), ("lru", 10), ("tac", 50), ("tac", 10), ("opt", 50), ("opt", 10))
    ]
    by_policy = {row.policy: row.hits for row in found.ssds if row.frames == 50}
    assert by_policy["opt"] >= max(by_policy.values())
    only = forecast_ssd(recording(), [50], specs[2:], disk=DISK, device=DEVICE)
    assert only.ssds[0].saved > 0 and only.best is None  # no server has it
    lasting = forecast_ssd(
        recording(), [50], specs, disk=DISK, device=DEVICE, endurance=Endurance(total=1e30)
    )
    assert lasting.best is not None and lasting.best.policy in ("lru", "tac")
    assert f"MB with {lasting.best.policy} saves" in lasting.recommendation()


def test_json() -> None:
    record = foretold(endurance=Endurance(total=1e30)).to_json()
    assert record["seconds"] > 0 and record["physical"] is True
    assert record["best"]["frames"] in (10, 50, 200)
    assert record["ssds"][0]["saved"] == pytest.approx(foretold().ssds[0].saved, abs=1e-6)
    assert record["recommendation"] and record["caveats"]


def test_relations_left_out_have_no_hits() -> None:
    (relation,) = {int(page) >> 34 for chunk in recording().chunks() for page in chunk.page}
    without = foretold(left_out=frozenset([relation]))
    assert all(row.hits == row.written == 0 for row in without.ssds)
    kept = foretold(keep=frozenset([relation]), keep_share=1.0)
    assert kept.ssds[-1].hits >= foretold().ssds[-1].hits > 0
