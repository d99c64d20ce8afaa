"""Sessions beside that of the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from server.load import wait_for
from tidepool.server import Instance


class Session:
    """One statement after the other in a session of its own, not awaited."""

    def __init__(self, server: Instance, *queries: str, database: str = "postgres") -> None:
        words = [word for query in queries for word in ("-c", query)]
        self._process = subprocess.Popen(
            [server.bin / "psql", "-XAtq", "-d", database, *words],
            env=server.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def running(self) -> bool:
        return self._process.poll() is None

    def result(self, seconds: float = 60) -> str:
        """What it has printed, when it has ended."""
        return self._process.communicate(timeout=seconds)[0]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def staying(server: Instance, *statements: str) -> subprocess.Popen[str]:
    """A session that stays; it has run the statements when it has printed "ready"."""
    psql = subprocess.Popen(
        [server.bin / "psql", "-XAtq"],
        env=server.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert psql.stdin is not None and psql.stdout is not None
    psql.stdin.write(";\n".join([*statements, "SELECT 'ready'"]) + ";\n")
    psql.stdin.flush()
    while (line := psql.stdout.readline().strip()) != "ready":
        assert line or psql.poll() is None, "the session has ended"
    return psql


@contextmanager
def pinned(server: Instance, table: str, row: int = 1) -> Iterator[None]:
    """Keep the page of a row pinned."""
    session = Session(
        server,
        f"BEGIN; DECLARE c CURSOR FOR SELECT * FROM {table} WHERE ctid = '({row - 1},1)';"
        f" FETCH 1 FROM c; SELECT pg_sleep(600) /* {table} {row} */",
    )
    me = f"query LIKE '%/* {table} {row} */%' AND pid <> pg_backend_pid()"
    try:
        wait_for(
            "a page is pinned",
            lambda: (
                server.query(
                    f"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND {me}"
                )
                == "1"
            ),
        )
        yield
    finally:
        server.query(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {me}")
        session.result()
