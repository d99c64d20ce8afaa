"""Standbys that follow their primary: they keep in memory what it has in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from server.conftest import Make
from server.copies import copy_of
from server.load import wait_for
from server.machine import Machine
from server.pools import create, fill, violations
from server.warm import (
    contents,
    counted,
    file,
    is_complete,
    parse,
    stat,
    wait_until_warm,
    warm_server,
)
from tidepool.server import Instance

TABLES = {"t": 350, "u": 350, "v": 700}  # pages; the pool has 1,024

Follower = Callable[..., Instance]


def read(server: Instance, table: str) -> None:
    """Read nearly all of a table through its index, twice."""
    ranges = range(1, TABLES[table], 50)
    server.query(
        "SET enable_seqscan = off",
        *(f"SELECT count(pad) FROM {table} WHERE id BETWEEN {i} AND {i + 49}" for i in ranges),
        *(f"SELECT count(pad) FROM {table} WHERE id BETWEEN {i} AND {i + 49}" for i in ranges),
    )


def files_of(server: Instance, *tables: str) -> set[str]:
    """The files of these tables and their indexes."""
    return set(
        server.query(
            "SELECT pg_relation_filenode(c.oid) FROM pg_class c"
            f" WHERE relname ~ '^({'|'.join(tables)})(_id)?$'"
        ).splitlines()
    )


def pages_of(server: Instance, *tables: str) -> set[str]:
    """The pages of these tables that are in memory."""
    files = files_of(server, *tables)
    return {page for page in contents(server) if page.split("|")[1] in files}


def primary(make: Make, algorithm: str = "lru", **settings: str) -> Instance:
    server = warm_server(make, algorithm, **settings)
    for table, count in TABLES.items():
        fill(server, table, count)
    server.query("CHECKPOINT")
    return server


@pytest.fixture
def follower() -> Iterator[Follower]:
    """Make a standby of this server that follows it, and start it."""
    with ExitStack() as standbys:

        def make_one(of: Instance, conninfo: str = "dbname=postgres", **settings: str) -> Instance:
            standby = standbys.enter_context(copy_of(of))
            file(standby).unlink(missing_ok=True)  # what it has, it has fetched
            (standby.data / "postgresql.auto.conf").write_text("")  # how to connect is below
            standby.configure(
                {
                    "primary_conninfo": f"host={of.directory} {conninfo}",
                    "bufferpool.warm_primary": "on",
                    "bufferpool.warm_save_interval": "1s",
                    **{name.replace("__", "."): value for name, value in settings.items()},
                }
            )
            standby.start()
            return standby

        yield make_one


def share(standby: Instance, wanted: set[str]) -> float:
    return len(contents(standby) & wanted) / len(wanted)


def has(standby: Instance, wanted: set[str]) -> None:
    wait_for("the standby has the pages", lambda: share(standby, wanted) > 0.95)


def log_says(server: Instance, text: str) -> None:
    wait_for(f"the log says: {text}", lambda: text in server.log.read_text())


@pytest.mark.parametrize("algorithm", ["lru", "arc", "clock", "pbm"])
def test_follows(make: Make, follower: Follower, algorithm: str) -> None:
    """It begins with what the primary has, and gets what the primary gets later."""
    server = primary(make, algorithm)
    read(server, "t")
    read(server, "u")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    wait_until_warm(standby)
    has(standby, pages_of(server, "t", "u"))

    for _ in range(3):
        read(server, "v")
    server.query("SELECT pg_bufferpool_save_warm()")
    has(standby, pages_of(server, "v"))
    assert stat(standby, "list_saved") == stat(server, "list_saved")
    assert int(stat(standby, "saves")) == 0
    assert int(stat(standby, "fetches")) > 1
    wait_until_warm(standby)
    assert is_complete(counted(standby))
    assert violations(standby) == []


def test_promotion(make: Make, follower: Follower) -> None:
    """Then it saves its own list again."""
    server = primary(make)
    read(server, "t")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    wait_for("it has fetched", lambda: int(stat(standby, "fetches")) > 0)
    standby.query("SELECT pg_promote()")
    wait_for("it saves", lambda: int(stat(standby, "saves")) > 0)
    wanted = pages_of(server, "t")
    assert share(standby, wanted) > 0.95
    server.stop()
    fetches = stat(standby, "fetches")
    saves = int(stat(standby, "saves"))
    wait_for("it saves again", lambda: int(stat(standby, "saves")) > saves)
    assert stat(standby, "fetches") == fetches


def test_lists_are_equal(make: Make, follower: Follower) -> None:
    """What it fetches is the primary's file, of several parts."""
    server = primary(make, "pbm", shared_buffers="400MB")
    for table in ("a", "b", "c"):
        server.query(
            f"CREATE TABLE {table} AS SELECT repeat('x', 1900) FROM generate_series(1, 44000)",
            f"SELECT count(*) FROM {table}",
        )
    server.query("SELECT pg_bufferpool_save_warm()")
    assert file(server).stat().st_size > 1 << 20
    standby = follower(server, bufferpool__warm_workers="4")
    wait_for("it has fetched", lambda: int(stat(standby, "fetches")) > 0)
    assert file(standby).read_bytes() == file(server).read_bytes()
    assert file(standby).stat().st_mode & 0o777 == 0o600
    has(standby, contents(server))


def test_pools(make: Make, follower: Follower) -> None:
    """Pages come into the pools of their tables."""
    server = primary(make)
    create(server, "hot", "arc", "3MB")
    server.query("ALTER TABLE t SET (buffer_pool = 'hot')")
    read(server, "t")
    read(server, "u")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    wait_until_warm(standby)
    assert any(page.startswith("hot|") for page in contents(standby))
    assert violations(standby) == []


def test_primary_is_gone(make: Make, follower: Follower) -> None:
    """A standby whose primary does not answer starts with the list that it has."""
    server = primary(make)
    read(server, "t")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    wait_until_warm(standby)
    wanted = pages_of(server, "t")
    has(standby, wanted)
    standby.stop()
    server.stop()
    standby.start()
    log_says(standby, "could not fetch the primary's list of pages")
    wait_until_warm(standby)
    assert share(standby, wanted) > 0.95
    wait_for("another attempt", lambda: int(stat(standby, "failed_fetches")) > 1)
    assert parse(file(standby).read_bytes())[1][0].pages


def fails(standby: Instance, why: str) -> None:
    """It says why it cannot follow, and works."""
    log_says(standby, why)
    wait_for("it is counted", lambda: int(stat(standby, "failed_fetches")) > 0)
    assert stat(standby, "fetches") == "0"
    assert standby.query("SELECT count(*) FROM t") == str(TABLES["t"])


def test_no_database(make: Make, follower: Follower) -> None:
    fails(
        follower(primary(make), ""),
        '"bufferpool.warm_primary" needs a database in "primary_conninfo"',
    )


def test_no_extension(make: Make, follower: Follower) -> None:
    server = primary(make)
    server.query("CREATE DATABASE plain")
    fails(
        follower(server, "dbname=plain"),
        'the primary has no extension "pg_bufferpool" in database "plain"',
    )


def test_no_list(make: Make, follower: Follower) -> None:
    fails(follower(primary(make, bufferpool__warm_start="off"),
                   bufferpool__warm_start="on"),
          "the primary has no list of pages")  # fmt: skip


def test_privilege(make: Make, follower: Follower) -> None:
    """The role of the standby needs one, and no more."""
    server = primary(make)
    server.query("SELECT pg_bufferpool_save_warm()", "CREATE ROLE replicator LOGIN REPLICATION")
    standby = follower(server, "dbname=postgres user=replicator")
    fails(standby, "permission denied for function pg_bufferpool_warm_list")
    server.query("GRANT EXECUTE ON FUNCTION pg_bufferpool_warm_list TO replicator")
    wait_for("it fetches", lambda: int(stat(standby, "fetches")) > 0)


def test_function_of_the_same_name(make: Make, follower: Follower) -> None:
    """One that somebody else has made, and that fits a number as well, is not called."""
    server = primary(make)
    server.query(
        "SELECT pg_bufferpool_save_warm()",
        "CREATE FUNCTION pg_bufferpool_warm_list(int) RETURNS bytea LANGUAGE plpgsql"
        " AS $$BEGIN RAISE 'called'; END$$",
    )
    standby = follower(server)
    wait_for("it fetches", lambda: int(stat(standby, "fetches")) > 0)
    assert stat(standby, "failed_fetches") == "0"


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1], ids=["without-end", "large-part"])
def test_list_that_is_too_large(make: Make, follower: Follower, size: int) -> None:
    server = primary(make)
    server.query(
        "CREATE OR REPLACE FUNCTION pg_bufferpool_warm_list(at bigint) RETURNS bytea"
        f" LANGUAGE sql AS $$SELECT decode(repeat('00', {size}), 'hex')$$"
    )
    standby = follower(server)
    fails(standby, "the primary's list of pages is too large")
    wait_for("nothing is left", lambda: not file(standby).with_suffix(".tmp").exists())


def test_damaged_list(make: Make, follower: Follower) -> None:
    """It keeps its own."""
    server = primary(make)
    read(server, "t")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    wait_for("it has fetched", lambda: int(stat(standby, "fetches")) > 0)
    good = file(standby).read_bytes()
    file(server).write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    log_says(standby, "the primary's list of pages is not used")
    assert file(standby).read_bytes() == good
    assert not file(standby).with_suffix(".tmp").exists()


def test_host_that_is_not_found(make: Make, follower: Follower, machine: Machine) -> None:
    """However long the system looks for its name, the warm start does not wait for it."""
    server = primary(make)
    read(server, "t")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    has(standby, pages_of(server, "t"))
    standby.stop()
    standby.configure({"primary_conninfo": "host=nowhere.invalid dbname=postgres"})
    machine.is_like(lookup_time=120000)
    began = time.monotonic()
    standby.start()
    try:
        wait_until_warm(standby)
        assert time.monotonic() - began < 30
        assert "the attempt does not end" in standby.log.read_text()
        assert int(stat(standby, "failed_fetches")) > 0
        assert share(standby, pages_of(server, "t")) > 0.95
    finally:
        machine.is_like()


def test_switched_off(make: Make, follower: Follower) -> None:
    """A standby that does not follow saves its own list, and fetches none."""
    server = primary(make)
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server)
    wait_for("it has fetched", lambda: int(stat(standby, "fetches")) > 0)
    standby.query("ALTER SYSTEM SET bufferpool.warm_primary = off", "SELECT pg_reload_conf()")
    wait_for("it saves", lambda: int(stat(standby, "saves")) > 0)
    fetches = stat(standby, "fetches")
    saves = int(stat(standby, "saves"))
    wait_for("it saves again", lambda: int(stat(standby, "saves")) > saves + 1)
    assert stat(standby, "fetches") == fetches


def test_setting_on_a_primary(make: Make) -> None:
    """It means nothing there."""
    server = warm_server(make, bufferpool__warm_primary="on", bufferpool__warm_save_interval="1s")
    wait_for("it saves", lambda: int(stat(server, "saves")) > 0)
    assert stat(server, "failed_fetches") == "0"


def test_drop_database(make: Make, follower: Follower) -> None:
    """Following keeps nobody from dropping a database, or the standby from replaying it."""
    server = primary(make)
    server.query("CREATE DATABASE other")
    fill_other = "CREATE TABLE there AS SELECT i, repeat('x', 500) FROM generate_series(1, 4000) i"
    server.query(fill_other, database="other")
    server.query("SELECT pg_bufferpool_save_warm()")
    standby = follower(server, bufferpool__warm_rate="200")
    wait_for("workers read", lambda: int(stat(standby, "pages_read")) > 0)
    server.query("DROP DATABASE other")
    wait_for(
        "it is gone",
        lambda: standby.query("SELECT count(*) FROM pg_database WHERE datname = 'other'") == "0",
    )
    assert standby.query("SELECT count(*) FROM t") == str(TABLES["t"])
    assert violations(standby) == []
