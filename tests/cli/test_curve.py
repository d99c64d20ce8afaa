"""``tidepool curve``: points, exactness, samples, pictures."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cli.conftest import Call
from tidepool import parse_policy, policies
from tidepool.experiments.curves import spread_sizes
from tidepool.simulation import Cell, Options, Sampling, count_pages, exact_lru_curve, simulate
from tidepool.traces import open_trace


def test_lru_is_exact_at_every_point(ok: Call, folder: Path) -> None:
    out = ok(f"curve {folder}/busy.csv --format json")
    trace = open_trace(str(folder / "busy.csv"))
    curve = exact_lru_curve(trace)
    assert len(out.records) > 10
    for record in out.records:
        assert list(record) == [
            "trace",
            "policy",
            "params",
            "frames",
            "requests",
            "misses",
            "miss_ratio",
            "seed",
            "warmup",
        ]
        assert record["miss_ratio"] == curve.at(record["frames"])
        assert record["misses"] == round(record["miss_ratio"] * curve.requests)
    frames = [record["frames"] for record in out.records]
    assert frames == sorted(set(frames))
    assert frames[-1] == count_pages(trace)


def test_other_policies_are_simulated_at_the_same_points(ok: Call, folder: Path) -> None:
    out = ok(
        f"curve {folder}/zipf.csv --policy arc --policy lru --policy opt --frames 30% "
        "--frames 20 --frames 20 --format json",
    )
    trace = open_trace(str(folder / "zipf.csv"))
    sizes = sorted({20, round(0.3 * count_pages(trace))})
    cells = [Cell(parse_policy(p), size) for p in ("arc", "lru", "opt") for size in sizes]
    expected = [(r.policy, r.frames, r.misses) for r in simulate([(trace, cells)])]
    assert [(r["policy"], r["frames"], r["misses"]) for r in out.records] == expected


def test_lru_with_parameters_or_twice_changes_nothing(ok: Call, folder: Path) -> None:
    args = f"curve {folder}/zipf.csv --format json"
    assert ok(args).out == ok(args, "--policy lru --policy lru").out
    assert len({r["policy"] for r in ok(args, "--policy all").records}) == len(policies()) + 1


def test_spread() -> None:
    assert spread_sizes(1, 1000, 4, "log") == [1, 10, 100, 1000]
    assert spread_sizes(1, 10**6, 3, "log") == [1000, 31623, 10**6]
    assert spread_sizes(50, 1000, 2, "log") == [50, 1000]
    assert spread_sizes(1, 1000, 4, "linear") == [250, 500, 750, 1000]
    assert spread_sizes(1, 3, 20, "log") == [1, 2, 3]
    assert spread_sizes(100, 7, 5, "linear")[-1] == 7
    assert spread_sizes(1, 1, 5, "log") == [1]


def test_points(ok: Call, folder: Path) -> None:
    out = ok(f"curve {folder}/zipf.csv --points 4 --spread linear --format json")
    pages = count_pages(open_trace(str(folder / "zipf.csv")))
    assert [r["frames"] for r in out.records] == [round(pages * i / 4) for i in (1, 2, 3, 4)]


def test_sample_is_corrected_by_what_it_gets_wrong_about_lru(ok: Call, folder: Path) -> None:
    points = f"curve {folder}/zipf.csv --policy lru --policy sieve --frames 100 --format json"
    exact = ok([points]).records
    sampled = ok([f"{points} --sample 50% --seed 9"]).records
    alone = ok([f"{points} --sample 50% --seed 9 --no-control-variate"]).records
    assert sampled[0]["miss_ratio"] == pytest.approx(exact[0]["miss_ratio"], abs=1e-4)
    assert sampled[0]["error"] == pytest.approx(0, abs=1e-9)
    assert 0 < sampled[1]["error"] < alone[1]["error"]
    assert sampled[1]["miss_ratio"] == pytest.approx(exact[1]["miss_ratio"], abs=0.1)


def test_sample_has_errors_and_covers_lru_too(ok: Call, folder: Path) -> None:
    args = [
        f"curve {folder}/zipf.csv --policy lru --policy arc --sample 50% --seed 9 --frames 100 "
        "--no-control-variate --format",
    ]
    lru, arc = ok(args, "json").records
    assert (lru["sample_rate"], lru["seed"]) == (0.5, 9)
    assert 0 < lru["error"] < 0.2
    trace = open_trace(str(folder / "zipf.csv"))
    options = Options(sampling=Sampling(0.5, 9))
    cells = [Cell(parse_policy("arc"), 100, 9)]
    assert arc["misses"] == simulate([(trace, cells)], options)[0].misses
    first, second = csv.DictReader(io.StringIO(ok(args, "csv").out))
    assert float(first["error"]) == lru["error"]
    assert second["policy"] == "arc"
    table = ok(args, "table").out.splitlines()
    assert table[0] == "zipf, 50% of the pages sampled: miss ratio"
    assert table[1].split() == ["frames", "size", "lru", "±", "arc", "±"]


def test_warmup(ok: Call, folder: Path) -> None:
    args = [
        f"curve {folder}/zipf.csv --frames 50 --policy lru --policy clock --format json --warmup",
    ]
    assert ok(args, "50%").records == ok(args, 3000).records
    assert {r["requests"] for r in ok(args, 3000).records} == {3000}


def test_workers_make_no_difference(ok: Call, folder: Path) -> None:
    args = ["curve", *sorted(folder.glob("*.csv")), "--policy all --points 4 --format json"]
    assert ok(args, "--workers 1").out == ok(args, "--workers 2").out == ok(args).out


def test_table(ok: Call, folder: Path) -> None:
    lines = ok(f"curve {folder}/loop.csv --frames 50 --frames 100%").out.splitlines()
    assert lines[0] == "loop: miss ratio"
    assert lines[1].split() == ["frames", "size", "lru"]
    assert lines[3].split() == ["50", "400", "kB", "100.00%"]
    assert lines[4].split() == ["100", "800", "kB", "5.00%"]


@pytest.mark.parametrize(
    "options", [["--policy", "all"], ["--sample", "0.5", "--spread", "linear"]]
)
def test_plot(ok: Call, folder: Path, tmp_path: Path, options: list[str]) -> None:
    picture = tmp_path / "curve.svg"
    ok("curve", folder / "loop.csv", folder / "zipf.csv", *options, "--plot", picture)
    text = picture.read_text()
    for word in ("miss ratio (%)", "frames (pages of 8 kB)", "loop", "zipf"):
        assert word in text
