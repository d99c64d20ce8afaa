"""``tidepool simulate``: what it replays and what it prints."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Call
from cli.files import write_csv
from simulation.generated import Event, looping
from tidepool import parse_policy, policies
from tidepool.experiments.plan import Plan
from tidepool.options import Input, parse_sizes
from tidepool.simulation import Cell, Options, Sampling, count_pages, simulate
from tidepool.traces import open_trace

KEYS = [
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


def timeless(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in r.items() if key != "seconds"} for r in records]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_json_has_exactly_the_promised_keys_first(ok: Call, folder: Path) -> None:
    for options in ([], ["--sample", "50%"], ["--interval", "500", "--per-relation"]):
        out = ok(
            f"simulate {folder}/busy.csv --policy lru --policy opt --frames 20 --format json",
            *options,
        )
        for record in out.records:
            assert list(record)[:9] == KEYS
    types = [str, str, dict, int, int, int, float, float, int]
    assert [type(record[key]) for key in KEYS] == types


def test_json_is_what_the_library_says(ok: Call, folder: Path) -> None:
    specs = ["clock:max_usage=1", "arc", "opt:bypass=on"]
    out = ok(
        "simulate",
        folder / "zipf.csv",
        folder / "phases.csv",
        *(arg for spec in specs for arg in ("--policy", spec)),
        "--frames 50 --frames 7 --format json",
    )
    cells = [Cell(parse_policy(spec), frames) for spec in specs for frames in (50, 7)]
    work = [(open_trace(str(folder / f"{name}.csv")), cells) for name in ("zipf", "phases")]
    assert timeless(out.records) == timeless([result.to_json() for result in simulate(work)])
    assert out.records[0]["params"] == {"max_usage": 1, "initial": 1}
    assert out.records[4]["params"] == {"bypass": "on"}


def test_sizes_are_frames_shares_or_bytes(ok: Call, folder: Path) -> None:
    pages = count_pages(open_trace(str(folder / "zipf.csv")))
    out = ok(
        f"simulate {folder}/zipf.csv {folder}/loop.csv --policy lru --frames 10% --frames 33 "
        "--frames 128kB --format json",
    )
    assert [(r["trace"], r["frames"]) for r in out.records] == [
        ("zipf", round(pages / 10)),
        ("zipf", 33),
        ("zipf", 16),
        ("loop", 10),
        ("loop", 33),
        ("loop", 16),
    ]


def test_what_is_given_twice_is_done_once(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/loop.csv {folder}/loop.csv --policy lru --policy lru --frames 10% "
        "--frames 10 --format json",
    )
    assert len(out.records) == 1


def test_all_is_every_policy_and_opt(ok: Call, folder: Path) -> None:
    out = ok(f"simulate {folder}/loop.csv --policy all --frames 9 --format json")
    names = [policy.name for policy in policies()]
    assert [r["policy"] for r in out.records] == [*names, "opt"]


def test_traces_of_one_name_are_told_apart_by_their_paths(
    ok: Call, folder: Path, tmp_path: Path
) -> None:
    other = write_csv(tmp_path / "loop.csv", [Event(1)])
    out = ok("simulate", folder / "loop.csv", other, "--policy lru --frames 9 --format json")
    assert [r["trace"] for r in out.records] == [str(folder / "loop.csv"), str(other)]


@pytest.mark.parametrize("extra", [[], ["--sample", "0.3", "--seed", "1", "--seed", "5"]])
def test_same_results_whatever_the_workers_and_again(
    ok: Call, folder: Path, extra: list[str]
) -> None:
    args = [
        "simulate",
        *sorted(folder.glob("*.csv")),
        "--policy all --frames 5% --frames 30 --format json --interval 300",
        *extra,
    ]
    expected = timeless(ok(args).records)
    for workers in (1, 2, 7):
        assert timeless(ok(args, "--workers", workers).records) == expected


def test_traces_that_are_too_long_to_keep_are_streamed(
    ok: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = [
        f"simulate {folder}/busy.csv --policy all --frames 5% --format json --per-relation "
        "--warmup 10%",
    ]
    expected = timeless(ok(args).records)
    monkeypatch.setattr("tidepool.options.input.KEPT_EVENTS", 100)
    assert timeless(ok(args).records) == expected


def test_csv_holds_what_json_does(ok: Call, folder: Path) -> None:
    args = [
        f"simulate {folder}/busy.csv --policy clock --policy opt --frames 20 --frames 1MB "
        "--warmup 100",
    ]
    records = ok(args, "--format json").records
    found = rows(ok(args, "--format csv").out)
    assert list(found[0])[:9] == KEYS
    assert found[0]["params"] == "max_usage=5,initial=1"
    for row, record in zip(found, records, strict=True):
        for key in record.keys() - {"params", "seconds"}:
            assert row[key] == str(record[key])


def test_csv_of_intervals_and_of_relations(ok: Call, folder: Path) -> None:
    args = f"simulate {folder}/busy.csv --policy lru --frames 20"
    (record,) = ok(args, "--format json --interval 1000 --per-relation").records
    intervals = rows(ok(args, "--format csv --interval 1000").out)
    assert [row["end"] for row in intervals] == ["1000", "2000", "3000", "4000", "4572"]
    assert [float(row["interval_hit_ratio"]) for row in intervals] == record["series"]
    relations = rows(ok(args, "--format csv --per-relation").out)
    assert sum(int(row["relation_misses"]) for row in relations) == record["misses"]
    assert [row["fork"] for row in relations] == ["0", "1", "0", "1"]


def test_table(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/busy.csv --policy clock:max_usage=1 --policy opt --frames 20 "
        "--interval 2000 --per-relation",
    ).out
    lines = out.splitlines()
    assert lines[0] == "busy"
    assert lines[1].split() == [
        "policy",
        "frames",
        "requests",
        "misses",
        "hit",
        "ratio",
        "write-backs",
        "forgotten",
        "seconds",
    ]
    assert lines[3].split()[:3] == ["clock:max_usage=1", "20", "4,572"]
    assert "hit ratio of every 2,000 references" in lines
    assert "opt, 20 frames, by relation" in lines
    assert all(line == line.rstrip() for line in lines)


def test_table_of_a_sample_states_rate_error_and_seeds(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/zipf.csv --policy lru --frames 50 --sample 25% --seed 3 --seed 4"
    ).out
    lines = out.splitlines()
    assert lines[0] == "zipf, 25% of the pages sampled"
    assert lines[1].split()[-3:] == ["±", "seconds", "seed"]
    assert [line.split()[-1] for line in lines[3:5]] == ["3", "4"]


def test_sample_seeds_choose_other_pages(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/zipf.csv --policy lru --policy arc --frames 50 --frames 90 "
        "--sample 0.25 --seed 3 --seed 4 --format json",
    )
    assert [(r["policy"], r["frames"], r["seed"]) for r in out.records] == [
        (policy, frames, seed)
        for policy in ("lru", "arc")
        for frames in (50, 90)
        for seed in (3, 4)
    ]
    assert out.records[0]["misses"] != out.records[1]["misses"]
    trace = open_trace(str(folder / "zipf.csv"))
    expected = simulate(
        [(trace, [Cell(parse_policy("lru"), 50, 4)])], Options(sampling=Sampling(0.25, 4))
    )
    assert out.records[1]["error"] == expected[0].error


def test_seeds_matter_to_randomized_policies_only() -> None:
    lru = parse_policy("lru")
    dice = replace(lru, policy=replace(lru.policy, randomized=True))
    plan = Plan(specs=(lru, dice), frames=parse_sizes("5,6"), seeds=(7, 8))
    (grid,) = plan.grids(Input(looping(10, 20)))
    assert [(cell.spec == dice, cell.frames, cell.seed) for cell in grid.cells] == [
        (False, 5, 7),
        (False, 6, 7),
        (True, 5, 7),
        (True, 5, 8),
        (True, 6, 7),
        (True, 6, 8),
    ]


def test_warmup_as_a_number_and_as_a_share(ok: Call, folder: Path) -> None:
    args = f"simulate {folder}/zipf.csv --policy lru --frames 40 --format json"
    (whole,) = ok(args).records
    (number,) = ok(args, "--warmup 1500").records
    (share,) = ok(args, "--warmup 25%").records
    assert timeless([number]) == timeless([share])
    assert (number["requests"], number["warmup"]) == (4500, 1500)
    assert number["misses"] < whole["misses"]
    assert "warmup" not in whole


def test_resize(ok: Call, folder: Path) -> None:
    args = f"simulate {folder}/zipf.csv --policy lru --frames 200 --format json"
    (record,) = ok(args, "--resize 3000:10% --resize 5000:1MB --interval", 1000).records
    (plain,) = ok(args, "--interval 1000").records
    pages = count_pages(open_trace(str(folder / "zipf.csv")))
    assert record["resize"] == [[3000, round(pages / 10)], [5000, 128]]
    assert record["series"][:3] == plain["series"][:3]
    assert record["series"][3] < plain["series"][3]


def test_resize_after_the_end_is_warned_of(call: Call, folder: Path) -> None:
    out = call(f"simulate {folder}/zipf.csv --policy lru --frames 20 --resize 6000:30")
    assert out.status == 0
    assert out.err == (
        "tidepool: warning: zipf: no resize before reference 6000, the trace has 6000\n"
    )


def test_correlation_window(ok: Call, folder: Path) -> None:
    args = f"simulate {folder}/busy.csv --policy arc --frames 40 --format json"
    (record,) = ok(args, "--correlation-window 5").records
    assert record["correlation_window"] == 5
    assert record["correlated"] > 400
    assert ok(args).records[0]["correlated"] == 0


def test_batch(ok: Call, tmp_path: Path) -> None:
    """What one backend has queued is not known when another one asks for a victim."""
    trace = tmp_path / "two.csv"
    trace.write_text("block,backend\n1,0\n2,0\n1,0\n3,1\n1,0\n")
    args = f"simulate {trace} --policy lru --policy clock --frames 2 --format json"
    at_once, late = ok(args).records, ok(args, "--batch 2").records
    assert [record.get("batch") for record in at_once + late] == [None, None, 2, 2]
    assert [record["misses"] for record in at_once] == [3, 3]
    assert [record["misses"] for record in late] == [4, 3]  # clock's hits need no lock


@pytest.mark.parametrize(
    "options",
    [
        ["--frames", "10%"],
        ["--frames", "10%", "--frames", "20%", "--sample", "50%", "--seed", "1", "--seed", "2"],
        ["--frames", "10%", "--interval", "500", "--warmup", "600", "--resize", "2500:90"],
    ],
)
@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_plot(
    ok: Call, folder: Path, tmp_path: Path, options: list[str], suffix: str, magic: bytes
) -> None:
    picture = tmp_path / f"picture.{suffix}"
    args = [
        f"simulate {folder}/zipf.csv {folder}/busy.csv --policy lru --policy arc",
        *options,
        "--plot",
        picture,
    ]
    ok(args)
    first = picture.read_bytes()
    assert first.startswith(magic)
    ok(args)
    assert picture.read_bytes() == first
