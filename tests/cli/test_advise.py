"""``tidepool advise`` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from advice.recorded import interleaved, loop, recording, sampled, uniform
from cli.conftest import Call
from tidepool.advice.words import milliseconds
from tidepool.traces import write_trace


@pytest.fixture(scope="module")
def monday(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that is read at random, and one that is scanned and nearly fits."""
    length = 40_000
    pages, backends = interleaved([(1, uniform(1, 800, length // 4)), (2, loop(2, 420, length))])
    path = tmp_path_factory.mktemp("advice") / "monday.parquet"
    write_trace(recording(pages, backends), path)
    return path


def test_text(ok: Call, monday: Path) -> None:
    out = ok("advise", monday, "--device hdd").out
    for words in (
        "PostgreSQL 18.6, clock",
        "500 (3.91 MB)",
        "◀ you are here",
        "1. ",
        "CREATE BUFFER POOL",
        "ALTER TABLE public.",
        "verified on the second",
        "price, ",
    ):
        assert words in out, words
    assert "assumed" not in out
    advised = sum(line[:1].isdigit() and line[1:3] == ". " for line in out.splitlines())
    for price in ("price, hits: ", "price, misses: ", "price, memory: "):
        assert out.count(price) == advised > 1


def test_one_way_of_writing_sizes(ok: Call, monday: Path) -> None:
    """For people as in "3.91 MB"; as PostgreSQL takes them where they are to be pasted."""
    for line in ok("advise", monday, "--device hdd").out.splitlines():
        pasted = "'" in line
        assert bool(re.search(r"\d(kB|MB|GB)", line)) <= pasted, line
        assert bool(re.search(r"\d (kB|MB|GB)", line)) <= (not pasted), line


def test_json(ok: Call, monday: Path) -> None:
    (found,) = ok("advise", monday, "--device hdd --format json").records
    assert found["recordings"] == ["monday"]
    assert found["where"]["frames"] == 500
    assert found["where"]["references"] == 50_000
    assert [line["here"] for line in found["sizes"]].count(True) == 1
    advice = found["advice"][found["recommended"]]
    assert (advice["kind"], advice["needs"]) == ("pools", "settings")
    assert advice["lines"]["sql"][0].startswith("CREATE BUFFER POOL")
    assert set(advice["errors"]) == {"sampling", "agreement", "spread", "total"}
    assert found["least"] == 0.02
    assert {each["needs"] for each in found["advice"]} == {"settings", "hardware"}


def test_a_headline_that_the_list_does_not_contradict(ok: Call, tmp_path: Path) -> None:
    """No algorithm helps where all pages are alike, but an SSD and memory do."""
    write_trace(recording(uniform(1, 1200, 30_000)), tmp_path / "alike.parquet")
    command = f"advise {tmp_path}/alike.parquet --device hdd"
    text = " ".join(ok(command).out.split())
    assert "Change nothing" not in text
    assert "Change no algorithm and no pools: none saves 2% of the read time" in text
    assert "Hardware does: put an SSD tier of " in text
    assert "With hardware 1. put an SSD tier" in text
    (found,) = ok(command, "--format json").records
    assert found["recommended"] == 0 and found["advice"][0]["needs"] == "hardware"


def test_the_same_each_time(ok: Call, monday: Path) -> None:
    first, second = (ok("advise", monday, "--format json --sample 50% --seed 3") for _ in "12")
    assert first.out == second.out
    assert json.loads(first.out)["sample_rate"] == 0.5


def test_a_sample_that_the_server_recorded(ok: Call, tmp_path: Path) -> None:
    """Of one page in a hundred; the whole has 300 frames, a tenth of it 30."""
    pages, backends = interleaved([(1, uniform(1, 80_000, 80_000)), (2, loop(2, 60_000, 80_000))])
    write_trace(sampled(recording(pages, backends, frames=30_000), 0.01), tmp_path / "s.parquet")
    (found,) = ok("advise", tmp_path / "s.parquet", "--device hdd --format json").records
    assert found["sample_rate"] == 0.01
    assert found["where"]["sequential"] == pytest.approx(60_000 / 130_000, abs=0.1)
    assert "ssd" not in [advice["kind"] for advice in found["advice"]]
    notes = "\n".join(found["notes"])
    assert "a sample of 1% of the pages" in notes
    assert "300 frames for 30,000 buffers, where 500 are wanted: record a larger share" in notes
    out = ok("advise", tmp_path / "s.parquet", "--device hdd --sample 50%").out
    assert "0.5% of the pages" in out
    assert "150 frames for 30,000 buffers" in " ".join(out.split()) and "raise --sample" in out


def test_devices_as_measured(ok: Call, monday: Path) -> None:
    (found,) = ok("advise", monday, "--device network:1000,1000 --format json").records
    assert found["where"]["read_ms"] == pytest.approx(found["where"]["reads"])


def test_memory(ok: Call, monday: Path) -> None:
    (found,) = ok("advise", monday, "--memory 4400kB --format json").records
    assert 550 in [line["frames"] for line in found["sizes"]]
    for advice in found["advice"]:
        if advice["kind"] == "size" and advice["price"]["memory"] > 0:
            assert advice["lines"]["settings"] == ["shared_buffers = '4400kB'"]


def test_picture_and_page(ok: Call, monday: Path, tmp_path: Path) -> None:
    picture, page = tmp_path / "a.svg", tmp_path / "a.html"
    ok("advise", monday, "--plot", picture, "--html", page)
    assert "you are here" in picture.read_text()
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "monday" in page.read_text()


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--device tape", 1, 'unknown device "tape"'),
        ("--memory 10%", 1, "--memory: a share is not an amount of memory"),
        ("--memory 10xb", 1, "HINT:  Use buffers (16384) or bytes (128MB).\n"),
        ("--sample 0", 1, 'invalid sampling rate "0"'),
        ("--html /nowhere/a.html", 1, 'cannot write "/nowhere/a.html"'),
        ("--plot a.gif", 1, "cannot tell a picture format"),
        ("--format csv", 2, "'csv' is not one of"),
    ],
)
def test_errors(call: Call, monday: Path, options: str, status: int, message: str) -> None:
    out = call("advise", monday, options)
    assert (out.status, out.out) == (status, "")
    assert message in out.err


def test_what_is_no_recording(call: Call, folder: Path) -> None:
    out = call("advise", folder / "zipf.csv")
    assert (out.status, out.out) == (1, "")
    assert out.err == (
        "tidepool: error: zipf: not a server's recording\n"
        "HINT:  Record one with pg_bufferpool_trace_start(); tidepool compare takes any trace.\n"
    )


def test_units_of_time() -> None:
    assert milliseconds(0.1234) == "0.123 ms"
    assert milliseconds(123.4) == "123 ms"
    assert milliseconds(1234.5) == "1,234 ms"
    assert milliseconds(123_456) == "123 s"
