"""A server under pbm that the tests of a file share; none leaves a scan."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.conftest import Make
from server.counters import stat
from server.load import wait_for
from server.scans.tables import BITMAP, SCANS, fill
from tidepool.server import Instance


@pytest.fixture(scope="module")
def server(make_once: Make) -> Instance:
    """Buffers for half of table t."""
    instance = make_once("pbm", shared_buffers="4MB", max_parallel_workers_per_gather="0")
    fill(instance)
    return instance


@pytest.fixture(autouse=True)
def nothing_is_left(server: Instance) -> Iterator[None]:
    """After each test no scan runs, and each that began has ended."""
    yield
    wait_for("no scan runs", lambda: server.query(SCANS) == "")
    begun, ended, abandoned = stat(server, "scans_begun", "scans_ended", "scans_abandoned")
    assert begun == ended + abandoned


@pytest.fixture
def lossy(server: Instance) -> Iterator[str]:
    """Settings with which bitmaps of table large, 2,560 rows of a block each, are lossy."""
    server.query(
        "CREATE TABLE large AS SELECT i AS id, repeat('x', 5000) AS pad"
        " FROM generate_series(0, 2559) i; ALTER TABLE large ALTER pad SET STORAGE PLAIN;"
        " UPDATE large SET pad = pad || 'y'; CREATE INDEX ON large (id)"
    )
    settings = f"{BITMAP}; SET work_mem = '64kB'"
    query = "SELECT * FROM large WHERE id BETWEEN 128 AND 2431"
    assert "lossy" in server.query(f"{settings}; EXPLAIN (ANALYZE) {query}")
    yield settings
    server.query("DROP TABLE large")
