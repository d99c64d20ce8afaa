"""Tables: parts, alignment, numbers as text."""

from __future__ import annotations

import re
import sys

import pytest

from tidepool.amounts import aligned, megabytes, percent, percent_change, points
from tidepool.cli.failures import report
from tidepool.cli.printing import print_table

HEADERS = ("policy", "1%", "2%", "5%")
ROWS = (("clock", "11.11", "22.22", "55.55"), ("lru", "1.00", "2.00", "5.00"))


def test_a_table_is_as_wide_as_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("trace", HEADERS, ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "trace",
        "policy      1%      2%      5%",
        "──────────────────────────────",
        "clock    11.11   22.22   55.55",
        "lru       1.00    2.00    5.00",
        "",
    ]


def test_a_narrow_terminal_gets_it_in_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "28")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    print_table("trace", HEADERS, ROWS)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert [line.split() for line in lines if line and "─" not in line] == [
        ["trace"],
        ["policy", "1%", "2%"],
        ["clock", "11.11", "22.22"],
        ["lru", "1.00", "2.00"],
        ["policy", "5%"],
        ["clock", "55.55"],
        ["lru", "5.00"],
    ]
    assert max(map(len, lines)) <= 28


def test_a_terminal_gets_no_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a relation is called, or a file says that its server ran."""
    hostile = "a\x1b]52;c;aGk=\x07\r\x9bm"
    print_table(hostile, ("name",), ((hostile,),))
    report(hostile, hostile)
    shown = "".join(capsys.readouterr()) + "".join(aligned([[hostile, "b"]]))
    assert set(re.findall(r"[\x00-\x1f\x7f-\x9f]", shown)) == {"\n"}
    assert shown.count("a\N{REPLACEMENT CHARACTER}]52;c;aGk=") == 5


def test_numbers() -> None:
    assert [points(x) for x in (0, -0.001, 0.004, 1.234, -56.7)] == [
        "0.00", "0.00", "0.00", "+1.23", "-56.70",
    ]  # fmt: skip
    assert [percent_change(x) for x in (-0.0, 0.0004, -0.0004, 0.01)] == ["0.0%"] * 3 + ["+1.0%"]
    assert percent(0.12345) == "12.35%" or percent(0.12345) == "12.34%"
    assert [megabytes(n) for n in (1, 128, 200, 2**17, 2**31)] == [
        "8 kB", "1 MB", "1.56 MB", "1 GB", "16 TB",
    ]  # fmt: skip
