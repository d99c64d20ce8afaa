"""Scans that end half-way, in every way there is.

Each *kind* of scan of a table can end in each *way*: by a limit, an error, a
cancel, a cursor that is closed or left to the end of its transaction, a loop
that is left, a session that is terminated or whose client is gone.  Most ways
strike at a row drawn at random; some processes are struck by another session
at any moment.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.workloads.scan_ways import KINDS, ROWS_PER_BLOCK, WAYS, Kind, Way, fits

CLIENT_KILLED = "client killed"
STRUCK = "cancelled or terminated by another session"

_BATCH = 24  # scans of a session
_PREY = "tidepool scan ends"  # application_name of sessions that another one strikes

_STRIKE = f"""\
SELECT CASE WHEN lucky THEN pg_cancel_backend(pid) ELSE pg_terminate_backend(pid) END
FROM (SELECT pid, random() < 0.7 AS lucky FROM pg_stat_activity
      WHERE application_name = '{_PREY}' AND wait_event = 'PgSleep'
      ORDER BY random() LIMIT 1) s
\\watch i=0.01
"""


# ---- the table ----


def load(instance: Instance, blocks: int) -> None:
    """Make table ``scanned``: so many blocks of ten rows, in the order of id; and two functions.

    It is analyzed and not vacuumed, so that index-only scans fetch its rows.
    """
    rows = blocks * ROWS_PER_BLOCK
    instance.query(
        "CREATE TABLE scanned (id int, place int, pad text)"
        " WITH (fillfactor = 100, autovacuum_enabled = off)",
        "INSERT INTO scanned SELECT i, hashint4(i) & 1048575, repeat('x', 740)"
        f" FROM generate_series(0, {rows - 1}) i",
        "CREATE INDEX scanned_id ON scanned (id)",
        "CREATE INDEX scanned_place ON scanned (place)",
        "ANALYZE scanned",
        *(
            f"CREATE FUNCTION {function}_me() RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS"
            f" $$ BEGIN PERFORM pg_{function}_backend(pg_backend_pid()); RETURN 1; END $$"
            for function in ("cancel", "terminate")
        ),
    )
    size = int(instance.query("SELECT pg_relation_size('scanned') / 8192"))
    if size != blocks:
        raise TidepoolError(f"the table has {size} blocks and not {blocks}")


def check_plans(instance: Instance, blocks: int) -> None:
    """Raise TidepoolError unless every kind of scan is planned as is meant."""
    for kind in KINDS:
        query = _query(kind, blocks)
        plan = instance.query(f"{kind.settings}; EXPLAIN (COSTS off) SELECT * FROM ({query}) s")
        if kind.node not in plan:
            raise TidepoolError(f"this is no {kind.node}:\n{query}\n{plan}")


def _query(kind: Kind, blocks: int) -> str:
    return kind.query.format(rows=blocks * ROWS_PER_BLOCK)


# ---- single scans ----


def script(kind: Kind, way: Way, blocks: int, rng: Random) -> str:
    """Return what psql does to make a scan of this kind that ends in this way."""
    rows = blocks * ROWS_PER_BLOCK
    return (
        f"BEGIN; ROLLBACK; RESET ALL; {kind.settings};\n"
        + way.script.format(
            query=_query(kind, blocks),
            strike=rng.randrange(rows * 2 // 10, rows * 8 // 10),
            number=rng.randrange(100, rows // 2),
            milliseconds=rng.randrange(60, 120),
        )
        + "\n"
    )


def end_alone(instance: Instance, kind: Kind, way: Way, blocks: int, seed: int = 0) -> str:
    """Make one scan that ends in this way; return what psql printed."""
    return _psql(instance, script(kind, way, blocks, Random(seed)), "scan-end")


def _psql(instance: Instance, text: str, name: str) -> str:
    """Run a script whose statements may fail."""
    file = instance.directory / f"{name}.sql"
    file.write_text(text)
    file.chmod(0o644)
    return instance.run(instance.bin / "psql", "-XAtq", "-f", file).stdout


# ---- many ----


@dataclass(frozen=True)
class _Session:
    """What one psql does.

    Attributes:
        ends: of its scans, by kind and way.
        killed: psql is, as soon as it has printed something.
    """

    script: str
    ends: Sequence[str]
    killed: bool = False


def _sessions(number: int, blocks: int, rng: Random) -> Iterator[_Session]:
    """Yield sessions with so many scans in all."""
    while number > 0:
        drawn = rng.random()
        if drawn < 0.3:
            session = _batch(min(_BATCH, number), blocks, rng)
        else:
            kind = rng.choice(KINDS)
            query = _query(kind, blocks)
            if drawn < 0.65:
                copy = f"COPY (SELECT id, repeat('x', 700) FROM ({query}) s) TO STDOUT"
                ends = [f"{kind.name}: {CLIENT_KILLED}"]
                session = _Session(f"{kind.settings}; {copy};\n", ends, killed=True)
            else:
                slow = f"SELECT count(pg_sleep(0.0005)) FROM ({query}) s"
                ends = [f"{kind.name}: {STRUCK}"]
                known = f"SET application_name = '{_PREY}'"
                session = _Session(f"{known}; {kind.settings}; {slow};\n", ends)
        yield session
        number -= len(session.ends)


def _batch(most: int, blocks: int, rng: Random) -> _Session:
    """Return a session of one scan after the other, the last of which may end it."""
    text = ""
    ends: list[str] = []
    while len(ends) < most:
        kind, way = rng.choice(KINDS), rng.choice(WAYS)
        if fits(kind, way):
            text += script(kind, way, blocks, rng)
            ends.append(f"{kind.name}: {way.name}")
            if way.last:
                break
    return _Session(text, ends)


@contextmanager
def _striking(instance: Instance) -> Iterator[None]:
    """Meanwhile a session cancels and terminates processes of those that are to be struck."""
    file = instance.directory / "strike.sql"
    file.write_text(_STRIKE)
    psql = (instance.clients / "psql", "-XAtq", "-o", os.devnull, "-f", file)
    with subprocess.Popen(
        psql, env=instance.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as striker:
        try:
            yield
        finally:
            striker.kill()


def _run(instance: Instance, session: _Session, name: str) -> None:
    if not session.killed:
        _psql(instance, session.script, name)
        return
    psql = (instance.clients / "psql", "-XAtq", "-c", session.script)
    with subprocess.Popen(
        psql,
        env=instance.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as client:
        assert client.stdout is not None
        client.stdout.read(1)
        client.kill()


def end_many(
    instance: Instance, number: int, seed: int, blocks: int, sessions: int = 4
) -> Counter[str]:
    """Make so many scans of table ``scanned`` that end half-way, several at a time.

    Returns how many of each kind and way.
    """
    done: Counter[str] = Counter()
    lock = threading.Lock()
    waiting = _sessions(number, blocks, Random(seed))

    def work(worker: int) -> None:
        while True:
            with lock:
                session = next(waiting, None)
            if session is None:
                return
            _run(instance, session, f"scan-ends-{worker}")
            with lock:
                done.update(session.ends)

    with _striking(instance), ThreadPoolExecutor(sessions) as threads:
        list(threads.map(work, range(sessions)))
    return done
