"""Many clients on a tiny pool while tables are dropped, truncated and vacuumed."""

from __future__ import annotations

import threading

import pytest

from server.conftest import Make
from tidepool.server import Instance

SECONDS = 8
ROUND = (
    "CREATE TABLE d AS SELECT g, repeat('y', 400) FROM generate_series(1, 2000) g",
    "TRUNCATE d",
    "INSERT INTO d SELECT g, repeat('z', 400) FROM generate_series(1, 3000) g",
    "VACUUM d",
    "DROP TABLE d",
)
BALANCED = (
    "SELECT sum(abalance) = (SELECT sum(bbalance) FROM pgbench_branches)"
    " AND sum(abalance) = (SELECT sum(tbalance) FROM pgbench_tellers) FROM pgbench_accounts"
)


class Drops(threading.Thread):
    """Makes and drops a table and verifies the pool, again and again."""

    def __init__(self, server: Instance) -> None:
        super().__init__()
        self.server = server
        self.rounds = 0
        self.enough = threading.Event()
        self.violations: list[str] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self.enough.is_set():
                for statement in ROUND:
                    self.server.query(statement)
                self.violations += self.server.query(
                    "SELECT * FROM pg_bufferpool_check()"
                ).splitlines()
                self.rounds += 1
        except Exception as error:
            self.error = error


@pytest.mark.parametrize("algorithm", ["clock", "lru", "arc", "lirs", "osic"])
def test_pool_stays_sound(make: Make, algorithm: str) -> None:
    server = make(algorithm, autovacuum="on", autovacuum_naptime="1s", bgwriter_delay="20ms")
    server.query("CREATE EXTENSION amcheck")
    assert server.run(server.bin / "pgbench", "-i", "-q", "-s", "1").returncode == 0
    drops = Drops(server)
    drops.start()
    bench = server.run(
        server.bin / "pgbench", "-n", "-c", "8", "-j", "2", "-T", str(SECONDS), "postgres"
    )
    drops.enough.set()
    drops.join()
    assert bench.returncode == 0, bench.stdout
    assert drops.error is None
    assert drops.rounds > 0
    assert drops.violations == []
    assert server.query(BALANCED) == "t"
    server.query(
        "SELECT bt_index_check(oid, true) FROM pg_class WHERE relname = 'pgbench_accounts_pkey'"
    )
    assert "TRAP" not in server.log.read_text()
