"""``tidepool policies``: the algorithms and what they cost."""

from __future__ import annotations

import csv
import io

import pytest

from cli.conftest import Call
from tidepool import policies

NAMES = [*(policy.name for policy in policies()), "opt"]


def test_table_lists_all_with_source_and_cost(ok: Call) -> None:
    lines = ok("policies").out.splitlines()
    assert lines[0].split() == ["policy", "algorithm", "source", "parameters", "bytes/frame"]
    assert [line.split()[0] for line in lines[2:] if line] == NAMES
    for policy, line in zip(policies(), lines[2:], strict=False):
        assert policy.title in line
        assert policy.source in line
        assert int(line.split()[-1]) >= policy.frame_bytes


@pytest.mark.parametrize("name", NAMES)
def test_each_is_described(ok: Call, name: str) -> None:
    text = ok("policies", name).out
    policy = next((p for p in policies() if p.name == name), None)
    assert text.startswith(name)
    for label in ("source", "cost", "hits"):
        assert f"  {label}" in text
    for param in policy.params if policy else ():
        assert param.name in text
        assert param.help in text


def test_clock(ok: Call) -> None:
    text = ok("policies", "clock").out
    assert "36 bytes per frame, 0.44% of the 8 kB page in it" in text
    assert "without a lock" in text
    (line,) = [line for line in text.splitlines() if line.startswith("max_usage")]
    assert line.split()[:6] == ["max_usage", "integer", "5", "1", "to", "255"]


def test_opt(ok: Call) -> None:
    text = ok("policies", "opt").out
    assert "it knows the future" in text
    assert "off | on" in text


def test_json(ok: Call) -> None:
    records = ok("policies", "--format", "json").records
    assert [record["name"] for record in records] == NAMES
    for record, policy in zip(records, policies(), strict=False):
        assert record["bytes_per_frame"] == (
            policy.frame_bytes + policy.ghosts_per_frame * policy.ghost_bytes
        )
        assert list(record["params"]) == [param.name for param in policy.params]
    assert records[-1]["offline"] is True
    (clock,) = ok("policies", "clock", "--format", "json").records
    assert clock["params"]["max_usage"] == {
        "kind": "integer", "default": 5, "min": 1, "max": 255,
        "help": "highest usage count; 1 is the textbook's one-bit clock",
    }  # fmt: skip


def test_csv(ok: Call) -> None:
    rows = list(csv.DictReader(io.StringIO(ok("policies", "--format", "csv").out)))
    assert [row["name"] for row in rows] == NAMES
    assert rows[NAMES.index("clock")]["params"] == "max_usage=5,initial=1"


def test_unknown(call: Call) -> None:
    out = call("policies", "clokc")
    assert out.status == 1
    assert out.err == 'tidepool: error: unknown policy "clokc"\nHINT:  Did you mean "clock"?\n'
