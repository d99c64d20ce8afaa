"""Simulations in one call: the command's numbers, from whatever a trace may be."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import tidepool as tp
from cli import files
from cli.conftest import Call, busy_events, call, ok  # noqa: F401
from simulation.generated import zipf
from tidepool.generators import Zipf
from tidepool.simulation import DEVICES, Size

PAGES = zipf(300, 3000).pages


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files.write_csv(tmp_path_factory.mktemp("study") / "busy.csv", busy_events())


def without(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for record in records:
        record.pop("seconds", None)
    return records


# ---- as the command ----


def test_simulate(ok: Call, busy: Path) -> None:  # noqa: F811
    """Options and arguments of the same names mean the same."""
    results = tp.simulate(
        busy,
        policies=["arc", "2q:kin=0.3,kout=0.5", "random"],
        frames=["5%", 20, "1M"],
        seeds=[1, 2],
        warmup="10%",
        interval=500,
        per_relation=True,
        correlation_window=20,
    )
    out = ok(
        *("simulate", busy, "--policy", "arc,2q:kin=0.3,kout=0.5,random", "--frames", "5%,20,1M"),
        *("--seed", "1,2", "--warmup", "10%", "--interval", "500", "--per-relation"),
        *("--correlation-window", "20", "--format", "json"),
    )
    mine = without([result.to_json() for result in results])
    theirs = without(out.records)
    assert len(mine) == len(theirs) == (1 + 1 + 2) * 3
    for one, other in zip(mine, theirs, strict=True):
        assert one == {name: other[name] for name in one}


def test_pools_resizes_and_ssds(ok: Call, busy: Path) -> None:  # noqa: F811
    results = tp.simulate(busy, "clock", 60, pools="hot=arc,30:1", resize=(2000, "hot", 15))
    args = ("--frames", "60", "--pool", "hot=arc,30:1", "--resize", "2000:hot=15")
    (record,) = ok("simulate", busy, "--policy", "clock", *args, "--format", "json").records
    assert results[0].misses == record["misses"]
    assert results.pools.to_table().column("misses").to_pylist() == [
        pool["misses"] for pool in record["pools"]
    ]
    results = tp.simulate(
        busy, "lru", 20, ssd_policies="tac,opt:by=time,none", ssd_frames="20%", ssd_device="nvme"
    )
    args = ("--frames", "20", "--ssd-policy", "tac,opt:by=time,none", "--ssd-frames", "20%")
    out = ok("simulate", busy, "--policy", "lru", *args, "--ssd-device", "nvme", "--format", "json")
    assert [r.ssd.to_json() for r in results if r.ssd] == [r["ssd"] for r in out.records]
    assert [row["tier_policy"] for row in results.rows()] == ["tac", "opt:by=time", "none"]
    limits = ("ssd_write_budget", "ssd_write_budget_per_day", "ssd_keep_share")
    one, other = (
        tp.simulate(
            *(busy, "lru", 20),
            ssd_policies="lru",
            ssd_frames=100,
            ssd_tier="1=keep",
            **dict(zip(limits, values, strict=True)),  # type: ignore[arg-type]
        )
        for values in ((0.5, 0.001, 0.5), ("512kB", "1.024MB", "50%"))
    )
    assert one[0].ssd is not None and other[0].ssd is not None
    assert one[0].ssd.to_json() == other[0].ssd.to_json()


def test_curve_compare_and_pools(ok: Call, busy: Path) -> None:  # noqa: F811
    curves = tp.curve(busy, ["lru", "arc"], points=5, sample="50%", seed=2)
    out = ok(
        *("curve", busy, "--policy", "lru,arc", "--points", "5", "--sample", "0.5"),
        *("--seed", "2", "--format", "json"),
    )
    assert [row["miss_ratio"] for row in curves.rows()] == [r["miss_ratio"] for r in out.records]
    compared = tp.compare(busy, "arc", baseline="lru", frames=["5%", 30])
    out = ok(
        *("compare", busy, "--policy", "arc", "--baseline", "lru", "--frames", "5%,30"),
        *("--format", "json"),
    )
    rows = list(compared.rows())
    assert [row["hit_ratio"] for row in rows] == [r["hit_ratio"] for r in out.records]
    assert [row["policy"] for row in rows] == ["lru", "lru", "arc", "arc", "opt", "opt"]
    layouts = tp.pools(busy, ["hot=arc,30:1", "lru;log=fifo,10:2"], frames=60, policies="clock")
    out = ok(
        *("pools", busy, "--frames", "60", "--policy", "clock", "--layout", "hot=arc,30:1"),
        *("--layout", "lru;log=fifo,10:2", "--format", "json"),
    )
    assert [row["misses"] for row in layouts.rows()] == [r["misses"] for r in out.records]
    assert {row["of"] for row in layouts.parts.rows()} == {"all", "group", "pool"}


def test_results_do_not_depend_on_the_workers(busy: Path) -> None:
    one, many = (
        [r.misses for r in tp.simulate(busy, "all", ["5%", "30%"], workers=workers)]
        for workers in (1, 4)
    )
    assert one == many


# ---- what a trace may be ----


def lru_misses(trace: Any, **options: Any) -> list[int]:
    return [result.misses for result in tp.simulate(trace, "lru", 50, **options)]


def test_kinds_of_traces(tmp_path: Path) -> None:
    path = tmp_path / "pages.txt"
    path.write_text("".join(f"{page}\n" for page in PAGES))
    (expected,) = lru_misses(path)
    table = pa.table({"page": PAGES, "kind": np.zeros(len(PAGES), np.uint8)})
    for trace in (
        str(path),
        [path],
        PAGES,
        PAGES.tolist(),
        tuple(PAGES.tolist()),
        (int(page) for page in PAGES),
        pa.array(PAGES),
        table["page"],
        table,
        {"mine": PAGES},
        tp.open_trace(path),
        tp.load(tp.open_trace(path)),
        zipf(300, 3000),
        path.open("rb"),
        io.BytesIO(path.read_bytes()),
    ):
        assert lru_misses(trace) == [expected], type(trace)
    assert tp.simulate({"mine": PAGES}, "lru", 50)[0].trace == "mine"
    trace = Zipf(pages=9, length=99)
    results = tp.simulate({"a": trace, "b": trace}, "lru", 3)
    assert [result.trace for result in results] == ["a", "b"]
    results = tp.simulate([trace, trace], "lru", 3)
    assert [result.trace for result in results] == [f"{trace.name} (1)", f"{trace.name} (2)"]
    assert trace.name == "zipf(pages=9,length=99)"


def test_several_traces(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "t.txt", tmp_path / "b" / "t.txt"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text("1\n2\n1\n")
    results = tp.simulate([first, second, PAGES, Zipf(pages=9, length=99)], "lru", 2)
    names = [str(first), str(second), "pages 3", "zipf(pages=9,length=99)"]
    assert [r.trace for r in results] == names
    results = tp.simulate([PAGES, PAGES[:500]], "lru", 2)
    assert [(r.trace, r.requests) for r in results] == [("pages 1", 3000), ("pages 2", 500)]


def test_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"lbn": PAGES, "page": PAGES, "kind": 0})
    assert lru_misses(frame["lbn"]) == lru_misses(PAGES) == lru_misses(frame[["page", "kind"]])
    assert tp.simulate(frame["lbn"], "lru", 5)[0].trace == "lbn"
    with pytest.raises(tp.TraceError, match='an event has no "lbn"'):
        tp.simulate(frame, "lru", 5)
    found = tp.simulate(PAGES, "lru,arc", [5, 50]).to_frame()
    assert list(found.columns[:3]) == ["trace", "policy", "frames"]
    assert found.shape[0] == 4 and found["hit_ratio"].between(0, 1).all()


def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = "".join(f"{page}\n" for page in PAGES)
    threading.Thread(target=pipe.write_text, args=[data], daemon=True).start()
    assert lru_misses(pipe) == lru_misses(PAGES)
    program = "import tidepool as tp; print(tp.simulate('-', 'lru', 50)[0].misses)"
    done = subprocess.run(
        [sys.executable, "-c", program], input=data, capture_output=True, text=True, check=True
    )
    assert [int(done.stdout)] == lru_misses(PAGES)


def test_columns_and_keys_of_files(tmp_path: Path) -> None:
    """They are for the files among the traces."""
    path = tmp_path / "log.csv"
    path.write_text("op,key\n" + "".join(f"r,k{page}\n" for page in PAGES))
    expected = lru_misses(PAGES)
    assert lru_misses(path, columns={"page": "key"}, keys="hash") == expected
    assert lru_misses(path, columns="page=key", keys="number") == expected
    both = lru_misses({"file": path, "pages": PAGES}, columns={"page": "key"}, keys="hash")
    assert both == expected * 2


# ---- tables and pictures ----


def test_tables() -> None:
    results = tp.simulate({"<b>&": PAGES}, ["lru", "lirs:hir=2%"], ["5%", 100_000], interval=1000)
    assert len(results) == 4 and results[-1].policy == "lirs" and len(results[:2]) == 2
    table = results.to_table()
    assert table.num_rows == 4
    assert table.column("policy").to_pylist() == ["lru", "lru", "lirs:hir=0.02", "lirs:hir=0.02"]
    html = results._repr_html_()
    assert "&lt;b&gt;&amp;" in html and "<b>" not in html
    assert html.count("<tr>") == 1 + 4 and "100,000" in html
    assert str(results).splitlines()[0].split()[:3] == ["trace", "policy", "frames"]
    assert results.intervals.to_table().num_rows == 4 * 3
    assert "… 40 more rows" in tp.curve(PAGES, "fifo", frames=list(range(1, 101)))._repr_html_()
    assert tp.simulate(PAGES, "lru", 5).relations.to_table().num_rows == 0


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tp.TidepoolError, match="to_frame needs pandas") as error:
        tp.simulate(PAGES, "lru", 5).to_frame()
    assert "to_table()" in (error.value.hint or "")


@pytest.mark.parametrize("policies", ["lru", "all"])
@pytest.mark.parametrize("frames", [["10%"], ["5%", "10%", "20%"]])
def test_pictures(policies: str, frames: list[str]) -> None:
    results = tp.simulate(PAGES, policies, frames)
    for done in (
        results,
        tp.curve(PAGES, policies, frames=frames),
        tp.compare(PAGES, policies, frames=frames),
        tp.pools(PAGES, frames=20, policies="lru,arc"),
    ):
        picture = done.plot()
        assert isinstance(picture, Figure)
        assert picture._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


# ---- what is wrong is said, with what would be right ----


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"policies": "acr"}, 'unknown policy "acr"', 'Did you mean "tac", "car" or "arc"?'),
        ({"policies": "lirs:hri=2%"}, 'no parameter "hri"', "It has: hir"),
        ({"policies": 7}, "7 is not a policy", "tidepool.PythonPolicy"),
        ({"policies": []}, "no policies given, and pages is not a", "Name the policies"),
        ({"frames": 0}, 'size "0" is out of range', "Use 1 to 2147483647 frames"),
        ({"frames": [5, 0]}, 'size "0" is out of range', "Use 1 to"),
        ({"frames": -3}, 'size "-3" is out of range', "Use 1 to"),
        ({"frames": 0.05}, "0.05 is not a number of frames", '"5%" of the pages'),
        ({"frames": True}, "True is not a number of frames", "Use a whole number"),
        ({"frames": "five"}, 'invalid size "five"', "Use a whole number of frames"),
        ({"frames": "500 %"}, 'size "500 %" is out of range', "up to 100%"),
        ({"frames": None}, "no frames given", "Name the frames"),
        ({"frames": [None]}, "None is not a number of frames", "64MB"),
        ({"seeds": -1}, 'seeds: invalid number "-1"', "at least 0"),
        ({"seeds": 1.5}, "seeds is 1.5", "Use a whole number"),
        ({"warmup": "100%"}, 'invalid number of references "100%"', "below 100%"),
        ({"warmup": 5000}, "the trace is not longer than the warm-up", "Lower the warm-up"),
        ({"sample": 5}, 'invalid sampling rate "5"', "Use a share of the pages"),
        ({"sample": 0.5, "batch": 8}, "a sample has no queues", "Leave out"),
        ({"resize": [7]}, "7 is not a resize", "(REFERENCE, SIZE)"),
        ({"resize": (7, 5), "policies": "opt"}, "only pools of online policies", "opt"),
        ({"pools": "hot"}, 'invalid pool "hot"', "hot=arc,64MB:orders,items"),
        ({"ssd_policies": "tac"}, "no size of the SSD is given", "ssd"),
        ({"ssd_write": "never"}, "ssd_write is 'never'", "Use one of through, back"),
        ({"device": "tape"}, 'unknown device "tape"', "hdd"),
        ({"workers": 0}, "workers: invalid number", "at least 1"),
        ({"interval": 0}, 'interval: invalid number "0"', "at least 1"),
        ({"ssd_keep_share": "200%"}, 'ssd_keep_share: invalid share "200%"', "0% to 100%"),
        ({"ssd_keep_share": None}, 'ssd_keep_share: invalid share "None"', "0% to 100%"),
        ({"ssd_write_budget": "much"}, "ssd_write_budget: invalid amount", "20MB"),
        ({"columns": 7}, "columns is 7", "Use a map"),
        ({"format": 7}, "format is 7", '"csv"'),
        ({"format": "csv"}, "format tells how to read a file, and no trace is one", "Leave out"),
        ({"columns": {"page": "key"}}, "columns tells how to read a file", "Leave out columns"),
        ({"keys": "hash"}, "keys tells how to read a file", "Leave out keys"),
        ({"per_relation": "no"}, "per_relation is 'no'", "True or False"),
        ({"ssd_policies": 7}, "7 is not text", "as for the command"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str, hint: str) -> None:
    given: dict[str, Any] = {"policies": "lru", "frames": 5} | arguments
    with pytest.raises(tp.TidepoolError) as error:
        tp.simulate(PAGES, **given)
    assert message in str(error.value)
    assert hint in (error.value.hint or "")


@pytest.mark.parametrize("frames", ["5%", 1.5, -1, True, None])
def test_what_is_no_pool(frames: Any) -> None:
    for arguments in ({"frames": frames}, {"frames": 3, "capacity": frames or "9"}):
        with pytest.raises(tp.PolicyError, match="is not a number of frames") as error:
            tp.Pool("arc", **arguments)
        assert "Use a whole number" in (error.value.hint or "")
    with pytest.raises(tp.PolicyError, match="7 is not a policy"):
        tp.Pool(7, frames=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ([], "no traces given"),
        (np.array([], np.uint64), "the trace has no references"),
        ("no/such.trace", "No such file"),
        (["a.trace", 7], "No such file"),
        ([1, 2.5], "2.5 is not a whole number"),
        ([3, -1], "-1 is below 0"),
        (np.array(["a", "b"]), "is not of numbers"),
        (np.arange(12).reshape(3, 4), 'column "page" has 2 dimensions'),
        (np.array(5), 'column "page" is a single value'),
        (np.array([True, False]), 'column "page" is of booleans'),
        (pa.table({"page": [1, 2], "kind": [0, 99]}), 'column "kind", row 1: 99 is no kind of ev'),
        (7, "7 is not a trace"),
        (b"abc", "is not a trace"),
        (pa.table({"lbn": [1]}), 'has no column "page"'),
        (io.StringIO("1\n"), "open for text"),
    ],
)
def test_what_is_no_trace(trace: Any, message: str) -> None:
    with pytest.raises(tp.TraceError, match=message):
        tp.simulate(trace, "lru", 5)


def test_values_as_what_they_mean() -> None:
    spec = tp.parse_policy("lru_k:k=3")
    results = tp.simulate(
        PAGES,
        [spec, tp.find_policy("arc")],
        [Size(frames=7), np.int64(9), Size(share=0.1)],
        ssd_policies="lru",
        ssd_frames=30,
        device=DEVICES["nvme"],
    )
    assert [r.frames for r in results][:2] == [7, 9]
    assert tp.simulate(PAGES, "lru", np.array(7))[0].frames == 7
    assert results[0].params["k"] == 3
    assert results[0].ssd is not None and results[0].ssd.disk == "nvme"


def test_names() -> None:
    assert tp.__version__.count(".") == 2
    assert {policy.name for policy in tp.policies()} > {"lru", "arc"}
    for name in tp.__all__:
        assert hasattr(tp, name), name
