"""TPC-H's and YCSB's tables in a server: what is in them, and what goes wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from server.conftest import Make
from tidepool.errors import TidepoolError
from tidepool.workloads import tpch, ycsb

SCALE = 0.01

# TPC-H's clause 4.2.5: rows at scale factor 1; lineitem's vary about four an order
ROWS = {
    "supplier": 10_000,
    "customer": 150_000,
    "part": 200_000,
    "partsupp": 800_000,
    "orders": 1_500_000,
}


def generator(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program in the generator's place."""
    path = tmp_path / tpch.GENERATOR
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))


def test_all_tables(make: Make) -> None:
    server = make(shared_buffers="16MB")
    told: list[str] = []
    tpch.load(server, SCALE, progress=told.append)
    assert told == [f"{what} {name}" for name in tpch.TABLES for what in ("loading", "vacuuming")]
    counts = {name: int(server.query(f"SELECT count(*) FROM {name}")) for name in tpch.TABLES}
    assert counts.pop("region") == 5 and counts.pop("nation") == 25
    assert 3.9 < counts.pop("lineitem") / counts["orders"] < 4.1
    assert counts == {name: rows * SCALE for name, rows in ROWS.items()}
    keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND connamespace = {}"
    assert server.query(keys.format("'public'::regnamespace")) == "8"
    # a join of all, by keys that must match; the generator's data has no dangling ones
    lines = server.query(
        "SELECT count(*), count(*) FILTER (WHERE r_regionkey IS NOT NULL) FROM lineitem"
        " LEFT JOIN orders ON o_orderkey = l_orderkey"
        " LEFT JOIN customer ON c_custkey = o_custkey"
        " LEFT JOIN nation ON n_nationkey = c_nationkey"
        " LEFT JOIN region ON r_regionkey = n_regionkey"
    ).split("|")
    assert lines[0] == lines[1]


def test_clustered_and_still(make: Make) -> None:
    server = make(shared_buffers="16MB")
    tpch.load(server, SCALE, ["lineitem"], clustered=True)
    assert server.query("SELECT count(*) FROM pg_class WHERE relname = 'orders'") == "0"
    unordered = server.query(
        "SELECT count(*) FROM (SELECT greatest(l_receiptdate, l_commitdate) AS it,"
        " lag(greatest(l_receiptdate, l_commitdate)) OVER (ORDER BY ctid) AS before"
        " FROM lineitem) AS pairs WHERE it < before"
    )
    assert unordered == "0"
    # reading it writes none of its pages (planning reads catalogs, and may)
    for settings, node in (
        ("enable_seqscan", "Bitmap Index Scan on lineitem_shipdate"),
        ("enable_bitmapscan", "Seq Scan on lineitem"),
    ):
        plan = server.query(
            f"SET {settings} = off; SET enable_indexscan = off;"
            "EXPLAIN (ANALYZE, BUFFERS, COSTS off) SELECT sum(l_quantity) FROM lineitem"
            " WHERE l_shipdate >= '1995-01-01' AND l_shipdate < '1996-01-01'"
        )
        executed, planned, _ = plan.partition("Planning")
        assert node in executed and "dirtied" not in executed and planned
    # and the order of rows is the same in another server
    other = make(shared_buffers="16MB", work_mem="64kB")
    tpch.load(other, SCALE, ["lineitem"], clustered=True)
    sample = "SELECT ctid, l_orderkey, l_linenumber FROM lineitem WHERE l_orderkey % 100 = 1"
    assert server.query(sample) == other.query(sample)


def test_what_cannot_be_loaded(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()
    with pytest.raises(TidepoolError, match="TPC-H has no table cutomer"):
        tpch.load(server, SCALE, ["region", "cutomer"])
    for scale in (0, -1, float("nan"), 0.0001):
        with pytest.raises(TidepoolError, match=r"must be at least 0\.001"):
            tpch.load(server, scale)
    tpch.load(server, SCALE, ["region"])
    with pytest.raises(TidepoolError, match='relation "region" already exists'):
        tpch.load(server, SCALE, ["region"])

    generator(tmp_path, "echo n_nationkey,n_name,n_regionkey,n_comment; exit 3", monkeypatch)
    with pytest.raises(TidepoolError, match="tpchgen-cli failed: exit status 3"):
        tpch.load(server, SCALE, ["nation"])
    generator(tmp_path, "echo it burns >&2; exit 1", monkeypatch)
    with pytest.raises(TidepoolError, match="tpchgen-cli failed: it burns"):
        tpch.load(server, SCALE, ["nation"])
    assert server.query("SELECT to_regclass('nation') IS NULL") == "t"
    generator(tmp_path, "echo n_nationkey,other", monkeypatch)
    with pytest.raises(TidepoolError, match="wrong number of fields in header"):
        tpch.load(server, SCALE, ["nation"])
    (tmp_path / tpch.GENERATOR).unlink()
    with pytest.raises(TidepoolError, match="tpchgen-cli is not installed") as missing:
        tpch.load(server, SCALE, ["nation"])
    assert missing.value.hint == "install it: pip install 'tidepool[workloads]'"


def test_ycsb_records(make: Make) -> None:
    server = make(shared_buffers="16MB")
    ycsb.load(server, 1000)
    assert (
        server.query(
            "SELECT count(*), min(ycsb_key), max(ycsb_key), count(DISTINCT field9),"
            " min(length(field0)), max(length(field9)) FROM usertable"
        )
        == "1000|1|1000|1000|100|100"
    )
    per_page = "SELECT count(*), (ctid::text::point)[0] FROM usertable GROUP BY 2 ORDER BY 1 DESC"
    assert server.query(per_page).splitlines()[0].startswith("6|")
    with pytest.raises(TidepoolError, match='relation "usertable" already exists'):
        ycsb.load(server, 1000)


def test_ycsb_requests(make: Make) -> None:
    server = make(shared_buffers="16MB")
    ycsb.load(server, 1000)
    server.query("CREATE TABLE asked (key bigint)")
    read, update = (server.directory / name for name in ("read.sql", "update.sql"))
    # the drawing is as it is in the script; what is drawn is written down beside it
    read.write_text(ycsb.read_script(1000) + "INSERT INTO asked VALUES (:key);\n")
    update.write_text(ycsb.update_script(1000))
    before = server.query("SELECT pg_relation_size('usertable')")
    for script, times in ((read, 5000), (update, 200)):
        pgbench = (server.bin / "pgbench", "-n", f"-t{times}", "--random-seed=1", "-f", script)
        run = server.run(*pgbench)
        assert run.returncode == 0, run.stdout
    keys = [
        tuple(map(int, line.split("|")))
        for line in server.query(
            "SELECT key, count(*) FROM asked GROUP BY 1 ORDER BY 2 DESC, 1"
        ).splitlines()
    ]
    # Zipf's law: of 1000, the most popular has 1 / H(1000), an eighth of the requests
    assert 5000 / 10 < keys[0][1] < 5000 / 6
    assert 1.5 < keys[0][1] / keys[1][1] < 2.7
    assert all(1 <= key <= 1000 for key, _ in keys)
    # strewn
    assert max(key for key, _ in keys[:20]) > 500 > min(key for key, _ in keys[:20])
    updated = "SELECT count(*) FROM usertable WHERE field0 LIKE '%xxx'"
    assert 20 < int(server.query(updated)) < 200
    # in place
    assert server.query("SELECT pg_relation_size('usertable')") == before
    in_place = "SELECT n_tup_upd, n_tup_hot_upd > 150 FROM pg_stat_user_tables WHERE relname = {}"
    assert server.query(in_place.format("'usertable'")) == "200|t"
