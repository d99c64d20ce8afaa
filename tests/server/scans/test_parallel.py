"""Scans of several processes."""

from __future__ import annotations

import pytest

from server.counters import reset_counters, stat
from server.scans.tables import BITMAP, BLOCK, NO_INDEX, PARALLEL, running, wait_for_sql
from tidepool.server import Instance


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_every_process_of_a_parallel_scan_announces_it(server: Instance, setting: str) -> None:
    parallel = f"{PARALLEL}; SET debug_parallel_query = on"
    query = "SELECT count(pad) FROM t WHERE id BETWEEN 0 AND 9000"
    reset_counters(server)
    assert server.query(f"{setting}; {parallel}; {query}") == "9001"
    plan = server.query(f"{setting}; {parallel}; EXPLAIN (ANALYZE, BUFFERS OFF) {query}")
    launched = int(plan.split("Workers Launched: ")[1].split()[0])
    assert launched > 0
    begun, ended = stat(server, "scans_begun", "scans_ended")
    assert begun == ended
    # a process that comes when all is read announces nothing that it reads
    assert 2 <= begun <= 2 * (1 + 4)


SLOW = "SELECT count(*) FROM t WHERE id BETWEEN 0 AND 9900 AND length(pg_sleep(0.01)::text) = 0"
WORKERS = (
    "FROM pg_stat_scans JOIN pg_stat_activity USING (pid) WHERE backend_type = 'parallel worker'"
)


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_a_terminated_worker_leaves_no_scan(server: Instance, setting: str) -> None:
    """Its query fails, and each scan that began is counted as abandoned."""
    reset_counters(server)
    with running(server, "many", f"{setting}; {PARALLEL}", SLOW):
        wait_for_sql(server, f"(SELECT count(*) = 4 {WORKERS})")
        assert server.query(f"SELECT pg_terminate_backend(pid, 5000) {WORKERS} LIMIT 1") == "t"
        wait_for_sql(server, "NOT EXISTS (SELECT FROM pg_stat_scans)")
    assert stat(server, "scans_begun", "scans_ended", "scans_abandoned") == [5, 0, 5]


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_every_process_of_a_parallel_scan_shows_whom_it_met(server: Instance, setting: str) -> None:
    alone = f"{setting}; SET synchronize_seqscans = off"
    met = (
        "(SELECT met_pid = (SELECT pid FROM pg_stat_activity WHERE application_name = 'alone')"
        " FROM pg_stat_scans WHERE pid = worker.pid)"
    )
    with running(server, "alone", alone, SLOW):
        wait_for_sql(server, "(SELECT count(*) = 1 FROM pg_stat_scans WHERE blocks_done > 128)")
        with running(server, "many", f"{setting}; {PARALLEL}", SLOW):
            wait_for_sql(server, f"(SELECT count(*) = 4 {WORKERS})")
            workers = f"(SELECT pid {WORKERS}) AS worker"
            assert server.query(f"SELECT bool_and({met}) FROM {workers}") == "t"


# ---- that meet ----


@pytest.mark.parametrize(("setting", "first"), [("on", 512), ("off", 300)], ids=["meets", "off"])
def test_a_parallel_bitmap_scan_begins_where_another_is(
    server: Instance, setting: str, first: int
) -> None:
    """Five processes read each block once; the rows come in about the order of the blocks."""
    shown = server.query(
        f"{BITMAP}; {PARALLEL}; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9000; MOVE 5300 FROM c;"
        f" SET bufferpool.synchronize_bitmap_scans = {setting};"
        f" CREATE TEMP TABLE seen AS SELECT row_number() OVER (), {BLOCK} AS block, id, pad FROM t"
        " WHERE id BETWEEN 3000 AND 9999; COMMIT",
        "SELECT count(*), count(DISTINCT id), sum(id), min(block) FILTER (WHERE row_number <= 10),"
        " max(block) FILTER (WHERE row_number <= 10) FROM seen",
        "DROP TABLE seen",
    ).splitlines()[-1]
    *rows, least, most = (int(value) for value in shown.split("|"))
    assert rows == [7000, 7000, sum(range(3000, 10000))]
    assert first <= least
    assert most < first + 100


def test_lossy_parallel_bitmap_scans_meet(server: Instance, lossy: str) -> None:
    query = "SELECT count(*), sum(id), count(pad) FROM large WHERE id BETWEEN 128 AND 2431"
    cursor = "DECLARE c CURSOR FOR SELECT * FROM large WHERE id BETWEEN 0 AND 2500"
    shown = server.query(
        f"{lossy}; {PARALLEL}; BEGIN; {cursor}; MOVE 1000 FROM c; {query}; {query}; COMMIT"
    )
    assert shown.splitlines() == 2 * [f"2304|{sum(range(128, 2432))}|2304"]


def test_a_parallel_bitmap_scan_begins_again(server: Instance) -> None:
    """Its Gather is rescanned three times, and each time it may meet."""
    query = (
        "SELECT sum(n) FROM generate_series(1, 3) g"
        " LEFT JOIN (SELECT count(pad) AS n FROM t WHERE id BETWEEN 3000 AND 9999) s ON g < n"
    )
    shown = server.query(
        f"{BITMAP}; {PARALLEL}; SET enable_material = off; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9000; MOVE 5300 FROM c;"
        f" EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY OFF) {query}; {query};"
        " COMMIT"
    )
    gathers = [line for line in shown.splitlines() if "Gather" in line]
    assert ["loops=3" in line for line in gathers] == [True], shown
    assert "Parallel Bitmap Heap Scan" in shown
    assert shown.splitlines()[-1] == "21000"
