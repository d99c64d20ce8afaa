"""Queries with ORDER BY give the same rows, in the same order, whether their scans meet or not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.conftest import Make
from server.scans.tables import BITMAP, NO_INDEX, PARALLEL, fill, running, wait_for_sql
from tidepool.server import Instance

SESSIONS = 4
SECONDS = 60  # for scans to meet
SERIAL = "SET max_parallel_workers_per_gather = 0"
# with these, rows of equal order are equal, or there are none
QUERIES = (
    "SELECT id, length(pad) FROM t ORDER BY id DESC LIMIT 100",
    "SELECT id % 7 AS k, count(*), sum(id), min(id) FROM t GROUP BY k ORDER BY k",
    "SELECT id FROM t WHERE id % 100 = 3 AND id BETWEEN 0 AND 9900 ORDER BY md5(id::text)",
    "SELECT DISTINCT id % 50 AS k FROM t WHERE id BETWEEN 1000 AND 9000 ORDER BY k OFFSET 10",
    "SELECT id, sum(id) OVER (ORDER BY id) FROM t WHERE id BETWEEN 200 AND 9800"
    " ORDER BY id OFFSET 9000",
    "SELECT a.id, b.id FROM t a JOIN t b ON a.id = b.id + 5000 WHERE b.id BETWEEN 0 AND 4999"
    " AND a.id BETWEEN 5000 AND 9999 ORDER BY a.id LIMIT 200",
    "SELECT string_agg(id::text, ',' ORDER BY id) FROM t WHERE id BETWEEN 4000 AND 9999"
    " AND id % 300 = 1 GROUP BY id % 2 ORDER BY 1",
    "(SELECT id FROM t WHERE id BETWEEN 100 AND 6000 ORDER BY id LIMIT 5) UNION ALL"
    " (SELECT -id FROM t WHERE id BETWEEN 3000 AND 9900 ORDER BY id DESC LIMIT 5) ORDER BY 1",
)
SLOW = "SELECT count(*) FROM t WHERE id BETWEEN 0 AND 9900 AND length(pg_sleep(0.005)::text) = 0"
MET = "SELECT count(*) FROM pg_stat_scans WHERE met_pid IS NOT NULL"


@pytest.fixture(scope="module", params=["pbm", "pbm_pq"])
def server(make_once: Make, request: pytest.FixtureRequest) -> Iterator[Instance]:
    """Buffers for half of table t."""
    instance = make_once(
        request.param,
        shared_buffers="4MB",
        max_worker_processes="24",
        max_parallel_workers="16",
    )
    fill(instance)
    yield instance


def answers(server: Instance, settings: str, meet: str) -> str:
    """Run all queries in one session."""
    meeting = f"SET synchronize_seqscans = {meet}; SET bufferpool.synchronize_bitmap_scans = {meet}"
    return server.query(settings, meeting, *QUERIES)


@pytest.mark.parametrize("parallel", [SERIAL, PARALLEL], ids=["serial", "parallel"])
@pytest.mark.parametrize("access", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_order_by(server: Instance, access: str, parallel: str) -> None:
    """Sessions at the same time, beside a scan that stays: some of their scans are seen to meet."""
    settings = f"{access}; {parallel}"
    expected = answers(server, settings, "off")
    lines = expected.splitlines()
    assert len(lines) > 800
    meetings = 0
    alone = f"{access}; {SERIAL}; SET synchronize_seqscans = off"
    with (
        running(server, "alone", alone, SLOW),
        ThreadPoolExecutor(SESSIONS) as threads,
    ):
        wait_for_sql(server, "(SELECT count(*) = 1 FROM pg_stat_scans WHERE blocks_done > 128)")
        deadline = time.monotonic() + SECONDS
        while meetings < 3 and time.monotonic() < deadline:
            sessions = [
                threads.submit(answers, server, settings, meet)
                for meet in ("on", "on", "on", "off")[:SESSIONS]
            ]
            while not all(session.done() for session in sessions):
                meetings += int(server.query(MET)) > 0
            assert [session.result() for session in sessions] == [expected] * SESSIONS
    assert meetings >= 3


def test_without_meeting_nobody_meets(server: Instance) -> None:
    with running(server, "alone", f"{NO_INDEX}; {SERIAL}", SLOW):
        wait_for_sql(server, "(SELECT count(*) = 1 FROM pg_stat_scans WHERE blocks_done > 128)")
        with ThreadPoolExecutor(1) as threads:
            session = threads.submit(answers, server, f"{NO_INDEX}; {SERIAL}", "off")
            while not session.done():
                assert server.query(MET) == "0"
            session.result()
