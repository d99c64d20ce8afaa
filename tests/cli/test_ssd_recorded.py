"""``tidepool simulate`` with a recording of a server that has an SSD."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Call
from simulation.test_below import RAN, SERVER, has, read, trace_of
from tidepool.simulation import replay_recorded_ssd
from tidepool.traces import Kind, open_trace, write_trace


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a recording, ssd.parquet."""
    path = tmp_path_factory.mktemp("recorded")
    rows = [
        row
        for i in range(400)
        for row in ((Kind.READ, i % 4, 0, 0), read(i % 4, hit=i % 2 == 1), has(i % 4))
    ]
    write_trace(trace_of(rows, replace(SERVER, buffers=2)), path / "ssd.parquet")
    return path


def test_the_servers_own_ssd(ok: Call, recorded: Path) -> None:
    (record,) = ok(f"simulate {recorded}/ssd.parquet --format json").records
    result = replay_recorded_ssd(open_trace(recorded / "ssd.parquet"))
    assert record["ssd"] == result.to_json()
    assert record["ssd"]["recorded_hits"] == 200 and record["ssd"]["hits"] > 0
    out = ok(f"simulate {recorded}/ssd.parquet").out
    assert "lru, as recorded" in out and "server's" in out
    warm = ok(f"simulate {recorded}/ssd.parquet --warmup 100 --format json").records[0]
    assert warm["ssd"]["reads"] == 300


def test_another_ssd_in_its_place(ok: Call, recorded: Path) -> None:
    records = ok(
        f"simulate {recorded}/ssd.parquet --ssd-policy fifo --ssd-policy none --ssd-frames 3 "
        "--format json"
    ).records
    assert [record["ssd"]["policy"] for record in records] == ["fifo", "none"]
    assert [record["ssd"]["reads"] for record in records] == [400, 400]  # not memory's misses
    assert "recorded_hits" not in records[0]["ssd"]


def test_another_memory_means_other_reads(ok: Call, recorded: Path) -> None:
    (record,) = ok(f"simulate {recorded}/ssd.parquet --frames 3 --format json").records
    assert "ssd" not in record
    (record,) = ok(
        f"simulate {recorded}/ssd.parquet --frames 3 --ssd-policy lru --ssd-frames 3 --format json"
    ).records
    assert record["ssd"]["reads"] == record["misses"]


def test_an_ssd_policy_that_is_not_known(call: Call, tmp_path: Path) -> None:
    ran = replace(SERVER, ssd=replace(RAN, policy="mine"))
    write_trace(trace_of([(Kind.READ, 1, 0, 0), read(1)], ran), tmp_path / "t.parquet")
    failed = call(f"simulate {tmp_path}/t.parquet")
    assert failed.status == 1
    assert 't: its SSD was under "mine"' in failed.err
    assert "--ssd-policy" in failed.err
