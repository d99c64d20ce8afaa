"""``tidepool ssd``: what an SSD of each size would do."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cli.conftest import Call
from simulation.test_forecast import recording
from tidepool.cli.forecast import parse_endurance
from tidepool.errors import TidepoolError
from tidepool.simulation import (
    Endurance,
    forecast_ssd,
    parse_device,
    parse_ssd_policy,
)
from tidepool.traces import open_trace, write_trace
from tidepool.traces.provenance import ReadTime, ReadTimes

DEVICES = "--disk network:10000,100 --device network:100,100"
TIMES = ReadTimes(ReadTime(0, 0), ReadTime(9, 700), ReadTime(9, 70))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of two recordings: one has times of reads."""
    path = tmp_path_factory.mktemp("recorded")
    write_trace(recording(), path / "plain.parquet")
    write_trace(recording(times=TIMES), path / "timed.parquet")
    return path


# ---- tidepool ssd ----


def test_json_is_what_the_library_says(ok: Call, recorded: Path) -> None:
    out = ok(
        f"ssd {recorded}/plain.parquet --sizes 10,25% --policy tac:aging=5 --policy lru {DEVICES} "
        "--endurance 2TBW --warmup 100 --seed 3 --format json"
    )
    found = forecast_ssd(
        open_trace(recorded / "plain.parquet"),
        [10, out.records[0]["ssds"][1]["frames"]],
        [parse_ssd_policy("tac:aging=5"), parse_ssd_policy("lru")],
        disk=parse_device("network:10000,100"),
        device=parse_device("network:100,100"),
        endurance=Endurance(total=2e12),
        warmup=100,
        seed=3,
    )
    assert out.records == [found.to_json()]
    pages = len(
        {
            block
            for block in open_trace(recorded / "plain.parquet").chunks().__next__().page.tolist()
        }
    )
    assert out.records[0]["ssds"][1]["frames"] == round(pages / 4)


def test_table(ok: Call, recorded: Path) -> None:
    out = ok(f"ssd {recorded}/plain.parquet --sizes 10,50,1MB {DEVICES}").out
    for word in ("hit ratio", "saved", "written a day", "years", "memory", "80 kB", "1 MB"):
        assert word in out
    assert "network:10000,100: 1e+04 µs random, 100 sequential" in out
    assert "days are extrapolated from 8 s" in out
    assert "the recording is too short for that" in out
    assert "page_temperature" not in out
    several = ok(f"ssd {recorded}/plain.parquet --sizes 10 --policy lru --policy tac {DEVICES}").out
    assert "policy" in several and "lru" in several and "tac" in several


def test_csv(ok: Call, recorded: Path) -> None:
    out = ok(
        f"ssd {recorded}/plain.parquet {recorded}/timed.parquet --sizes 10,50 --format csv"
    ).out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["trace"], row["disk"], row["frames"]) for row in rows] == [
        *(("plain", "hdd", "10"), ("plain", "hdd", "50")),
        *(("timed", "measured", "10"), ("timed", "measured", "50")),
    ]
    assert all(float(row["saved"]) > 0 and float(row["written_per_day"]) > 0 for row in rows)


def test_default_sizes(ok: Call, recorded: Path) -> None:
    (record,) = ok(f"ssd {recorded}/plain.parquet --format json").records
    frames = [ssd["frames"] for ssd in record["ssds"]]
    assert len(frames) == 6 and frames == sorted(frames)
    assert all(ssd["policy"] == "page_temperature" for ssd in record["ssds"])


def test_another_memory(ok: Call, recorded: Path) -> None:
    (record,) = ok(
        f"ssd {recorded}/plain.parquet --sizes 50 --memory-frames 30 {DEVICES} --format json"
    ).records
    assert record["physical"] is False
    more = ok(
        f"ssd {recorded}/plain.parquet --sizes 50 --memory-frames 3 --memory-policy lru {DEVICES} "
        "--format json"
    ).records[0]
    assert more["ssds"][0]["reads"] > record["ssds"][0]["reads"]


def test_a_trace_that_is_no_recording(call: Call, ok: Call, folder: Path) -> None:
    failed = call(f"ssd {folder}/zipf.csv")
    assert failed.status == 1
    assert "zipf is not a server's recording" in failed.err
    assert "--memory-policy and --memory-frames" in failed.err
    out = ok(f"ssd {folder}/zipf.csv --memory-policy lru --memory-frames 20 --sizes 100").out
    assert "memory was simulated" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sizes 10,x", 'invalid size "x"'),
        ("--sizes 10,,20", 'a size is missing beside a comma: "10,,20"'),
        ("--sizes 0%", "out of range"),
        ("--endurance 600", 'invalid endurance "600"'),
        ("--endurance 0TBW", 'invalid endurance "0TBW"'),
        ("--disk floppy", 'unknown device "floppy"'),
        ("--device measured", 'unknown device "measured"'),
        ("--policy none", "no SSD is what the others are compared with"),
        ("--policy nothing", "nothing"),
        ("--disk measured", "the recording has no times of reads from the disk"),
    ],
)
def test_what_is_wrong(call: Call, recorded: Path, options: str, message: str) -> None:
    failed = call(f"ssd {recorded}/plain.parquet {options}")
    assert failed.status in (1, 2)
    assert message in failed.err and failed.out == ""


def test_as_measured(ok: Call, recorded: Path) -> None:
    (record,) = ok(f"ssd {recorded}/timed.parquet --disk measured --sizes 50 --format json").records
    assert record["disk"]["random_read"] == 700


def test_parsers() -> None:
    assert parse_endurance("600 tbw") == Endurance(total=600e12)
    assert parse_endurance("2PBW").of(1) == 2e15
    assert parse_endurance("1_2e1 TBW") == Endurance(total=120e12)
    assert parse_endurance("1DWPD").of(1000) == pytest.approx(1000 * 365.25 * 5)
    with pytest.raises(TidepoolError):
        parse_endurance("TBW")


@pytest.mark.parametrize("sizes", ["50", ",".join(str(n) for n in range(10, 310, 10))])
def test_pictures(ok: Call, recorded: Path, tmp_path: Path, sizes: str) -> None:
    for name in ("a.png", "b.svg"):
        ok(
            f"ssd {recorded}/plain.parquet --sizes {sizes} --policy tac --policy lru {DEVICES} "
            f"--plot {tmp_path}/{name}"
        )
    text = (tmp_path / "b.svg").read_text()
    assert "read time saved (%)" in text and "GB written a day" in text
    assert (tmp_path / "a.png").stat().st_size > 10_000
