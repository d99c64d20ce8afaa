"""Table t, settings that choose a plan for it, and what runs beside."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from server.load import wait_for
from tidepool.server import Instance

BLOCKS = 1000  # of table t; shared_buffers have 512
SCANS = "SELECT kind, direction, blocks_total FROM pg_stat_scans"
NO_INDEX = "SET enable_bitmapscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off"
BITMAP = "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off"
INDEX = "SET enable_seqscan = off; SET enable_bitmapscan = off"
PARALLEL = (
    "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0;"
    " SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
    " SET min_parallel_index_scan_size = 0"
)
BLOCK = "split_part(trim('(' from ctid::text), ',', 1)::int"  # of a row


def fill(server: Instance, blocks: int = BLOCKS) -> None:
    """Table t: ten rows a block, in the order of id."""
    server.query(
        "CREATE TABLE t (id int, pad text) WITH (fillfactor = 100, autovacuum_enabled = off);"
        f" INSERT INTO t SELECT i, repeat('x', 750) FROM generate_series(0, {10 * blocks - 1}) i;"
        " CREATE INDEX ON t (id)"
    )
    server.query("VACUUM ANALYZE t")
    assert server.query("SELECT pg_relation_size('t') / 8192") == str(blocks)


def while_open(server: Instance, query: str, fetch: str = "FETCH 1", setting: str = "") -> str:
    """What pg_stat_scans shows of a cursor's own scans after a fetch."""
    return server.query(
        f"{setting}; BEGIN; DECLARE c SCROLL CURSOR FOR {query}; MOVE {fetch[6:]} FROM c;"
        f" {SCANS} WHERE pid = pg_backend_pid(); COMMIT"
    )


@contextmanager
def running(server: Instance, name: str, *statements: str) -> Iterator[None]:
    """A session of this name with these statements, which ends with its query."""
    commands = [part for statement in statements for part in ("-c", statement)]
    with subprocess.Popen(
        [server.bin / "psql", "-XAtq", *commands],
        env=server.environment() | {"PGAPPNAME": name},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        try:
            yield
        finally:
            server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                f" WHERE application_name = '{name}' AND backend_type = 'client backend'"
            )


def wait_for_sql(server: Instance, condition: str) -> None:
    wait_for(condition, lambda: server.query(f"SELECT {condition}") == "t")
