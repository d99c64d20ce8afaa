"""A server's recording is replayed with what the server ran; what it lacks is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Call
from tidepool import parse_policy
from tidepool.simulation import Cell, Options, Sampling, simulate
from tidepool.traces import open_trace, write_trace
from traces.test_recording import end, header, record


def recording(path: Path, dropped: int = 0, **server: Any) -> Path:
    """Of 4,000 references by two backends to 300 pages."""
    events = (record(i, 300, i * i % 173 + i % 127, flags=0) for i in range(4000))
    path.write_bytes(header(**server) + b"".join(events) + end(dropped, f300="public.t"))
    return path


@pytest.fixture
def monday(tmp_path: Path) -> Path:
    return recording(tmp_path / "monday.rec", algorithm="lirs", parameters="hir=0.1", buffers=50)


def test_without_options(ok: Call, monday: Path) -> None:
    (found,) = ok("simulate", monday, "--format json").records
    assert (found["trace"], found["policy"], found["frames"]) == ("monday", "lirs", 50)
    assert (found["params"]["hir"], found["seed"], found["batch"]) == (0.1, 1, 32)
    cell = Cell(parse_policy("lirs:hir=0.1"), 50, 1)
    (result,) = simulate([(open_trace(monday), [cell])], Options(batch=32))
    assert found["misses"] == result.misses > 500


def test_options_win(ok: Call, monday: Path) -> None:
    def one(options: str) -> tuple[Any, ...]:
        (found,) = ok("simulate", monday, "--format json", options).records
        keys = ("policy", "frames", "seed", "batch")
        return tuple(found.get(key) for key in keys)

    assert one("--policy arc") == ("arc", 50, 1, 32)
    assert one("--frames 70") == ("lirs", 70, 1, 32)
    assert one("--seed 0") == ("lirs", 50, 0, 32)
    assert one("--batch 0") == ("lirs", 50, 1, None)
    assert one("--policy random --frames 9 --seed 3 --batch 4") == ("random", 9, 3, 4)


def test_conversion_keeps_what_the_server_ran(ok: Call, monday: Path, tmp_path: Path) -> None:
    ok("trace convert", monday, tmp_path / "monday.parquet")
    first, second = (
        ok("simulate", path, "--format csv").out.split(",seconds", 1)[0]
        for path in (monday, tmp_path / "monday.parquet")
    )
    assert first == second


def test_a_sample_is_replayed_in_fewer_frames(call: Call, tmp_path: Path) -> None:
    path = recording(tmp_path / "some.rec", sample_rate=0.25, buffers=100, algorithm="keep")
    out = call("simulate", path, "--format json")
    assert out.status == 0
    assert out.err == f"tidepool: warning: {path}: a sample of 25% of the pages\n"
    (found,) = out.records
    assert (found["policy"], found["frames"], found.get("batch")) == ("clock", 25, None)


def test_a_sample_of_a_recording(ok: Call, monday: Path) -> None:
    (found,) = ok("simulate", monday, "--sample 50% --format json").records
    cell = Cell(parse_policy("lirs:hir=0.1"), 50, 1)
    (result,) = simulate([(open_trace(monday), [cell])], Options(sampling=Sampling(0.5, 1)))
    assert found["misses"] == result.misses


def test_what_needs_options(call: Call, monday: Path, folder: Path, tmp_path: Path) -> None:
    for options, missing in (("", "policy"), ("--policy lru", "frames")):
        out = call("simulate", monday, folder / "zipf.csv", *options.split())
        assert (out.status, out.out) == (2, "")
        assert out.err.startswith(
            f"tidepool: error: Missing option '--{missing}': zipf is not a server's recording.\n"
        )
    theirs = recording(tmp_path / "theirs.rec", algorithm="second_chance")
    out = call("simulate", theirs)
    assert (out.status, out.out) == (1, "")
    assert out.err == (
        'tidepool: error: theirs: recorded under "second_chance",'
        " which the simulator does not have\n"
        "HINT:  Choose a policy.\n"
    )


def test_every_use_warns_of_what_is_missing(call: Call, tmp_path: Path) -> None:
    path = recording(tmp_path / "t.rec", dropped=1234)
    native = tmp_path / "t.parquet"
    write_trace(open_trace(path), native)
    missing = "1,234 events are missing from the recording: raise bufferpool.trace_buffers"
    for trace in (path, native):
        for command, rest in (
            ("simulate", ""),
            ("simulate", "--policy lru --frames 10"),
            ("curve", "--policy lru"),
            ("compare", "--policy lru --frames 10"),
            ("trace info", ""),
            ("trace convert", str(tmp_path / "out.parquet")),
            ("trace sample --rate 50%", str(tmp_path / "out.parquet")),
        ):
            out = call(command, trace, *rest.split())
            assert out.status == 0
            assert out.err == f"tidepool: warning: {trace}: {missing}\n"


def test_info(ok: Call, monday: Path) -> None:
    assert (
        "recorded by      PostgreSQL 18.6, lirs:hir=0.1, 50 buffers\n"
        in ok("trace info", monday).out
    )
    (found,) = ok("trace info --format json", monday).records
    assert found["recorded"]["algorithm"] == "lirs"
    assert found["recorded"]["dropped"] == 0
