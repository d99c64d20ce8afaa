"""Traces with scans through the whole command: prediction pays where it should."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.conftest import Call
from tidepool.traces import Flag, InMemoryTrace, Kind, page_number, write_trace

TPCH = "tpch_scans --pages 3000 --streams 6 --queries 4 --speed 1000"


def generate(ok: Call, path: Path, what: str) -> Path:
    ok("trace generate", what.split()[0], path, what.split()[1:])
    return path


def misses(ok: Call, trace: Path, frames: object, *policies: str) -> list[int]:
    """Return the misses of the policies, in their order."""
    options = [word for policy in policies for word in ("--policy", policy)]
    out = ok("simulate", trace, options, "--frames", frames, "--format json")
    return [record["misses"] for record in out.records]


@pytest.mark.parametrize("scans", ["", " --bitmap", " --meet"])
def test_scans_told_of_are_foreseen(ok: Call, tmp_path: Path, scans: str) -> None:
    trace = generate(ok, tmp_path / "t.parquet", TPCH + scans)
    opt, pbm, pq, clock = misses(ok, trace, "30%", "opt", "pbm", "pbm_pq", "clock")
    assert opt <= pbm < 1.2 * opt
    assert pbm < 0.7 * clock
    assert pq < clock


def test_what_is_not_told_is_not_foreseen(call: Call, ok: Call, tmp_path: Path) -> None:
    """The same references without their scans: then it is LRU, or nearly so."""
    told = generate(ok, tmp_path / "t.parquet", TPCH)
    assert "does not hold" in call("trace convert", told, tmp_path / "t.txt").err
    (foreseen,) = misses(ok, told, "30%", "pbm")
    alone, lru = misses(ok, tmp_path / "t.txt", "30%", "pbm", "lru")
    assert alone > 1.3 * foreseen
    assert alone == pytest.approx(lru, rel=0.15)


def test_scans_that_meet_read_less(ok: Call, tmp_path: Path) -> None:
    """The order is free, so this is below OPT of the order in which they would go."""
    fixed = generate(ok, tmp_path / "fixed.parquet", TPCH)
    met = generate(ok, tmp_path / "met.parquet", f"{TPCH} --meet")
    opt, clock = misses(ok, fixed, "30%", "opt", "clock")
    pbm_met, clock_met = misses(ok, met, "30%", "pbm", "clock")
    assert pbm_met < 0.95 * opt
    assert clock_met < 0.9 * clock


def leader_and_follower(pages: int = 3000, behind: int = 500) -> InMemoryTrace:
    """Two scans of one index, far behind each other; a point read follows every other event."""
    rng = np.random.default_rng(1)
    order = rng.permutation(pages)
    rows: list[dict[str, Any]] = []

    def scan_event(scan: int, page: int, kind: Kind = Kind.READ) -> None:
        size = 7 if kind == Kind.SCAN_BEGIN else 0  # the index's number
        page = page_number(1, page)
        rows.append({"page": page, "kind": kind, "flags": Flag.INDEX, "scan": scan, "size": size})

    for step in range(pages + behind):
        for scan, at in ((1, step), (2, step - behind)):
            if at == 0:
                scan_event(scan, int(order[0]), Kind.SCAN_BEGIN)
            if 0 <= at < pages:
                scan_event(scan, int(order[at]))
            if at == pages - 1:
                scan_event(scan, int(order[at]), Kind.SCAN_END)
        rows.append(
            {"page": page_number(2, step), "kind": Kind.READ, "flags": 0, "scan": 0, "size": 0}
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["time"] = [10 * i for i in range(len(rows))]
    return InMemoryTrace.from_arrays("trailing", columns.pop("page"), **columns)


def test_a_page_waits_for_the_scan_that_trails(ok: Call, tmp_path: Path) -> None:
    trace = tmp_path / "trailing.parquet"
    write_trace(leader_and_follower(), trace)
    on, off, lru = misses(ok, trace, 700, "pbm", "pbm:index_scans=off", "lru")
    assert lru == 9500, "all are gone before the follower comes"
    assert off > 0.95 * lru
    # it hits nearly all that it can: the first pages were read before anyone trailed
    assert on < off - 0.8 * 3000


def test_the_guide_runs(ok: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "prediction.md").read_text()
    monkeypatch.chdir(tmp_path)
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S)
        for line in block.splitlines()
        if "monday.rec" not in line  # tests/server has a recording
    ]
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "tidepool"
        ok(words[1:])
