"""``tidepool simulate`` with a tier on an SSD."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cli.conftest import Call
from tidepool import parse_policy
from tidepool.simulation import Cell, Options, Ssd, parse_device, parse_ssd_policy, simulate
from tidepool.traces import open_trace


def test_json_is_what_the_library_says(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/busy.csv --policy clock --policy lru --frames 10 --ssd-policy tac "
        "--ssd-policy arc --ssd-frames 40 --ssd-frames 20% --device network:900,30 "
        "--ssd-device nvme --ssd-write back --ssd-buffer 3 --warmup 100 --format json",
    )
    trace = open_trace(str(folder / "busy.csv"))
    sizes = sorted({record["ssd"]["frames"] for record in out.records}, key=lambda n: n != 40)
    assert len(sizes) == 2 and sizes[0] == 40
    ssds = [
        Ssd(
            parse_ssd_policy(policy),
            size,
            parse_device("network:900,30"),
            parse_device("nvme"),
            True,
            3,
        )
        for policy in ("tac", "arc")
        for size in sizes
    ]
    cells = [Cell(parse_policy(memory), 10, 0, ssd) for memory in ("clock", "lru") for ssd in ssds]
    results = simulate([(trace, cells)], Options(warmup=100))
    assert [r["ssd"] for r in out.records] == [r.ssd.to_json() for r in results if r.ssd]
    assert [r["misses"] for r in out.records] == [r.ssd.reads for r in results if r.ssd]


def test_table_names_both_tiers(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy tac:aging=5 "
        "--ssd-policy none --ssd-frames 100",
    ).out
    assert out.count("lru") == 3  # of memory once, of each SSD once
    assert "tac:aging=5" in out and "none" in out
    assert "SSD (sata-ssd), disk (hdd)" in out


def test_csv_has_the_tier_in_columns(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy lru --ssd-policy opt "
        "--ssd-frames 100 --format csv",
    ).out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["tier_policy"] for row in rows] == ["lru", "opt"]
    assert int(rows[0]["tier_reads"]) == int(rows[0]["misses"])
    assert rows[0]["tier_frames"] == "100"


def test_seeds_matter_to_policies_on_the_ssd(ok: Call, folder: Path) -> None:
    out = ok(
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy random --ssd-policy lru "
        "--ssd-frames 50 --seed 1 --seed 2 --format json",
    )
    hits = [(r["ssd"]["policy"], r["seed"], r["ssd"]["hits"]) for r in out.records]
    assert [(policy, seed) for policy, seed, _ in hits] == [
        ("random", 1),
        ("random", 2),
        ("lru", 1),
    ]
    assert hits[0][2] != hits[1][2]


def test_picture(ok: Call, folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "times.svg"
    ok(
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy tac --ssd-policy none "
        "--ssd-frames 50 --plot",
        picture,
    )
    text = picture.read_text()
    assert "disk reads" in text and "SSD writes" in text and "none" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--ssd-policy tac", "no size of the SSD is given"),
        ("--ssd-frames 10", "no policy on the SSD is given"),
        ("--ssd-policy opt --ssd-frames 10 --ssd-write back", "opt on the SSD writes through"),
        ("--ssd-policy tac --ssd-frames 10 --sample 50%", "cannot be sampled"),
        ("--ssd-policy tac --ssd-frames 10 --resize 5:10", "cannot be resized"),
        ("--ssd-policy tac --ssd-frames 10 --device floppy", 'unknown device "floppy"'),
        ("--ssd-policy tac --ssd-frames 10 --device network:1", 'invalid device "network:1"'),
        ("--ssd-policy tac:x=1 --ssd-frames 10", 'policy "tac" has no parameter "x"'),
        ("--ssd-policy opt:by=luck --ssd-frames 10", 'invalid value for "by"'),
        ("--ssd-policy tacc --ssd-frames 10", 'unknown policy "tacc"'),
    ],
)
def test_what_does_not_go_together(call: Call, folder: Path, options: str, message: str) -> None:
    out = call(f"simulate {folder}/zipf.csv --policy lru --frames 10", options)
    assert out.status != 0
    assert message in out.err
    assert "Traceback" not in out.err


def test_write_budgets(ok: Call, folder: Path) -> None:
    """They reach the tier, and the table shows what they kept from being written."""
    command = (
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy lru --ssd-policy none"
        " --ssd-frames 100 --ssd-write-budget 0.5 --ssd-write-budget-per-day 0.0001"
    )
    assert "too dear" in ok(command).out
    record = ok(f"{command} --format json").records[0]["ssd"]
    ssd = Ssd(parse_ssd_policy("lru"), 100, write_budget=0.5, write_budget_per_day=0.0001 * 1024)
    cells = [Cell(parse_policy("lru"), 20, 0, ssd)]
    result = simulate([(open_trace(str(folder / "zipf.csv")), cells)])[0].ssd
    assert result is not None and record == result.to_json()
    assert 0 < record["ssd_writes"] <= 0.0001 * 1024 * 128


def test_budgets_and_shares_are_written_as_elsewhere(ok: Call, call: Call, folder: Path) -> None:
    """A budget may have the units of the server's setting, a share may be in percent."""
    command = (
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy lru --ssd-frames 100"
        " --format json --ssd-tier 0=keep"
    )
    budgets = ("--ssd-write-budget 0.5", "--ssd-write-budget-per-day 0.0001", "--ssd-keep-share .5")
    others = (
        ("--ssd-write-budget 512kB", "--ssd-write-budget-per-day 1e-4", "--ssd-keep-share 50%"),
        ("--ssd-write-budget .5M", "--ssd-write-budget-per-day 0.1024MB", "--ssd-keep-share 5e-1"),
    )
    (expected,) = ok(command, *budgets).records
    for each in others:
        (found,) = ok(command, *each).records
        assert {**found, "seconds": 0} == {**expected, "seconds": 0}
    failed = call(command, "--ssd-write-budget", "much")
    assert failed.err == (
        'tidepool: error: --ssd-write-budget: invalid amount of data "much"\n'
        "HINT:  Use MB (20), or bytes (20MB, 512kB).\n"
    )
    assert "--ssd-write-budget-per-day" in call(command, "--ssd-write-budget-per-day", "-1").err
    assert call(f"ssd {folder}/zipf.csv --keep-share 101%").err.startswith(
        'tidepool: error: --keep-share: invalid share "101%"'
    )


def test_fractions_of_generators(ok: Call, tmp_path: Path) -> None:
    command = "trace generate zipf --length 1e3 --pages 50 --write-fraction"
    for text, name in (("5%", "a"), ("0.05", "b")):
        ok(command, text, tmp_path / f"{name}.parquet")
    one, other = (open_trace(tmp_path / f"{name}.parquet").chunks() for name in "ab")
    assert [chunk.kind.tolist() for chunk in one] == [chunk.kind.tolist() for chunk in other]


def test_what_relations_want(ok: Call, call: Call, folder: Path) -> None:
    command = (
        f"simulate {folder}/zipf.csv --policy lru --frames 20 --ssd-policy lru --ssd-frames 100"
    )
    assert ok(f"{command} --format json").records[0]["ssd"]["hits"] > 0
    out = ok(f"{command} --ssd-tier 0=none --format json")
    assert out.records[0]["ssd"]["hits"] == 0
    out = ok(f"{command} --ssd-tier 0=none,0=auto --ssd-keep-share 0.1 --format json")
    assert out.records[0]["ssd"]["hits"] > 0
    out = ok(f"{command} --ssd-tier 0=none,0=auto --ssd-tier 0=none --format json")
    assert out.records[0]["ssd"]["hits"] == 0
    for wrong, message in (
        ("--ssd-tier 0=always", 'invalid choice "0=always"'),
        ("--ssd-tier 0", 'invalid choice "0"'),
        ("--ssd-tier orders=keep", 'no relation "orders"'),
        ("--ssd-keep-share 2", '--ssd-keep-share: invalid share "2"'),
        ("--ssd-keep-share 200%", "Use 0 to 1 (0.5), or 0% to 100% (50%)."),
    ):
        failed = call(command, wrong)
        assert failed.status != 0 and message in failed.err
        assert "Traceback" not in failed.err
