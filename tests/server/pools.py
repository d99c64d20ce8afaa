"""Named pools: what their tests have in common."""

from __future__ import annotations

from server.conftest import Make
from server.load import wait_for
from tidepool.errors import TidepoolError
from tidepool.server import Instance

BUFFERS = 1024
FLOOR = 128  # that DEFAULT keeps: an eighth, since there are few backends
SETTINGS = {"shared_buffers": "8MB", "max_connections": "20"}


def server_with_pools(make: Make, algorithm: str = "clock", **settings: str) -> Instance:
    return make(algorithm, **(SETTINGS | settings))


def create(server: Instance, name: str, handler: str = "lru", size: str = "1MB") -> None:
    server.query(f"CREATE BUFFER POOL {name} HANDLER {handler} SIZE '{size}'")


def sizes(server: Instance) -> dict[str, int]:
    """Buffers of each pool."""
    rows = server.query("SELECT name, buffers FROM pg_bufferpool").splitlines()
    return {name: int(buffers) for name, buffers in (row.split("|") for row in rows)}


def pool(server: Instance, name: str, columns: str) -> str:
    return server.query(f"SELECT {columns} FROM pg_bufferpool WHERE name = '{name}'")


def pages(server: Instance, relation: str, database: str = "postgres") -> dict[str, int]:
    """Resident pages of a relation by pool."""
    query = (
        "SELECT pool, sum(resident) FROM pg_bufferpool_relations"
        f" WHERE relation = '{relation}'::regclass GROUP BY pool"
    )
    rows = server.query(query, database=database).splitlines()
    return {name: int(count) for name, count in (row.split("|") for row in rows)}


def fill(server: Instance, table: str, count: int, options: str = "", first: int = 1) -> None:
    """A table of about this many pages, a row in each, with an index."""
    server.query(
        f"CREATE TABLE {table} (id int, pad text) WITH (fillfactor = 10{options})",
        f"CREATE INDEX {table}_id ON {table} (id)",
        f"INSERT INTO {table} SELECT i, repeat('x', 500)"
        f" FROM generate_series({first}, {first + count - 1}) i",
        f"VACUUM ANALYZE {table}",
    )


def violations(server: Instance) -> list[str]:
    """What is wrong with the pools; must be none."""
    wrong = server.query("SELECT * FROM pg_bufferpool_check()").splitlines()
    counted = server.query(
        "SELECT name, b.n, p.buffers FROM pg_bufferpool p"
        " LEFT JOIN (SELECT pool, count(*) AS n FROM pg_bufferpool_buffers GROUP BY pool) b"
        " ON b.pool = p.name WHERE coalesce(b.n, 0) <> p.buffers"
    )
    wrong += [f"counted, and said: {row}" for row in counted.splitlines()]
    total = "pg_size_bytes(current_setting('shared_buffers')) / 8192"
    if server.query(f"SELECT sum(buffers) = {total} FROM pg_bufferpool") != "t":
        wrong.append("buffers are missing, or counted twice")
    return wrong


def definitions(server: Instance) -> list[str]:
    return server.query("SHOW bufferpool.definitions").splitlines()


def wait_for_phase(server: Instance, phase: str) -> None:
    query = "SELECT phase FROM pg_stat_progress_bufferpool"
    wait_for(f"a statement is {phase}", lambda: server.query(query) == phase)


def fails(server: Instance, *queries: str) -> str:
    """The error that these queries end with."""
    try:
        server.query(*queries)
    except TidepoolError as error:
        return str(error)
    raise AssertionError(f"{queries[-1]} did not fail")
