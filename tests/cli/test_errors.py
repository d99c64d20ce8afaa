"""Whatever is wrong is told in one line, with a status, and as early as can be."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cli.conftest import Call
from cli.files import FIELDS, write_csv
from simulation.generated import Event, EventTrace
from tidepool import parse_policy
from tidepool.cli.failures import Failures
from tidepool.cli.grids import replay_grids
from tidepool.cli.inputs import inputs
from tidepool.errors import TraceError
from tidepool.experiments.backend import Backend
from tidepool.experiments.plan import Grid
from tidepool.options import Input
from tidepool.simulation import Cell, Options
from tidepool.traces import Chunk, Kind

LRU = ["--policy", "lru"]
TEN = ["--frames", "10"]


def assert_one_line(call: Call, args: list[object], status: int, message: str) -> None:
    out = call(*args)
    assert (out.status, out.out) == (status, "")
    assert "Traceback" not in out.err
    error, *hint = out.err.splitlines()
    assert error.startswith("tidepool: error: ")
    assert re.search(message, error), error
    assert len(hint) <= 1 and all(line.startswith("HINT:  ") for line in hint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*TEN, "--policy", "lro"], 'unknown policy "lro"'),
        ([*TEN, "--policy", ""], "--policy: no policy is given"),
        ([*TEN, "--policy", "clock:speed=1"], 'policy "clock" has no parameter "speed"'),
        ([*TEN, "--policy", "clock:max_usage=900"], 'value 900 of "max_usage" is out of range'),
        ([*TEN, "--policy", "clock:max_usage=x"], 'invalid value for "max_usage": "x"'),
        ([*TEN, "--policy", "clock:max_usage"], 'parameter "max_usage" .* has no value'),
        ([*TEN, "--policy", "opt:bypass=maybe"], 'invalid value for "bypass": "maybe"'),
        ([*LRU, "--frames", "0"], 'size "0" is out of range'),
        ([*LRU, "--frames", "0%"], 'size "0%" is out of range'),
        ([*LRU, "--frames", "150%"], 'size "150%" is out of range'),
        ([*LRU, "--frames", "1kB"], 'size "1kB" is out of range'),
        ([*LRU, "--frames", "lots"], 'invalid size "lots"'),
        ([*LRU, "--frames", "9999999999"], 'size "9999999999" is out of range'),
        ([*LRU, *TEN, "--warmup", "-1"], 'invalid number of references "-1"'),
        ([*LRU, *TEN, "--warmup", "100%"], 'invalid number of references "100%"'),
        ([*LRU, *TEN, "--warmup", "9" * 30], "invalid number of references"),
        ([*LRU, *TEN, "--warmup", "2000"], "loop: the trace is not longer than the warm-up"),
        ([*LRU, *TEN, "--interval", "0"], '--interval: invalid number "0"'),
        ([*LRU, *TEN, "--workers", "0"], '--workers: invalid number "0"'),
        ([*TEN, "--policy", "lru,k=3"], 'no colon between policy "lru" and its parameter "k=3"'),
        ([*TEN, "--policy", "lru,,arc"], 'a policy is missing beside a comma: "lru,,arc"'),
        ([*TEN, "--policy", "lru,"], 'a policy is missing beside a comma: "lru,"'),
        ([*TEN, "--policy", "lru,acr"], 'unknown policy "acr"'),
        ([*TEN, "--policy", "2q:kin=0.3,kuot=0.5"], 'policy "2q" has no parameter "kuot"'),
        ([*LRU, "--frames", "5%,"], 'a size is missing beside a comma: "5%,"'),
        ([*LRU, "--frames", ""], "--frames: no size is given"),
        ([*LRU, *TEN, "--pool", "hot=arc,5:1;"], "a pool is missing beside a semicolon"),
        ([*LRU, *TEN, "--pool", "hot=,5:1"], "--pool: no policy is named"),
        ([*LRU, "--frames", "10k"], 'invalid size "10k"'),
        ([*LRU, "--frames", "1e-1"], 'invalid size "1e-1"'),
        ([*LRU, *TEN, "--seed", "1,x"], '--seed: invalid number "x"'),
        ([*LRU, *TEN, "--seed", "1,"], '--seed: a number is missing beside a comma: "1,"'),
        ([*LRU, *TEN, "--resize", "5:10,6"], 'invalid resize "6"'),
        ([*LRU, *TEN, "--correlation-window", "x"], 'invalid number "x"'),
        ([*LRU, *TEN, "--batch", "1025"], "batch must be from 0 to 1024"),
        ([*LRU, *TEN, "--batch", "8", "--sample", ".5"], "a sample has no queues of hits"),
        ([*LRU, *TEN, "--sample", "0"], 'invalid sampling rate "0"'),
        ([*LRU, *TEN, "--sample", "101%"], 'invalid sampling rate "101%"'),
        ([*LRU, *TEN, "--sample", "half"], 'invalid sampling rate "half"'),
        ([*LRU, *TEN, "--seed", "-1"], 'invalid number "-1"'),
        ([*LRU, *TEN, "--seed", str(2**64)], "invalid number"),
        ([*LRU, *TEN, "--seed", "9" * 5000], "invalid number"),
        ([*LRU, *TEN, "--resize", "9" * 5000 + ":5"], "invalid resize"),
        ([*LRU, *TEN, "--warmup", "9" * 5000], "invalid number of references"),
        ([*LRU, "--frames", "9" * 5000], "size"),
        ([*LRU, *TEN, "--resize", "10"], 'invalid resize "10"'),
        ([*LRU, *TEN, "--resize", "x:10"], 'invalid resize "x:10"'),
        ([*LRU, *TEN, "--resize", "5:0"], 'size "0" is out of range'),
        ([*LRU, *TEN, "--resize", "5:10", "--resize", "5:11"], "two resizes before the same"),
        ([*LRU, *TEN, "--resize", "5:10", "--sample", ".5"], "a sampled pool cannot be resized"),
        (["--policy", "all", *TEN, "--resize", "5:10"], "only pools of online policies"),
        ([*LRU, *TEN, "--interval", "9", "--per-relation", "--format", "csv"], "rows of one kind"),
        ([*LRU, *TEN, "--plot", "x.gif"], 'cannot tell a picture format from the name "x.gif"'),
        ([*LRU, *TEN, "--plot", "/no/such/x.png"], 'there is no directory "/no/such"'),
        ([*LRU, *TEN, "--columns", "page"], 'invalid columns "page"'),
        ([*LRU, *TEN, "--columns", "page=a,page=b"], "invalid columns"),
        ([*LRU, *TEN, "--resize", "5:2147483647"], "out of memory: [0-9]+ GB are needed"),
    ],
)
def test_values(call: Call, folder: Path, options: list[object], message: str) -> None:
    assert_one_line(call, ["simulate", folder / "loop.csv", *options], 1, message)


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [("curve", "--points", "1"), ("compare", "--seeds", "0"), ("pools", "--batch", "x")],
)
def test_numbers(call: Call, folder: Path, command: str, option: str, value: str) -> None:
    args = [command, folder / "loop.csv", option, value]
    assert_one_line(call, args, 1, f'{option}: invalid number "{value}"')


@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        ("lirs:hir=200%", "Use 0 to 1, or 0% to 100%."),
        ("lirs:hir=2", "Use 0 to 1, or 0% to 100%."),
        ("lirs:hir=x", "Use a share: 0.05 or 5%."),
        ("clock:max_usage=900", "Use 1 to 255."),
    ],
)
def test_limits_of_parameters(call: Call, folder: Path, policy: str, hint: str) -> None:
    """They are told in the units in which they may be written."""
    out = call("simulate", folder / "loop.csv", *TEN, "--policy", policy)
    assert out.err.endswith(f"HINT:  {hint}\n")


@pytest.mark.parametrize(
    "args",
    [
        ["simulate"],
        ["simulate", "x.csv", *LRU, *TEN, "--format", "xml"],
        ["simulate", "x.csv", *LRU, *TEN, "--workers", "2", "--scheduler", "tcp://localhost:1"],
        ["simulate", "x.csv", *LRU, *TEN, "--quietly"],
        ["curve"],
        ["policies", "lru", "arc"],
        ["simualte"],
    ],
)
def test_usage(call: Call, args: list[object]) -> None:
    assert_one_line(call, args, 2, "")


COMMANDS: list[list[object]] = [
    ["simulate", *LRU, *TEN],
    ["curve"],
    ["compare", *TEN],
]
each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])


@each_command
def test_missing_trace(call: Call, folder: Path, command: list[object]) -> None:
    args = [*command, folder / "none.csv"]
    assert_one_line(call, args, 1, r"none\.csv: No such file")


# bad ones, what is said of them, and whether that is known before work begins
BAD = {
    "none": ("none.csv: No such file or directory", True),
    "empty": ("empty.csv: the trace is empty", True),
    "scans": ("scans.csv: the trace has no references to pages", True),
    "late": ('late.csv: row 150002: not a page: "x"', False),
    "short": ("short: the trace is not longer than the warm-up", False),
}


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A directory with a bad trace of each kind, and one that is none.csv."""
    (tmp_path / "empty.csv").write_text(",".join(FIELDS) + "\n")
    write_csv(tmp_path / "scans.csv", [Event(1, Kind.SCAN_BEGIN)])
    (tmp_path / "late.csv").write_text("page,n\n" + "7,123456\n" * 150_000 + "x,1\n")
    write_csv(tmp_path / "short.csv", [Event(1), Event(2)])
    return tmp_path


@each_command
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_a_bad_trace_does_not_end_the_rest(
    call: Call,
    folder: Path,
    bad: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[object],
    kept: int,
) -> None:
    """Nor do several; the others are as they would be alone."""
    monkeypatch.setattr("tidepool.options.input.KEPT_EVENTS", kept)
    options = [*command, "--warmup", "100", "--format", "csv"]
    good = [folder / "loop.csv", folder / "zipf.csv"]
    paths = [bad / "none.csv", good[0], *(bad / f"{name}.csv" for name in BAD), good[1]]
    expected = call(*options, *good)
    assert expected.status == 0
    found = call(*options, *paths, "--plot", bad / "good.svg")
    assert found.status == 1
    assert without_seconds(found.out) == without_seconds(expected.out)
    lines = [line for line in found.err.splitlines() if not line.startswith("HINT:")]
    messages = [message for message, early in sorted(BAD.values(), key=lambda bad: not bad[1])]
    assert len(lines) == len(messages)
    for line, message in zip(lines, messages, strict=True):
        assert line.startswith("tidepool: error: ") and line.endswith(message)
    text = (bad / "good.svg").read_text()
    assert "loop" in text and "zipf" in text and "short" not in text


def without_seconds(text: str) -> list[dict[str, str]]:
    found = list(csv.DictReader(io.StringIO(text)))
    return [{key: row[key] for key in row if key != "seconds"} for row in found]


def test_a_bad_trace_among_those_that_a_cluster_replays_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its failure ends the others' jobs, too: they are replayed again, each alone."""

    class Truncated(EventTrace):
        def chunks(self) -> Iterator[Chunk]:
            yield from super().chunks()
            raise TraceError("late: the file ends in the middle of an event")

    good = [EventTrace([Event(i % n) for i in range(50)], name=f"loop-{n}") for n in (5, 9)]
    traces = [good[0], Truncated([Event(1)], name="late"), good[1]]
    failures = Failures()

    def grids(input: Input) -> Iterator[Grid]:
        yield Grid(input, [Cell(parse_policy("lru"), 9)], Options())

    with ThreadPoolExecutor(2) as executor:
        each = inputs(traces, False, failures)
        found = list(replay_grids(each, grids, Backend(executor, 2), failures))
    assert [(grid.input.name, results[0].misses) for grid, results in found] == [
        ("loop-5", 5),
        ("loop-9", 9),
    ]
    message = "tidepool: error: late: the file ends in the middle of an event\n"
    assert capsys.readouterr().err == message


def test_nothing_but_bad_traces(call: Call, bad: Path) -> None:
    for command in ["simulate", *LRU, *TEN], ["curve"], ["compare", *TEN]:
        picture = bad / "none.svg"
        out = call(*command, bad / "none.csv", bad / "empty.csv", "--plot", picture)
        assert (out.status, out.out) == (1, "")
        assert out.err.count("tidepool: error: ") == 2
        assert not picture.exists()


def test_info_of_bad_traces(call: Call, folder: Path, bad: Path) -> None:
    out = call("trace info", bad / "none.csv", folder / "loop.csv", bad / "late.csv")
    assert out.status == 1
    assert out.out == call("trace info", folder / "loop.csv").out
    assert [line.rpartition("/")[2] for line in out.err.splitlines() if "error" in line] == [
        "none.csv: No such file or directory",
        'late.csv: row 150002: not a page: "x"',
    ]


@each_command
def test_empty_trace(call: Call, tmp_path: Path, command: list[object]) -> None:
    (tmp_path / "empty.csv").write_text(",".join(FIELDS) + "\n")
    assert_one_line(call, [*command, tmp_path / "empty.csv"], 1, r"empty\.csv: .*empty")


@each_command
def test_trace_without_references(call: Call, tmp_path: Path, command: list[object]) -> None:
    trace = write_csv(tmp_path / "scans.csv", [Event(1, Kind.SCAN_BEGIN), Event(1, Kind.FORGET)])
    assert_one_line(call, [*command, trace], 1, r"scans\.csv: the trace has no references to pages")


@each_command
def test_damaged_trace(call: Call, tmp_path: Path, command: list[object]) -> None:
    path = write_csv(tmp_path / "damaged.csv", [Event(i) for i in range(9)])
    path.write_text(path.read_text().replace("read", "raed"))
    assert_one_line(call, [*command, path], 1, r"damaged\.csv: ")


@each_command
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_trace_that_turns_out_damaged_late(
    call: Call, monkeypatch: pytest.MonkeyPatch, command: list[object], kept: int
) -> None:
    class Truncated(EventTrace):
        def chunks(self) -> Iterator[Chunk]:
            yield from super().chunks()
            raise TraceError("late.csv: the file ends in the middle of an event")

    trace = Truncated([Event(i % 5) for i in range(50)], name="late")
    monkeypatch.setattr("tidepool.cli.inputs.open_trace", lambda *_: trace)
    monkeypatch.setattr("tidepool.options.input.KEPT_EVENTS", kept)
    assert_one_line(call, [*command, "late.csv"], 1, "ends in the middle of an event")


@each_command
def test_nothing_is_left_to_count(call: Call, folder: Path, command: list[object]) -> None:
    args = [*command, folder / "loop.csv", "--warmup", "2000"]
    assert_one_line(call, args, 1, "loop: the trace is not longer than the warm-up")


def test_errors_come_before_work(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_trace(*_: object) -> None:
        raise AssertionError("a trace was opened")

    monkeypatch.setattr("tidepool.cli.inputs.open_trace", open_trace)
    for options in (["--resize", "1:5", "--sample", "1%"], ["--plot", "x.tiff"]):
        assert call("simulate", "x", *LRU, *TEN, *options).status == 1


def test_picture_that_cannot_be_written(call: Call, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "picture.png").mkdir()
    args = ["curve", folder / "loop.csv", "--plot", tmp_path / "picture.png"]
    assert_one_line(call, args, 1, r"cannot write .*picture\.png")
