"""Load that leaves nothing alone: what the clients do, and what is done to them.

All clients are pgbench's, begun again whenever a server that went away, or
somebody's cancellation, has ended them.  Each script keeps something that can
be verified, in one statement while it runs and after any crash.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidepool.errors import TidepoolError
from tidepool.server import Instance

SET_UP = """
CREATE EXTENSION IF NOT EXISTS pg_bufferpool;
CREATE EXTENSION pg_buffercache;
CREATE EXTENSION pg_prewarm;
CREATE ROLE hurried SUPERUSER LOGIN;
ALTER ROLE hurried SET statement_timeout = '60ms';
CREATE ROLE parallel SUPERUSER LOGIN;
ALTER ROLE parallel SET parallel_setup_cost = 0;
ALTER ROLE parallel SET parallel_tuple_cost = 0;
ALTER ROLE parallel SET min_parallel_table_scan_size = 0;
CREATE TABLE grown (batch bigint, number int, pad text);
CREATE INDEX ON grown (batch);
CREATE TABLE balances AS SELECT id, 1000 AS value FROM generate_series(1, 100) id;
CREATE UNIQUE INDEX ON balances (id);
"""

# a table of one's own: created, filled, emptied, its end given back, dropped
CHURN = """
\\set t :worker * 10 + :client_id
\\set outcome random(0, 1)
DROP TABLE IF EXISTS churn_:t, unlogged_:t;
CREATE TABLE churn_:t AS SELECT g AS id, repeat('y', 400) AS pad FROM generate_series(1, 1500) g;
CREATE INDEX ON churn_:t (id);
UPDATE churn_:t SET id = -id WHERE id % 3 = 0;
VACUUM churn_:t;
BEGIN;
TRUNCATE churn_:t;
INSERT INTO churn_:t SELECT g, repeat('z', 900) FROM generate_series(1, 800) g;
\\if :outcome
COMMIT;
\\else
ROLLBACK;
\\endif
DELETE FROM churn_:t WHERE id > 100;
VACUUM churn_:t;
CREATE UNLOGGED TABLE unlogged_:t AS SELECT * FROM churn_:t;
DROP TABLE churn_:t, unlogged_:t;
"""

# one table that all extend at the same time; a batch is there whole or not at all
# (each client deletes batches that the others do not, or they would deadlock)
GROW = """
\\set batch random(1, 9000000000000000)
\\set tenth :client_id * 5 + random(0, 4)
INSERT INTO grown SELECT :batch, g, repeat('g', 300) FROM generate_series(1, 100) g;
INSERT INTO grown SELECT :batch + 1, g, repeat('h', 30) FROM generate_series(1, 100) g;
DELETE FROM grown WHERE batch % 10 = :tenth;
VACUUM grown;
"""

TEMPORARY = """
CREATE TEMP TABLE scratch (id int, pad text) ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO scratch SELECT g, repeat('t', 500) FROM generate_series(1, 2000) g;
SELECT 1 / (count(*) = 2000)::int FROM scratch;
COMMIT;
DROP TABLE scratch;
"""

# sums that stay; a prepared transaction outlives any crash
TRANSFER = """
\\set a random(1, 99)
\\set b random(:a + 1, 100)
\\set amount random(1, 100)
\\set gid random(1, 9000000000000000)
BEGIN;
UPDATE balances SET value = value - :amount WHERE id = :a;
UPDATE balances SET value = value + :amount WHERE id = :b;
PREPARE TRANSACTION 'transfer :gid';
COMMIT PREPARED 'transfer :gid';
"""

# a wrong page, or a wrong state of the pool, is a division by zero
READ = """
\\set a random(1, 100000)
SELECT 1 / (sum(abalance) = (SELECT sum(bbalance) FROM pgbench_branches))::int
FROM pgbench_accounts;
SELECT array_agg(violation)::text::int FROM pg_bufferpool_check() HAVING count(*) > 0;
SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :a AND :a + 3000;
SELECT 1 / (sum(value) = 100000)::int FROM balances;
SELECT 1 / (count(*) = 0)::int
FROM (SELECT FROM grown GROUP BY batch HAVING count(*) <> 100) AS broken;
"""

MAINTAIN = """
\\set what random(1, 6)
\\if :what = 1
CHECKPOINT;
\\elif :what = 2
VACUUM (FREEZE) pgbench_accounts;
\\elif :what = 3
CLUSTER pgbench_tellers USING pgbench_tellers_pkey;
\\elif :what = 4
VACUUM FULL balances;
\\elif :what = 5
SELECT pg_buffercache_evict_relation('pgbench_accounts');
\\else
SELECT pg_prewarm('pgbench_accounts');
\\endif
"""

LEDGER = "tpcb-like"  # pgbench's own
SCRIPTS = {
    "churn": CHURN,
    "grow": GROW,
    "temporary": TEMPORARY,
    "transfer": TRANSFER,
    "read": READ,
    "maintain": MAINTAIN,
}
# script, clients, role
CLIENTS = [
    (LEDGER, 3, "postgres"),
    (LEDGER, 2, "parallel"),
    ("churn", 2, "postgres"),
    ("churn", 1, "hurried"),
    ("grow", 2, "postgres"),
    ("temporary", 1, "postgres"),
    ("transfer", 2, "postgres"),
    ("read", 2, "parallel"),
    ("maintain", 1, "hurried"),
    ("maintain", 1, "postgres"),
]
RUN_SECONDS = 2  # of one pgbench


@dataclass
class Ledger:
    """What the clients of the ledger were told.

    Attributes:
        committed: transactions whose commit was acknowledged.
        in_doubt: others that may have been committed: one for each client of a
            pgbench of which some client lost its connection.
    """

    committed: int = 0
    in_doubt: int = 0


class Worker(threading.Thread):
    """Clients of one script, again and again."""

    def __init__(self, server: Instance, number: int, enough: threading.Event) -> None:
        super().__init__()
        self.script, self.clients, self.role = CLIENTS[number]
        self.ledger = Ledger()
        self.transactions = 0
        self.error: Exception | None = None
        self._server = server
        self._enough = enough
        self._command: list[str | Path] = [
            server.bin / "pgbench",
            *("-n", "-c", str(self.clients), "-T", str(RUN_SECONDS), "-U", self.role),
            *("-D", f"worker={number}"),
            *self._script_options(),
        ]

    def _script_options(self) -> list[str | Path]:
        if self.script == LEDGER:
            return ["-b", self.script]
        return ["-f", script_file(self._server, self.script)]

    def run(self) -> None:
        try:
            while not self._enough.is_set():
                self._run_once()
        except Exception as error:
            self.error = error

    def _run_once(self) -> None:
        run = self._server.run(*self._command)
        tally = re.search(r"actually processed: (\d+)", run.stdout)
        if tally is None:  # nobody was let in
            time.sleep(0.1)
            return
        self.transactions += int(tally.group(1))
        if self.script == LEDGER:
            self.ledger.committed += int(tally.group(1))
            if run.returncode != 0:
                self.ledger.in_doubt += self.clients


def script_file(server: Instance, name: str) -> Path:
    return server.directory / f"{name}.sql"


def set_up(server: Instance) -> None:
    """Make what the clients work on."""
    server.query(SET_UP)
    for name, text in SCRIPTS.items():
        script_file(server, name).write_text(text)
        script_file(server, name).chmod(0o644)
    run = server.run(server.bin / "pgbench", "-i", "-q", "-s", "1")
    assert run.returncode == 0, run.stdout


# ---- what is done to the clients ----

# Whom an administrator may end.  (Auxiliary processes are killed, not ended.)
VICTIM = (
    "SELECT {}(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type IN"
    " ('client backend', 'parallel worker', 'autovacuum worker', 'buffer reference recorder',"
    " 'buffer pool writer', 'buffer pool advisor')"
    " ORDER BY random() LIMIT 1"
)
RESOLVE = (
    "SELECT gid FROM pg_prepared_xacts WHERE prepared < clock_timestamp() - interval '1 second'"
)


class Interruptions(threading.Thread):
    """Cancels, terminates, records, resolves what was left prepared."""

    longest_pause = 0.3
    expected: frozenset[str] = frozenset()  # what it must have done once before a round may end

    def __init__(self, server: Instance, rng: random.Random, enough: threading.Event) -> None:
        super().__init__()
        self.done: Counter[str] = Counter()
        self.error: Exception | None = None
        self._server = server
        self._rng = rng
        self._enough = enough

    def run(self) -> None:
        actions = self.actions()
        try:
            while not self._enough.wait(self._rng.uniform(0.02, self.longest_pause)):
                (action,) = self._rng.choices(list(actions), list(actions.values()))
                try:
                    action()
                    self.done[action.__name__] += 1
                except TidepoolError:
                    continue  # the server is away, or it was this session that was hit
        except Exception as error:
            self.error = error

    def is_content(self) -> bool:
        """Whether it has done what is expected, or cannot any more."""
        return self.error is not None or self.expected <= self.done.keys()

    def actions(self) -> dict[Callable[[], None], int]:
        """What may be done, and how often."""
        return {self.cancel: 5, self.terminate: 3, self.record: 2, self.resolve: 2}

    def cancel(self) -> None:
        self._server.query(VICTIM.format("pg_cancel_backend"))

    def terminate(self) -> None:
        self._server.query(VICTIM.format("pg_terminate_backend"))

    def record(self) -> None:
        """Stop the recording, or start one."""
        path = self._server.directory / f"{self._rng.getrandbits(32)}.rec"
        running = self._server.query("SELECT count(pid) FROM pg_stat_bufferpool_trace")
        if running == "1":
            self._server.query("SELECT pg_bufferpool_trace_stop()")
            for old in self._server.directory.glob("*.rec*"):
                old.unlink()
        else:
            self._server.query(f"SELECT pg_bufferpool_trace_start('{path}', 0.1)")

    def resolve(self) -> None:
        resolve_prepared(self._server, self._rng, RESOLVE)


def resolve_prepared(
    server: Instance, rng: random.Random, which: str = "SELECT gid FROM pg_prepared_xacts"
) -> None:
    """Commit or roll back prepared transactions."""
    for gid in server.query(which).splitlines():
        server.query(f"{rng.choice(['COMMIT', 'ROLLBACK'])} PREPARED '{gid}'")


# ---- kill -9 ----


def state_and_parent(pid: int | str) -> tuple[str, int]:
    """The state of a process, as ps tells it, and who has started it; "" if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[1])


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    everybody = (path.name for path in Path("/proc").glob("[0-9]*"))
    return [int(other) for other in everybody if state_and_parent(other)[1] == pid]


def postmaster(server: Instance) -> int:
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def kill(pid: int) -> None:
    """Kill a process that may just have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_one(server: Instance, rng: random.Random) -> None:
    """Kill a process of the server, whichever; it makes all others end and begins anew."""
    kill(rng.choice(children(postmaster(server))))


def kill_server(server: Instance) -> None:
    """Kill all processes of a server at the same moment, as nearly as one can."""
    parent = postmaster(server)
    os.kill(parent, signal.SIGSTOP)  # it shall start no others meanwhile
    wait_for("the postmaster has stopped", lambda: state_and_parent(parent)[0] in ("T", ""))
    everybody = [*children(parent), parent]
    for pid in everybody:
        kill(pid)
    wait_for(
        "all processes have ended", lambda: not any(state_and_parent(pid)[0] for pid in everybody)
    )


def future_transactions(server: Instance) -> list[Path]:
    """Files of prepared transactions that the last checkpoint does not know yet.

    A checkpoint writes them before it is complete.  Recovery begins at the one
    before, and removes them: it meets the transactions again.
    """
    control = server.run(server.bin / "pg_controldata", "-D", server.data).stdout
    found = re.search(r"NextXID: +(\d+):(\d+)", control)
    assert found, control
    epoch, xid = map(int, found.groups())
    files = (server.data / "pg_twophase").iterdir()
    return [file for file in files if int(file.name, 16) >= (epoch << 32) + xid]


def start_server(server: Instance) -> None:
    """Start a server that may have crashed in a checkpoint.

    PostgreSQL 18's recovery asserts, when it removes a future prepared
    transaction, that the transaction is not of the future; hence this.
    """
    for file in future_transactions(server):
        file.unlink()
    server.start()


def answers(server: Instance) -> bool:
    """Whether the server lets clients in."""
    try:
        return server.query("SELECT 1") == "1"
    except TidepoolError:
        return False


def told(server: Instance, query: str) -> str | None:
    """What a server says that may just be crashing or recovering; None if it does not answer."""
    try:
        return server.query(query)
    except TidepoolError:
        return None


CHECKPOINTER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"


def wait_for_restart(server: Instance, checkpointer: str) -> None:
    """Wait until a server that has crashed lets clients in again, with another checkpointer."""
    wait_for(
        "the server is back",
        lambda: told(server, CHECKPOINTER) not in (None, "", checkpointer),
    )


def wait_for(what: str, condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} seconds until {what}")
        time.sleep(0.05)
