"""Pools on the command line: ``tidepool simulate --pool`` and ``tidepool pools``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cli.conftest import Call
from tidepool import parse_policy
from tidepool.errors import TidepoolError
from tidepool.options import parse_layout, parse_pool
from tidepool.simulation import Layout, Options, PoolSpec, simulate_layouts
from tidepool.traces import InMemoryTrace, Kind, open_trace, page_number, write_trace
from traces.test_recording import DEFAULT, HOT, definition, end, header, record


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A hot table and a log that is scanned."""
    pages = []
    for i in range(3000):
        pages += [page_number(1, i * i % 97 % 60), page_number(2, i % 500), page_number(3, i % 7)]
    trace = InMemoryTrace.from_arrays(
        "orders",
        pages,
        kind=[i % 5 == 0 for i in range(len(pages))],
        relations={1: "public.orders", 2: "public.log", 3: "public.pg_class"},
    )
    write_trace(trace, tmp_path / "orders.parquet")
    return tmp_path / "orders.parquet"


def test_pools_are_what_the_library_says(ok: Call, orders: Path) -> None:
    options = "--pool hot=lru_k:k=3,50:orders --pool log=fifo,1%:log --resize 2000:hot=30"
    (found,) = ok(
        "simulate", orders, options, "--policy clock --frames 100 --warmup 100 --format json"
    ).records
    pools = (
        PoolSpec("hot", parse_policy("lru_k:k=3"), 50, (1,)),
        PoolSpec("log", parse_policy("fifo"), 5, (2,)),
    )
    layout = Layout(parse_policy("clock"), 100, pools, ((2000, "hot", 30),))
    (result,) = simulate_layouts(open_trace(orders), [layout], 0, Options(warmup=100))
    assert found["pools"] == [vars(pool) for pool in result.pools]
    assert (found["misses"], found["requests"]) == (result.misses, 8900)
    assert (found["policy"], found["frames"], found["resize"]) == (
        "clock",
        100,
        [[2000, "hot", 30]],
    )
    assert [pool["frames"] for pool in found["pools"]] == [65, 30, 5]
    assert sum(pool["misses"] for pool in found["pools"]) == found["misses"]
    assert sum(pool["evictions"] for pool in found["pools"]) == found["evictions"]


def test_a_table_of_pools(ok: Call, orders: Path) -> None:
    out = ok("simulate", orders, "--policy lru --frames 100 --pool hot=arc,80:orders").out
    lines = [line.split() for line in out.splitlines()]
    assert ["orders"] in lines
    assert [line[:4] for line in lines if line[:1] in (["DEFAULT"], ["hot"], ["all"])] == [
        ["DEFAULT", "lru", "20", "6,000"],
        ["hot", "arc", "80", "3,000"],
        ["all", "100", "9,000", lines[-2][3]],
    ]


def test_rows_of_pools(ok: Call, orders: Path) -> None:
    out = ok("simulate", orders, "--policy lru --frames 100 --pool hot=arc,80:orders --format csv")
    rows = list(csv.DictReader(io.StringIO(out.out)))
    assert [(row["pool"], row["pool_frames"]) for row in rows] == [("DEFAULT", "20"), ("hot", "80")]
    assert {row["frames"] for row in rows} == {"100"}


def test_every_policy_and_size(ok: Call, orders: Path) -> None:
    found = ok(
        "simulate",
        orders,
        "--policy lru --policy arc --frames 70 --frames 90 --pool hot=arc,60:orders --format json",
    ).records
    assert [(r["policy"], r["frames"], r["pools"][0]["frames"]) for r in found] == [
        ("lru", 70, 10),
        ("lru", 90, 30),
        ("arc", 70, 10),
        ("arc", 90, 30),
    ]


def test_pictures(ok: Call, orders: Path, tmp_path: Path) -> None:
    hot = "--pool hot=arc,60:orders"
    for options in ("--seed 0", "--interval 500", "--frames 90"):
        picture = tmp_path / "a.svg"
        ok("simulate", orders, "--policy lru --frames 100", hot, options, "--plot", picture)
        assert "hot=arc" in picture.read_text() or picture.stat().st_size > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--pool hot=arc,900:orders", "the pools have 900 frames, of 100 in all"),
        ("--pool hot=arc,20:order", 'orders: the trace has no relation "order"'),
        ("--pool hot=arc,20 --pool hot=lru,30", 'pool "hot" is given twice'),
        ("--pool hot=arc", 'invalid pool "hot=arc"'),
        ("--pool hot=arc,20,orders", 'invalid pool "hot=arc,20,orders"'),
        ("--pool =arc,20", 'invalid pool "=arc,20"'),
        ("--pool hot=ark,20", 'unknown policy "ark"'),
        ("--pool hot=arc,much", 'invalid size "much"'),
        ("--pool hot=arc,20 --resize 5:30", "a resize names no pool"),
        ("--pool hot=arc,20 --resize 5:b=30", 'no pool "b" to resize'),
        ("--resize 5:hot=30", 'no pool "hot" to resize'),
        ("--pool hot=arc,20 --sample 10%", "pools cannot be sampled"),
        ("--pool hot=arc,20 --ssd-policy none", "pools above an SSD are not simulated"),
        ("--pool hot=arc,20 --policy opt", 'pools have online policies, "opt" is none'),
    ],
)
def test_errors(call: Call, orders: Path, options: str, message: str) -> None:
    out = call("simulate", orders, "--policy clock --frames 100", options)
    assert (out.status in (1, 2), out.out) == (True, "")
    assert message in out.err


def test_a_resize_after_the_end(call: Call, orders: Path) -> None:
    options = "--policy clock --frames 100 --pool hot=arc,20:orders --resize 9000:hot=30"
    out = call("simulate", orders, options)
    assert out.err == (
        "tidepool: warning: orders: no resize before reference 9000, the trace has 9000\n"
    )


def test_what_a_pool_is() -> None:
    pool = parse_pool("hot=clock:max_usage=3,initial=0,64MB:a,b")
    assert (pool.name, str(pool.spec)) == ("hot", "clock:max_usage=3,initial=0")
    assert (pool.size.size.frames, pool.relations) == (8192, ("a", "b"))


def test_what_a_layout_is(tmp_path: Path) -> None:
    layout = parse_layout("clock:max_usage=1; hot=arc,64MB:a,b;log=fifo,1%")
    assert layout.name == "clock:max_usage=1; hot=arc,64MB:a,b; log=fifo,1%"
    assert str(layout.default) == "clock:max_usage=1"
    assert [pool.name for pool in layout.pools] == ["hot", "log"]
    file = tmp_path / "mine.pools"
    file.write_text("# for orders\narc\nhot=arc,64MB:a,b  # lookups\n\nlog=fifo,1%\n")
    assert parse_layout(str(file)).name == "mine"
    assert parse_layout(str(file)).pools == layout.pools
    for text, message in (
        ("arc; lru; hot=arc,1", "two policies of DEFAULT"),
        ("arc", "has no pools"),
        (";", "has no pools"),
        ("hot=arc", "invalid pool"),
    ):
        with pytest.raises(TidepoolError, match=message):
            parse_layout(text)


# ---- tidepool pools ----


def test_layouts_compared(ok: Call, orders: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.pools"
    file.write_text("lru\nlog=fifo,5:log,pg_class\n")
    picture = tmp_path / "pools.svg"
    found = ok(
        "pools",
        orders,
        "--frames 100 --policy lru --policy arc --format json",
        ["--layout", "hot=arc,60:orders"],
        ["--layout", file],
        ["--plot", picture],
    ).records
    assert [r["layout"] for r in found] == ["lru", "arc", "hot=arc,60:orders", "mine"]
    assert [[g["group"] for g in r["groups"]] for r in found] == [["orders", "log, pg_class"]] * 4
    assert {sum(g["misses"] for g in r["groups"]) - r["misses"] for r in found} == {0}
    apart = found[2]["groups"][0]
    assert apart["hit_ratio"] == found[2]["pools"][1]["hit_ratio"] > found[0]["hit_ratio"]
    assert found[2]["policy"] == "lru"  # the first one given
    assert picture.stat().st_size > 0


def test_tables_of_layouts(ok: Call, orders: Path) -> None:
    out = ok("pools", orders, "--frames 100", ["--layout", "hot=arc,60:orders"]).out
    assert "orders, 100 frames, 9,000 requests\n" in out
    header = next(line.split() for line in out.splitlines() if line.startswith("layout"))
    assert header[-2:] == ["orders", "others"]
    alone = ok("pools", orders, "--frames 100").out
    assert "others" not in alone and "DEFAULT" not in alone


def test_rows_of_layouts(ok: Call, orders: Path) -> None:
    out = ok("pools", orders, "--frames 100 --format csv", ["--layout", "hot=arc,60:orders"]).out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["layout"], row["of"], row["name"], row["frames"]) for row in rows] == [
        ("clock", "all", "", "100"),
        ("clock", "group", "orders", "100"),
        ("clock", "group", "others", "100"),
        ("clock", "pool", "DEFAULT", "100"),
        ("hot=arc,60:orders", "all", "", "100"),
        ("hot=arc,60:orders", "group", "orders", "100"),
        ("hot=arc,60:orders", "group", "others", "100"),
        ("hot=arc,60:orders", "pool", "DEFAULT", "40"),
        ("hot=arc,60:orders", "pool", "hot", "60"),
    ]


def test_pools_need_a_size(call: Call, orders: Path) -> None:
    out = call("pools", orders)
    assert (out.status, out.out) == (2, "")
    assert "Missing option '--frames': orders is not a server's recording." in out.err


def test_the_same_layout_twice(call: Call, orders: Path) -> None:
    layout = ["--layout", "hot=arc,60:orders"]
    out = call("pools", orders, "--frames 100", layout, layout)
    assert (out.status, out.err) == (1, "tidepool: error: two layouts have the same name\n")


# ---- recordings of servers with pools ----


@pytest.fixture
def monday(tmp_path: Path) -> Path:
    """Two relations, in DEFAULT and in pool 2; a pool is made, and buffers move."""
    events = []
    for i in range(2000):
        events.append(record(i, 300, i * i % 173))
        events.append(record(i, 400, i % 60, pool=2))
        if i == 1000:
            events += definition(i, 1, name="log", algorithm="fifo", buffers=2)
            events += [record(i, 0, 1, Kind.MOVED, pool=2)] * 2
    path = tmp_path / "monday.rec"
    pools = [DEFAULT | {"buffers": 100}, HOT | {"buffers": 50}]
    beginning = header(version=3, algorithm="lru", buffers=150, pools=pools)
    path.write_bytes(beginning + b"".join(events) + end(f300="public.t", f400="public.h"))
    return path


def test_replayed_with_the_pools_that_ran(ok: Call, monday: Path, tmp_path: Path) -> None:
    (found,) = ok("simulate", monday, "--format json").records
    assert [(p["pool"], p["policy"], p["frames"]) for p in found["pools"]] == [
        ("DEFAULT", "lru", 100),
        ("log", "fifo", 2),
        ("hot", "arc", 48),
    ]
    assert (found["frames"], found["seed"], found["batch"]) == (150, 1, 32)
    ok("trace convert", monday, tmp_path / "monday.parquet")
    (again,) = ok("simulate", tmp_path / "monday.parquet", "--format json").records
    assert again["pools"] == found["pools"]
    (one,) = ok("simulate", monday, "--policy lru --frames 150 --format json").records
    assert "pools" not in one and one["requests"] == found["requests"]


def test_info_lists_the_pools(ok: Call, monday: Path) -> None:
    out = ok("trace info", monday).out
    assert "PostgreSQL 18.6, lru, 150 buffers; DEFAULT: lru, 100; hot: arc, 50\n" in out


def test_pools_too_large_for_memory(call: Call, orders: Path) -> None:
    out = call("simulate", orders, "--policy lru --frames 10TB --pool hot=arc,1GB:orders")
    assert (out.status, out.out) == (1, "")
    assert "GB are needed for pools of 1342177280 frames" in out.err


def test_recorded_pools_compared(ok: Call, monday: Path) -> None:
    found = ok("pools", monday, ["--layout", "h=arc,60:h"], "--format json").records
    assert [r["layout"] for r in found] == ["lru", "as recorded", "h=arc,60:h"]
    assert [g["group"] for g in found[1]["groups"]] == ["h", "others"]
    (replayed,) = ok("simulate", monday, "--format json").records
    assert found[1]["pools"] == replayed["pools"]


def test_a_sample_of_pages_is_not_replayed_into_pools(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "some.rec"
    beginning = header(version=3, sample_rate=0.5, pools=[DEFAULT, HOT])
    path.write_bytes(beginning + record(1, 300, 1) + end())
    out = call("simulate", path)
    assert out.status == 1
    assert "some: a sample of the pages does not show what happened in pools" in out.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sample 50%", "pools cannot be sampled"),
        ("--ssd-policy lru --ssd-frames 9", "pools above an SSD are not simulated"),
        ("--resize 1:9", "a recording says how its pools were resized"),
    ],
)
def test_what_goes_with_recorded_pools(
    call: Call, tmp_path: Path, options: str, message: str
) -> None:
    path = tmp_path / "whole.rec"
    beginning = header(version=3, pools=[DEFAULT, HOT])
    path.write_bytes(beginning + record(1, 300, 1) + end())
    out = call("simulate", path, options)
    assert (out.status, out.out) == (1, "")
    assert out.err.startswith(f"tidepool: error: {message}\nHINT:  Name policies and frames")
    assert call("simulate", path).status == 0
