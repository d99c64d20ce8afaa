"""Index scans: ranges of the table, leaders and those that trail them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.conftest import Make
from server.counters import reset_counters, stat
from server.scans.tables import BLOCKS, INDEX, fill, while_open
from tidepool.server import Instance


@pytest.fixture
def scattered(server: Instance) -> Iterator[str]:
    """A table whose index has another order than the table: 10,000 rows, 1,000 blocks."""
    server.query(
        "CREATE TABLE scattered AS SELECT id * 7919 % 10000 AS id, pad FROM t;"
        " CREATE INDEX ON scattered (id); ANALYZE scattered"
    )
    yield "scattered"
    server.query("DROP TABLE scattered")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT * FROM t WHERE id >= 2000 ORDER BY id", "index|forward"),
        ("SELECT * FROM t WHERE id <= 8000 ORDER BY id DESC", "index|backward"),
        ("SELECT * FROM t WHERE id BETWEEN 2000 AND 2100 ORDER BY id", ""),
    ],
    ids=["forward", "backward", "short"],
)
def test_index_scans_in_the_order_of_the_table(server: Instance, query: str, shown: str) -> None:
    found = while_open(server, query, setting=INDEX)
    assert found.rsplit("|", 1)[0] == shown
    if shown != "":
        assert 700 <= int(found.rsplit("|", 1)[1]) <= 850


def test_index_scans_in_another_order_are_no_ranges(server: Instance, scattered: str) -> None:
    query = f"SELECT * FROM {scattered} WHERE id >= 2000 ORDER BY id"
    assert while_open(server, query, setting=INDEX) == ""


TRAILS = ("marking_scans", "trailing_scans", "marks")


def test_index_scans_leave_marks(server: Instance, scattered: str) -> None:
    """One tuple in 16 of those after the 64th; another index has other marks."""
    server.query(f"CREATE INDEX other ON {scattered} (id, pad)")
    reset_counters(server)
    query = f"SELECT pad FROM {scattered} WHERE id >= 0 ORDER BY id"
    again = f"SELECT pad FROM {scattered} WHERE id >= 0 ORDER BY id, pad"
    server.query(
        f"{INDEX}; BEGIN; DECLARE c CURSOR FOR {query}; MOVE 64 FROM c;"
        f" DECLARE d CURSOR FOR {again}; MOVE 6464 FROM d; MOVE 1000 FROM c; COMMIT"
    )
    marking, trailing, marks = stat(server, *TRAILS)
    assert (marking, trailing) == (2, 0)
    assert 7400 / 32 < marks < 7400 / 8


def test_pages_are_kept_for_trailing_index_scans(make: Make) -> None:
    """Twice as many other pages come in between a leader and its follower as there are buffers."""
    blocks, ahead = 3 * BLOCKS, 300
    leader, follower = "MOVE 20 FROM leader", "MOVE 20 FROM follower"
    others = (
        "SELECT count(pad) FROM others WHERE ctid = ANY (ARRAY("
        "SELECT format('(%s,1)', {0} + i)::tid FROM generate_series(0, 39) i))"
    )
    reads = {}
    for marks in ("on", "off"):
        server = make(
            "pbm",
            shared_buffers="4MB",
            max_parallel_workers_per_gather="0",
            bufferpool__parameters=f"index_scans={marks}",
        )
        fill(server)
        server.query(
            "CREATE TABLE scattered AS SELECT id * 7919 % 10000 AS id, pad FROM t;"
            " CREATE INDEX ON scattered (id); ANALYZE scattered;"
            " CREATE TABLE others AS SELECT t.* FROM t, generate_series(1, 3);"
            " SELECT pg_bufferpool_reset()"
        )
        reset_counters(server)
        query = "SELECT pad FROM scattered WHERE id >= 0 ORDER BY id"
        steps = "; ".join(
            f"{leader}; {others.format(first)}; {follower}" for first in range(0, blocks - 40, 40)
        )
        server.query(
            f"{INDEX}; BEGIN; DECLARE leader CURSOR FOR {query};"
            f" DECLARE follower CURSOR FOR {query}; MOVE {ahead} FROM leader; {steps}; COMMIT"
        )
        assert stat(server, "marking_scans", "trailing_scans") == [2, 1]
        (reads[marks],) = stat(server, "reads")
    # the follower fetches some 1,500 tuples, mostly from blocks of their own; 1,100 of these
    # are kept, or half as many on a machine that stops the session now and then, since
    # pbm goes by the time that the leader takes
    assert reads["on"] < reads["off"] - 300
