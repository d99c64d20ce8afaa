"""The stress test, with named pools that change all the time.

Two sessions change pools at random while the clients of the stress test use
them, and while they, too, are cancelled, terminated and killed.  After each
restart, in addition,

- every buffer is in exactly one pool;
- the file of definitions and the pools in memory agree.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable

from server.load import READ, Interruptions, script_file
from server.pools import violations
from server.stress import DRAWN, PROVOKED, Stress
from tidepool.server import Instance

POOLS = ["one", "two", "three", "four", "five"]
HANDLERS = [
    "lru",
    "arc",
    "lirs",
    "osic",
    "car",
    "s3fifo",
    "clock",
    "keep",
    "jam",
    "recycle",
    "pbm",
    "hyperbolic",
]
SIZES = ["128kB", "256kB", "512kB", "1MB", "2MB", "3MB"]
RELATIONS = ["grown", "balances", "pgbench_accounts", "pgbench_history"]
ASSIGN = """
ALTER TABLE grown SET (buffer_pool = 'one', overflow_buffer_pool = 'two');
ALTER INDEX grown_batch_idx SET (buffer_pool = 'two');
ALTER TABLE balances SET (buffer_pool = 'three');
ALTER TABLE pgbench_accounts SET (buffer_pool = 'four');
ALTER INDEX pgbench_accounts_pkey SET (buffer_pool = 'one');
ALTER TABLE pgbench_history SET (buffer_pool = 'five');
ALTER ROLE parallel SET bufferpool.default_pool = 'two';
"""
DRAWN_WITH_POOLS = DRAWN | {
    "shared_buffers": ["2MB", "8MB"],
    "bufferpool.recycle_buffers": ["0", "32"],
    "bufferpool.trickle_write_batch_size": ["0", "100"],
}
REFUSED = re.compile(
    PROVOKED.pattern + r'|buffer pool "\w+" (already exists|does not exist)'
    r'|not enough shared buffers for buffer pool "\w+"'
    r'|buffer pool "\w+" cannot have the remainder of the shared buffers'
    r'|cannot drop buffer pool "\w+" because relations name it'
    r'|relations still name buffer pool "\w+"'
    r'|buffer pool "\w+" keeps the \d+ buffers that it has reached'
    r'|buffer pool "\w+" has reached no buffer, and is dropped'
    r'|buffer pools are larger than "shared_buffers" has become'
    r"|no background worker slot for the writer of buffer pool"
)


# what one must know of violations
SITUATION = [
    "SELECT violation, buffers.* FROM pg_bufferpool_check()"
    " LEFT JOIN pg_bufferpool_buffers AS buffers ON bufferid = number + 1 LIMIT 20",
    "SELECT name, handler, buffers, target, state FROM pg_bufferpool",
    "SELECT pid, backend_type, state, wait_event_type, wait_event, now() - query_start,"
    " left(query, 80) FROM pg_stat_activity",
]


class Changes(Interruptions):
    """Changes pools, one statement after the other."""

    longest_pause = 0.06
    expected = frozenset({"switch"})

    def actions(self) -> dict[Callable[[], None], int]:
        return {
            self.create: 6,
            self.resize: 6,
            self.switch: 6,
            self.drop: 3,
            self.rename: 1,
            self.comment: 1,
            self.move: 1,
            self.assign: 1,
            self.check: 2,
        }

    def _pool(self) -> str:
        return self._rng.choice(POOLS)

    def _execute(self, statement: str) -> None:
        self.done["statements"] += 1  # also those that are refused, or interrupted
        self._server.query(statement)

    def create(self) -> None:
        size = f"SIZE '{self._rng.choice(SIZES)}'"
        remainder, size = self._rng.choice([("REMAINDER", ""), ("", size), ("", size)])
        self._execute(
            f"CREATE BUFFER POOL {self._pool()} {remainder}"
            f" HANDLER {self._rng.choice(HANDLERS)} {size}"
        )

    def resize(self) -> None:
        self._execute(f"ALTER BUFFER POOL {self._pool()} SET SIZE '{self._rng.choice(SIZES)}'")

    def switch(self) -> None:
        pool = self._rng.choice([*POOLS, "DEFAULT"])
        self._execute(f"ALTER BUFFER POOL {pool} SET HANDLER {self._rng.choice(HANDLERS)}")

    def drop(self) -> None:
        self._execute(f"DROP BUFFER POOL {self._pool()} {self._rng.choice(['', 'CASCADE'])}")

    def rename(self) -> None:
        self._execute(f"ALTER BUFFER POOL {self._pool()} RENAME TO {self._pool()}")

    def comment(self) -> None:
        self._execute(f"COMMENT ON BUFFER POOL {self._pool()} IS '{self._rng.random()}'")

    def move(self) -> None:
        self._execute(f"SELECT pg_bufferpool_move('{self._rng.choice(RELATIONS)}')")

    def assign(self) -> None:
        relation = self._rng.choice(RELATIONS)
        self._execute(f"ALTER TABLE {relation} SET (buffer_pool = '{self._pool()}')")

    def check(self) -> None:
        """Look for violations that stay; an algorithm that is being changed has some that pass."""
        wrong = ""
        for _ in range(30):
            wrong = self._server.query("SELECT DISTINCT violation FROM pg_bufferpool_check()")
            if wrong == "":
                return
            time.sleep(0.05)
        raise AssertionError(f"violations that stay: {wrong}\n{self._server.query(*SITUATION)}")


class PoolStress(Stress):
    """A server whose pools change while it is used."""

    drawn = DRAWN_WITH_POOLS
    provoked = REFUSED

    def __init__(self, server: Instance) -> None:
        super().__init__(server)
        server.query(ASSIGN)
        script_file(server, "read").write_text(
            "".join(line for line in READ.splitlines(True) if "pg_bufferpool_check" not in line)
        )

    def others(self, rng: random.Random, enough: threading.Event) -> list[Interruptions]:
        changes = [Changes(self.server, random.Random(rng.random()), enough) for _ in range(2)]
        return [*super().others(rng, enough), *changes]

    def verify(self, rng: random.Random) -> list[str]:
        return disagreements(self.server) + super().verify(rng)

    def _pool(self) -> list[str]:
        return violations(self.server)


# that DEFAULT keeps: BufferPoolFloorOfDefault()
FLOOR = """
SELECT greatest(n / 8, least(n / 2, 2 * backends))
FROM (SELECT pg_size_bytes(current_setting('shared_buffers')) / 8192 AS n,
    2 + sum(setting::int) AS backends
    FROM pg_settings WHERE name IN ('max_connections', 'autovacuum_worker_slots',
        'max_worker_processes', 'max_wal_senders')) AS known
"""


def disagreements(server: Instance) -> list[str]:
    """In what the file and the pools in memory differ, after a start."""
    path = server.data / "pg_bufferpools"
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    written = [line.split("\t")[:4] for line in lines]
    query = (
        "SELECT name, handler, options, CASE WHEN remainder THEN 'remainder' ELSE target::text END"
        " FROM pg_bufferpool WHERE name NOT IN ('DEFAULT', 'RECYCLE')"
    )
    running = [line.split("|") for line in server.query(query).splitlines()]
    total = "SELECT sum(buffers) FILTER (WHERE name <> 'RECYCLE') FROM pg_bufferpool"
    most = int(server.query(total)) - int(server.query(FLOOR))
    wanted = sum(16 if size == "remainder" else int(size) // 8192 for *_, size in written)
    if wanted > most:  # they have been made smaller
        written = [row[:3] for row in written]
        running = [row[:3] for row in running]
    if written == running:
        return []
    return [f"the file has {written}, the server {running}"]
