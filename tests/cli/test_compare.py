"""``tidepool compare``: differences to a baseline and to OPT."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest

from cli.conftest import Call
from simulation.generated import zipf
from tidepool import parse_policy, policies
from tidepool.experiments.comparison import Comparison, ComparisonPlan
from tidepool.options import Input, parse_sizes
from tidepool.simulation import Cell, simulate
from tidepool.traces import open_trace


def test_defaults_are_all_policies_eight_sizes_and_clock(ok: Call, folder: Path) -> None:
    records = ok(f"compare {folder}/zipf.csv --format json").records
    assert len(records) == 8 * (len(policies()) + 1)
    assert list(records[0])[:9] == [
        "trace",
        "policy",
        "params",
        "frames",
        "requests",
        "misses",
        "hit_ratio",
        "seconds",
        "seed",
    ]
    assert [r["size"] for r in records[:8]] == [
        "1%",
        "2%",
        "5%",
        "10%",
        "20%",
        "40%",
        "60%",
        "80%",
    ]
    by_cell = {(r["policy"], r["size"]): r for r in records}
    for record in records:
        clock, opt = by_cell["clock", record["size"]], by_cell["opt", record["size"]]
        difference = 100 * (record["hit_ratio"] - clock["hit_ratio"])
        assert record["baseline"] == "clock"
        assert record["points_above_baseline"] == pytest.approx(difference)
        assert record["points_above_opt"] == pytest.approx(
            100 * (record["hit_ratio"] - opt["hit_ratio"])
        )
        if record["policy"] != "keep":  # which refuses pages, as opt:bypass=on
            assert record["points_above_opt"] <= 0


def test_hit_ratios_are_those_of_simulate(ok: Call, folder: Path) -> None:
    common = [folder / "busy.csv", "--warmup 10% --frames 10% --frames 1MB --format json"]
    compared = ok("compare", *common, "--policy arc").records
    specs = ["--policy clock --policy arc --policy opt"]
    simulated = ok("simulate", *common, *specs).records
    for ours, theirs in zip(compared, simulated, strict=True):
        for key in ("policy", "params", "frames", "requests", "misses", "hit_ratio", "warmup"):
            assert ours[key] == theirs[key]


def test_baseline_and_opt_are_always_there(ok: Call, folder: Path) -> None:
    args = f"compare {folder}/zipf.csv --frames 20 --format json"
    out = ok(args, "--policy arc --policy arc --baseline clock:max_usage=1")
    assert [r["policy"] for r in out.records] == ["clock", "arc", "opt"]
    assert {r["baseline"] for r in out.records} == {"clock:max_usage=1"}
    out = ok(args, "--policy opt --baseline opt")
    assert [r["policy"] for r in out.records] == ["opt"]


def test_the_last_seeds_there_are(ok: Call, folder: Path) -> None:
    dice = replace(parse_policy("lru"), policy=replace(parse_policy("lru").policy, randomized=True))
    plan = ComparisonPlan([], dice, parse_sizes("5"), seed=2**64 - 1, seeds=3)
    (grid,) = plan.grids(Input(open_trace(folder / "loop.csv")))
    seeds = [cell.seed for cell in grid.cells if cell.spec == dice]
    assert seeds == [2**64 - 1, 0, 1]
    ok(f"compare {folder}/loop.csv --frames 9 --seed {2**64 - 1} --seeds 2")


def test_csv(ok: Call, folder: Path) -> None:
    args = f"compare {folder}/zipf.csv {folder}/loop.csv --frames 5% --format"
    records = ok(args, "json").records
    found = list(csv.DictReader(io.StringIO(ok(args, "csv").out)))
    assert list(found[0]) == list(records[0])
    for row, record in zip(found, records, strict=True):
        assert row["points_above_opt"] == str(record["points_above_opt"])


def test_sample(ok: Call, folder: Path) -> None:
    args = f"compare {folder}/zipf.csv --frames 30% --sample 50%"
    assert all(0 < r["error"] < 0.2 for r in ok(args, "--format json").records)
    assert "standard errors up to" in ok(args).out.splitlines()[0]


def test_workers_make_no_difference(ok: Call, folder: Path) -> None:
    args = ["compare", *sorted(folder.glob("*.csv")), "--frames 5%"]
    assert ok(args, "--workers 1").out == ok(args, "--workers 2").out


def test_tables(ok: Call, folder: Path) -> None:
    out = ok(f"compare {folder}/loop.csv --frames 50% --frames 99").out
    lines = out.splitlines()
    titles = [line for line in lines if line.startswith("loop: ")]
    assert titles == [
        "loop: hit ratio (%), * best but opt",
        "loop: hit ratio minus that of clock (percentage points)",
        "loop: hit ratio minus that of opt (percentage points)",
    ]
    assert lines[1].split() == ["50%"]
    assert lines[2].split() == ["policy", "50", "99"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[4:] if line}
    assert rows["opt"] == ["0.00", "0.00"]  # the last table's
    assert "*" not in lines[lines.index("") - 1]


def comparison(seeds: int) -> Comparison:
    """With a policy that is taken for a randomized one, and so has several results."""
    trace = zipf(100, 1000)
    specs = tuple(parse_policy(name) for name in ("lru", "clock", "opt"))
    results = {}
    for spec in specs:
        for frames in (10, 50):
            (result,) = simulate([(trace, [Cell(spec, frames)])])
            ratios = [result.hit_ratio + i / 100 for i in range(seeds if spec == specs[0] else 1)]
            results[spec, frames] = [replace(result, hit_ratio=ratio) for ratio in ratios]
    return Comparison(
        trace="t",
        policies=specs,
        baseline=specs[1],
        opt=specs[2],
        sizes=("10%", "50%"),
        frames=(10, 50),
        results=results,
        warmup=0,
    )


def test_mean_over_seeds() -> None:
    c = comparison(seeds=3)
    ratios = [r.hit_ratio for r in c.results[c.policies[0], 10]]
    record = next(c.records())
    assert record["seeds"] == 3
    assert record["hit_ratio"] == pytest.approx(fmean(ratios))
    assert record["deviation"] == pytest.approx(stdev(ratios))
    assert c.hit_ratios()[0, 0] == pytest.approx(fmean(ratios))


def test_best_is_online_and_shared_by_equals() -> None:
    c = comparison(seeds=1)
    best = c.best()
    assert not best[2].any()
    ratios = c.hit_ratios()
    assert (best[:2] == (ratios[:2] == ratios[:2].max(axis=0))).all()
    same = replace(c, results={key: c.results[c.policies[0], key[1]] for key in c.results})
    assert same.best()[:2].all()
    alone = replace(c, policies=c.policies[2:], baseline=c.opt)
    assert not alone.best().any()
    assert np.array_equal(alone.differences(c.opt), np.zeros((1, 2)))


def test_plot(ok: Call, folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "map.svg"
    ok(f"compare {folder}/zipf.csv {folder}/loop.csv --plot", picture)
    text = picture.read_text()
    for word in (
        "zipf, against clock",
        "loop, against opt",
        "hit ratio minus that of clock (percentage points)",
        "hit ratio minus that of opt (percentage points)",
        "80%",
    ):
        assert word in text
