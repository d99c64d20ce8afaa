"""What processes choose by, where choices need no lock."""

from __future__ import annotations

import pytest

from server.conftest import Make

BUFFERS = 512
SESSIONS = 400


@pytest.mark.parametrize("algorithm", ["random", "hyperbolic", "watt", "pbm"])
def test_sessions_that_end_soon_do_not_all_look_at_the_same_buffers(
    make: Make, algorithm: str
) -> None:
    """They get few process numbers again and again, but not the same random ones."""
    server = make(algorithm, shared_buffers=f"{8 * BUFFERS}kB", max_connections="10")
    server.query(
        "CREATE EXTENSION pg_prewarm; CREATE EXTENSION pg_buffercache",
        "CREATE TABLE t (pad text) WITH (fillfactor = 10, autovacuum_enabled = off)",
        f"INSERT INTO t SELECT repeat('x', 600) FROM generate_series(1, {2 * BUFFERS}) i",
        f"SELECT pg_prewarm('t', first_block => 0, last_block => {BUFFERS + 100})",
    )
    old = (
        "SELECT count(*) FROM pg_buffercache"
        " WHERE relfilenode = pg_relation_filenode('t') AND relforknumber = 0"
        f" AND relblocknumber < {BUFFERS + 100}"
    )
    before = int(server.query(old))
    assert before > BUFFERS / 3
    for i in range(SESSIONS):
        server.query(f"SELECT pad FROM t WHERE ctid = '({BUFFERS + 200 + i},1)'")
    # of each victim at random (1 - 1 / BUFFERS) ** SESSIONS, 46 %, would stay
    assert int(server.query(old)) < 0.6 * before
