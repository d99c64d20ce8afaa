"""Misses: what the algorithm is told of them, when, and what of it costs a lock."""

from __future__ import annotations

import threading
import time

import pytest

from server.conftest import Make
from server.counters import reset_counters, settle, stat
from server.load import Worker, set_up, wait_for
from server.sessions import staying
from server.test_pool import BUFFERS, PAGES, fill, look_up, violations
from tidepool.errors import TidepoolError
from tidepool.server import server_algorithms

LOCK_FREE = {"random", "hyperbolic", "lean_evict", "watt", "pbm"}
PAGE_7 = (
    "SELECT list, count FROM pg_bufferpool_lists()"
    " WHERE relfilenode = pg_relation_filenode('t') AND relforknumber = 0 AND relblocknumber = 7"
)
FIND_7 = "SET enable_seqscan = off; SELECT count(pad) FROM t WHERE ctid = '(7,1)'"


@pytest.mark.parametrize("algorithm", server_algorithms()[1:])
def test_a_miss_takes_the_lock_once(make: Make, algorithm: str) -> None:
    server = make(algorithm, bgwriter_lru_maxpages="0")  # which takes the lock, too
    fill(server)
    look_up(server, 100)
    reset_counters(server)
    look_up(server, 1000)
    misses, locks, evictions, waits = stat(
        server, "reads + extends", "lock_acquisitions", "evictions", "lock_waits"
    )
    assert misses > 500
    if algorithm != "keep":  # the clock chooses for it
        assert evictions > 500
    assert waits < 10
    assert locks <= 1.1 * misses
    if algorithm in LOCK_FREE:
        assert locks == 0


@pytest.mark.parametrize("algorithm", ["lru", "sieve", "pbm"])
def test_searches_are_counted(make: Make, algorithm: str) -> None:
    server = make(algorithm)
    fill(server)
    look_up(server, 100)
    reset_counters(server)
    look_up(server, 300)
    searches, looks, evictions = stat(server, "searches", "looks", "evictions")
    assert searches >= evictions > 100
    assert looks >= searches


# ---- what is queued is told in the end ----


def test_an_idle_session_tells_what_it_has_queued(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    server.query("SELECT pg_bufferpool_reset()")
    with staying(server, FIND_7) as idle:
        try:
            wait_for("the page has been reported", lambda: server.query(PAGE_7) != "")
            assert server.query(PAGE_7) == "recent|0"
        finally:
            assert idle.stdin is not None
            idle.stdin.close()
    assert violations(server) == ""


def test_a_session_tells_when_it_ends(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    server.query("SELECT pg_bufferpool_reset()")
    server.query(FIND_7)
    settle(server)
    assert server.query(PAGE_7) == "recent|0"


def test_pages_of_which_nobody_has_told_yet_are_no_violation(make: Make) -> None:
    server = make("lru", shared_buffers="16MB", bufferpool__batch_size="64")
    fill(server)
    server.query("SELECT pg_bufferpool_reset()")
    with staying(server, FIND_7) as busy:
        try:
            assert violations(server) == ""
        finally:
            assert busy.stdin is not None
            busy.stdin.close()


# ---- rings ----


@pytest.mark.parametrize(("algorithm", "ghosts"), [("arc", "B1"), ("car", "B1"), ("2q", "A1out")])
def test_what_a_ring_recycles_is_no_ghost(make: Make, algorithm: str, ghosts: str) -> None:
    """A scan larger than the pool leaves what is remembered as it was."""
    buffers = 4 * BUFFERS
    server = make(algorithm, shared_buffers="4MB")
    server.query(
        "CREATE TABLE t (id int, pad text) WITH (fillfactor = 10);"
        f" INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, {3 * buffers}) i;"
        " CREATE INDEX ON t (id)"
    )
    rows = 20 * buffers
    server.query(
        f"CREATE TABLE wide AS SELECT i, repeat('x', 900) FROM generate_series(1, {rows}) i"
    )
    server.query("VACUUM ANALYZE")
    look_up(server, 4 * buffers, 3 * buffers)
    remembered = f"SELECT ghost_key FROM pg_bufferpool_lists() WHERE list = '{ghosts}'"
    before = set(server.query(remembered).split())
    assert len(before) > 100
    reuses = stat(server, "reuses")[0]
    assert server.query("SELECT count(*) FROM wide") == str(rows)
    assert stat(server, "reuses")[0] - reuses > 2 * buffers
    after = set(server.query(remembered).split())
    # for the ring's first pages, and for catalogs, the algorithm has evicted some
    assert len(before & after) > len(before) / 2
    assert violations(server) == ""


# ---- pages that become dirty ----


def test_an_algorithm_learns_of_writes(make: Make) -> None:
    """Of pages that are found equally often, those that are written stay."""
    server = make("watt", bufferpool__parameters="write_cost=1000, dampening=1")
    fill(server)
    server.query("CREATE TABLE u (id int, pad text) WITH (fillfactor = 10)")
    server.query("INSERT INTO u SELECT i, repeat('x', 500) FROM generate_series(1, 60) i")
    server.query("CREATE INDEX ON u (id)")
    server.query("VACUUM ANALYZE u")
    resident = (
        "SELECT count(*) FILTER (WHERE relblocknumber < 30),"
        " count(*) FILTER (WHERE relblocknumber >= 30) FROM pg_bufferpool_lists()"
        " WHERE relfilenode = pg_relation_filenode('u') AND relforknumber = 0"
    )
    index = "SET enable_seqscan = off; SET enable_bitmapscan = off"
    written, read = 0, 0
    for turn in range(5):
        for id_ in range(1, 31):
            server.query(
                index,
                f"UPDATE u SET pad = repeat('y', 500) WHERE id = {id_}",
                f"SELECT count(pad) FROM u WHERE id = {id_ + 30}",
            )
        server.query("CHECKPOINT")  # so that they become dirty again
        look_up(server, 600, PAGES - turn)
        counts = server.query(resident).split("|")
        written, read = written + int(counts[0]), read + int(counts[1])
    # of 150 each; without the weight of writes next to none of either are left
    assert written > 120
    assert written > read + 30
    assert violations(server) == ""


# ---- errors half-way ----


@pytest.mark.parametrize("algorithm", ["lru", "arc", "lirs", "car", "sieve", "w_tinylfu", "pbm"])
def test_extensions_that_are_cancelled(make: Make, algorithm: str) -> None:
    """Buffers claimed for a relation's new blocks, and given up half-way, are not lost."""
    server = make(algorithm)
    server.query("CREATE TABLE copied (pad text)")
    stop = threading.Event()

    def copy() -> None:
        # many blocks at a time, and each time cancelled somewhere
        while not stop.is_set():
            for limit in range(1, 40, 3):
                server.run(
                    server.bin / "psql",
                    "-XAtqc",
                    f"SET statement_timeout = '{limit}ms';"
                    " COPY copied FROM PROGRAM 'yes abcdefghijklmnopqrstuvwxyz | head -c 4000000'",
                    "postgres",
                )

    workers = [threading.Thread(target=copy) for _ in range(3)]
    for worker in workers:
        worker.start()
    time.sleep(6)
    stop.set()
    for worker in workers:
        worker.join()
    assert violations(server) == ""
    # as many buffers as ever can be used
    fill(server)
    look_up(server, 600)
    known = int(server.query("SELECT count(buffer) FROM pg_bufferpool_lists()"))
    assert known > BUFFERS - 8
    assert "TRAP" not in server.log.read_text()


def test_a_full_disk_loses_no_buffer(make: Make) -> None:
    """An extension that fails after its buffers are in the mapping."""
    server = make("lru")
    fill(server)
    server.query("CREATE TABLE limited (pad text)")
    limited = server.data / server.query("SELECT pg_relation_filepath('limited')")
    server.stop()
    limited.unlink()
    limited.symlink_to("/dev/full")
    server.start()
    for _ in range(20):
        with pytest.raises(TidepoolError, match="could not"):
            server.query("INSERT INTO limited SELECT repeat('x', 900) FROM generate_series(1, 200)")
    assert violations(server) == ""
    look_up(server, 600)
    known = int(server.query("SELECT count(buffer) FROM pg_bufferpool_lists()"))
    assert known > BUFFERS - 8


@pytest.mark.parametrize("algorithm", ["lru", "arc", "lirs", "s3fifo"])
def test_a_victim_that_cannot_be_had_is_put_back(make: Make, algorithm: str) -> None:
    """Clients that update and find each other's pages while these are about to go."""
    server = make(
        algorithm, shared_buffers="256kB", max_connections="30", bgwriter_lru_maxpages="0"
    )
    set_up(server)
    enough = threading.Event()
    workers = [Worker(server, number, enough) for number in range(2)]
    for worker in workers:
        worker.start()
    bench = server.run(server.bin / "pgbench", "-n", "-c", "16", "-j", "2", "-T", "6", "postgres")
    enough.set()
    for worker in workers:
        worker.join()
    assert bench.returncode == 0, bench.stdout
    retries, evictions = stat(server, "retries", "evictions")
    assert evictions > 1000 and retries > 0
    assert violations(server) == ""
