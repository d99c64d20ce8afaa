"""Pools that change while they are used: sizes, algorithms, writers."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from server.conftest import Make
from server.counters import settle, stat, stat_now
from server.load import children, kill, postmaster, told, wait_for
from server.pools import (
    BUFFERS,
    FLOOR,
    create,
    definitions,
    fill,
    pages,
    pool,
    server_with_pools,
    sizes,
    violations,
    wait_for_phase,
)
from server.sessions import Session, pinned
from tidepool.server import Instance

WAITING = "waiting for pinned buffers"


@contextmanager
def load(server: Instance, text: str, clients: int = 4) -> Iterator[None]:
    """Clients that run a script meanwhile, and none of which may fail."""
    script = server.directory / "load.sql"
    script.write_text(text)
    enough = threading.Event()
    failed: list[str] = []

    def run() -> None:
        command = (server.bin / "pgbench", "-n", "-c", str(clients), "-T", "1", "-f", script)
        while not enough.is_set() and not failed:
            done = server.run(*command)
            if done.returncode != 0 or "failed transactions: 0" not in done.stdout:
                failed.append(done.stdout)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
    assert failed == []


def resident(server: Instance, table: str) -> set[str]:
    query = (
        "SELECT relblocknumber FROM pg_bufferpool_buffers WHERE relforknumber = 0"
        f" AND relfilenode = pg_relation_filenode('{table}')"
    )
    return set(server.query(query).splitlines())


def evictions(server: Instance) -> str:
    settle(server)
    return server.query("SELECT name, evictions + reuses FROM pg_stat_bufferpool")


# ---- another algorithm ----

HANDLERS = ["lru", "arc", "lirs", "osic", "clock", "keep", "s3fifo"]


def every_change(names: list[str]) -> list[str]:
    """A walk that goes from each to each other one."""
    left = {name: [other for other in names if other != name] for name in names}
    stack, walk = [names[0]], []
    while stack:  # Hierholzer's
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            walk.append(stack.pop())
    walk.reverse()
    assert {*itertools.pairwise(walk)} == {*itertools.permutations(names, 2)}
    return walk


@pytest.mark.parametrize("name", ["hot", "DEFAULT"])
def test_a_new_algorithm_evicts_nothing(make: Make, name: str) -> None:
    server = server_with_pools(make, shared_buffers="16MB")
    create(server, "hot", size="4MB")
    fill(server, "t", 300, f", buffer_pool = '{name}'")
    server.query("CREATE EXTENSION pg_prewarm", "SELECT pg_prewarm('t')")
    pages_before = resident(server, "t")
    assert len(pages_before) >= 300
    before = evictions(server)
    read = "\\set id random(1, 300)\nSELECT pad FROM t WHERE id = :id;\n"
    with load(server, read):
        for handler in every_change(HANDLERS):
            server.query(f'ALTER BUFFER POOL {name} SET HANDLER "{handler}"')
            assert pool(server, name, "handler, state") == f"{handler}|ready"
            assert resident(server, "t") == pages_before, handler
            assert violations(server) == [], handler
    assert evictions(server) == before
    assert pages(server, "t").keys() == {name}


@pytest.mark.parametrize("name", ["hot", "DEFAULT"])
def test_a_new_algorithm_under_load(make: Make, name: str) -> None:
    """Beside misses, writes, extensions, and tables that are dropped."""
    server = server_with_pools(make)
    create(server, "hot", size="2MB")
    fill(server, "t", 600, f", buffer_pool = '{name}'")
    text = (
        "\\set id random(1, 600)\n"
        "UPDATE t SET id = id WHERE id = :id;\nSELECT count(pad) FROM t WHERE id < :id / 8;\n"
        f"CREATE TABLE u_:client_id WITH (buffer_pool = '{name}') AS"
        " SELECT i, repeat('y', 3000) FROM generate_series(1, 40) i;\n"
        "DROP TABLE u_:client_id;\n"
    )
    with load(server, text):
        for handler in every_change(["lru", "arc", "lirs", "osic", "clock"]):
            server.query(f'ALTER BUFFER POOL {name} SET HANDLER "{handler}"')
            assert violations(server) == [], handler
    assert server.query("SELECT count(*), count(DISTINCT id) FROM t") == "600|600"
    assert violations(server) == []


def test_the_order_survives(make: Make) -> None:
    """What was cold is evicted first after the change, too."""
    server = server_with_pools(make, bufferpool__batch_size="1")
    create(server, "hot", size="1MB")
    fill(server, "t", 400, ", buffer_pool = 'hot'")
    server.query("CREATE EXTENSION pg_prewarm")
    prewarm = "SELECT pg_prewarm('t', 'buffer', 'main', {}, {})"
    for handler in ("arc", "clock", "lirs", "lru"):
        server.query("ALTER BUFFER POOL hot SET HANDLER lru")
        server.query(prewarm.format(0, 119), prewarm.format(0, 59))
        server.query(f"ALTER BUFFER POOL hot SET HANDLER {handler}", prewarm.format(200, 229))
        left = {int(page) for page in resident(server, "t")}
        hot = len(left & {*range(60)})
        assert hot >= 55, handler
        assert hot >= len(left & {*range(60, 120)}), handler


@pytest.mark.parametrize("algorithm", ["lru", "arc", "s3fifo"])
def test_what_is_queued_for_one_pool_outlives_a_change_of_another(
    make: Make, algorithm: str
) -> None:
    server = server_with_pools(make, algorithm)
    create(server, "hot")
    server.query("CREATE EXTENSION pg_prewarm")
    fill(server, "t", 100)
    server.query("SELECT pg_bufferpool_reset()")
    wrong = server.query(
        "SELECT pg_prewarm('t', 'buffer', 'main', 40, 59)",  # fewer than are committed
        "ALTER BUFFER POOL hot SET HANDLER lirs",
        "SELECT * FROM pg_bufferpool_check()",
    )
    assert wrong == "20"


def test_options_change_like_algorithms(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "lirs", "1MB")
    fill(server, "t", 80, ", buffer_pool = 'hot'")
    before = resident(server, "t")
    with load(server, "SELECT count(*) FROM t;\n"):
        for text in ("SET (hir = 0.5)", "SET (hir = 0.02, ghosts = 0.5)", "RESET (hir, ghosts)"):
            server.query(f"ALTER BUFFER POOL hot {text}")
            assert resident(server, "t") == before
            assert violations(server) == []
    assert evictions(server) == "DEFAULT|0\nhot|0"


# ---- another size ----


def test_a_smaller_pool_keeps_what_is_hot(make: Make) -> None:
    server = server_with_pools(make, bufferpool__batch_size="1")
    create(server, "hot", "lru", "2MB")
    fill(server, "t", 240, ", buffer_pool = 'hot'")
    server.query("CREATE EXTENSION pg_prewarm", "SELECT pg_prewarm('t', 'buffer', 'main', 0, 99)")
    server.query("ALTER BUFFER POOL hot SET SIZE '1MB'")
    left = {int(page) for page in resident(server, "t")}
    assert left >= {*range(100)}
    server.query("ALTER BUFFER POOL hot SET SIZE '3MB'")
    assert {int(page) for page in resident(server, "t")} == left
    assert violations(server) == []


def test_sizes_change_under_load(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "arc", "2MB")
    create(server, "cold", "lirs", "1MB")
    fill(server, "h", 500, ", buffer_pool = 'hot'")
    fill(server, "c", 500, ", buffer_pool = 'cold'")
    text = (
        "\\set id random(1, 500)\n"
        "UPDATE h SET id = id WHERE id = :id;\nUPDATE c SET id = id WHERE id = :id;\n"
        "SELECT count(pad) FROM h WHERE id < :id / 8;\nSELECT count(*) FROM c;\n"
    )
    with load(server, text):
        for hot, cold in [(4, 2), (1, 1), (5, 1), (1, 5), (2, 2), (1, 3)]:
            server.query(f"ALTER BUFFER POOL hot SET SIZE '{hot if hot < 5 else 4}MB'")
            server.query(f"ALTER BUFFER POOL cold SET SIZE '{cold if cold < 5 else 4}MB'")
            found = sizes(server)
            assert found["hot"] == 128 * min(hot, 4) and found["cold"] == 128 * min(cold, 4)
            assert violations(server) == []
    for table in "hc":
        assert server.query(f"SELECT count(*), count(DISTINCT id) FROM {table}") == "500|500"


def test_all_of_a_large_change_can_be_watched(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "lru", "2MB")
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    with pinned(server, "t", 3):
        statement = Session(server, "DROP BUFFER POOL hot CASCADE")
        wait_for_phase(server, WAITING)
        row = server.query(
            "SELECT pool, phase, buffers_before, buffers_target, buffers,"
            " since < clock_timestamp(), pid = (SELECT pid FROM pg_stat_activity"
            " WHERE wait_event = 'BufferPoolResize') FROM pg_stat_progress_bufferpool"
        )
        assert row.startswith(f"hot|{WAITING}|256|0|1|t")
        assert pool(server, "hot", "state, buffers") == "being dropped|1"
        # new pages go to DEFAULT meanwhile
        server.query("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 9) i")
        assert pages(server, "t")["DEFAULT"] >= 8
        assert statement.running()
    assert statement.result() == ""
    assert server.query("TABLE pg_stat_progress_bufferpool") == ""
    assert sizes(server) == {"DEFAULT": BUFFERS}
    assert server.query("SELECT count(*) FROM t") == "109"
    assert violations(server) == []


def end_sleepers(server: Instance) -> None:
    """End the sessions that keep pages pinned."""
    server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    )


def cancel(server: Instance, how: str = "pg_cancel_backend") -> None:
    server.query(f"SELECT {how}(pid) FROM pg_stat_progress_bufferpool")


@pytest.mark.parametrize("what_comes_next", ["restart", "statement"])
def test_a_cancelled_drop_keeps_the_pool(make: Make, what_comes_next: str) -> None:
    server = server_with_pools(make)
    create(server, "hot", "lru", "2MB")
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    with pinned(server, "t", 3), pinned(server, "t", 4):
        statement = Session(server, "DROP BUFFER POOL hot CASCADE")
        wait_for_phase(server, WAITING)
        cancel(server)
        said = statement.result()
    assert "canceling statement due to user request" in said
    assert 'WARNING:  buffer pool "hot" keeps the 2 buffers that it has reached, of 0' in said
    assert sizes(server) == {"DEFAULT": BUFFERS - 2, "hot": 2}
    assert "DETAIL:  It will have 16, the minimum, after the next change of a pool." in said
    assert pool(server, "hot", "target") == "131072"
    assert server.query("TABLE pg_stat_progress_bufferpool") == ""
    before = definitions(server)
    assert " SIZE '131072'" in before[0]
    if what_comes_next == "restart":
        server.stop()
        server.start()
    else:
        server.query("CREATE BUFFER POOL cold HANDLER lru SIZE '1MB'", "DROP BUFFER POOL cold")
    assert definitions(server) == before
    assert sizes(server) == {"DEFAULT": BUFFERS - 16, "hot": 16}
    assert pool(server, "hot", "state") == "ready"
    server.query("DROP BUFFER POOL hot CASCADE")
    assert violations(server) == []


def shrink_below_what_is_pinned(server: Instance) -> tuple[Session, Session]:
    """A session that pins 50 pages of pool hot, and one that waits until it can have 16 buffers."""
    fill(server, "t", 200, ", buffer_pool = 'hot'")
    cursors = "".join(
        f"DECLARE c{i} CURSOR FOR SELECT * FROM t WHERE ctid = '({i},1)'; FETCH 1 FROM c{i};"
        for i in range(50)
    )
    holder = Session(server, f"BEGIN; {cursors} SELECT pg_sleep(600)")
    wait_for("pages are pinned", lambda: stat(server, "pinned", pool="hot")[0] >= 50)
    statement = Session(server, "ALTER BUFFER POOL hot SET SIZE '128kB'")
    wait_for_phase(server, WAITING)
    return holder, statement


def test_a_cancelled_resize_keeps_what_it_has_reached(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "lru", "2MB")
    holder, statement = shrink_below_what_is_pinned(server)
    cancel(server)
    said = statement.result()
    assert 'buffer pool "hot" keeps the 50 buffers that it has reached, of 16' in said
    assert "canceling statement due to user request" in said
    assert sizes(server) == {"DEFAULT": BUFFERS - 50, "hot": 50}
    assert f"SIZE '{50 * 8192}'" in definitions(server)[0]
    statement = Session(server, "ALTER BUFFER POOL hot SET SIZE '128kB'")
    wait_for_phase(server, WAITING)
    end_sleepers(server)
    assert statement.result() == ""
    assert sizes(server) == {"DEFAULT": BUFFERS - 16, "hot": 16}
    assert server.query("SELECT count(*) FROM t") == "200"
    assert violations(server) == []
    holder.end()


@pytest.mark.parametrize("how", ["terminated", "killed"])
def test_a_session_that_ends_while_it_drops(make: Make, how: str) -> None:
    """The file has the pool no more; the next statement, or the next start, does the rest."""
    server = server_with_pools(make)
    create(server, "hot", "lru", "2MB")
    create(server, "cold", "lru", "1MB")
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    with pinned(server, "t", 3):
        statement = Session(server, "DROP BUFFER POOL hot CASCADE")
        wait_for_phase(server, WAITING)
        pid = int(server.query("SELECT pid FROM pg_stat_progress_bufferpool"))
        if how == "killed":
            kill(pid)
        else:
            cancel(server, "pg_terminate_backend")
        statement.result()
        wait_for(
            "it is over, and the server is back",
            lambda: told(server, "TABLE pg_stat_progress_bufferpool") == "",
        )
    if how == "terminated":
        server.query("ALTER BUFFER POOL cold SET SIZE '512kB'")
        assert sizes(server) == {"DEFAULT": BUFFERS - 64, "cold": 64}
        assert violations(server) == []
        create(server, "hot", "lru", "1MB")
        server.query("DROP BUFFER POOL hot CASCADE")
    server.stop()
    server.start()
    assert "hot" not in sizes(server)
    assert violations(server) == []


def test_a_terminated_resize_is_finished_by_the_next_statement(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "lru", "2MB")
    create(server, "cold", "lru", "1MB")
    holder, statement = shrink_below_what_is_pinned(server)
    cancel(server, "pg_terminate_backend")
    statement.result()
    assert pool(server, "hot", "state, buffers, target") == "shrinking|50|131072"
    end_sleepers(server)
    holder.result()
    server.query("ALTER BUFFER POOL cold SET SIZE '512kB'")
    assert sizes(server) == {"DEFAULT": BUFFERS - 80, "hot": 16, "cold": 64}
    assert violations(server) == []


def test_a_pool_takes_buffers_from_one_that_is_not_empty(make: Make) -> None:
    """DEFAULT writes and evicts what it gives up."""
    server = server_with_pools(make)
    fill(server, "t", 900)
    server.query("UPDATE t SET id = id")
    create(server, "hot", "lru", "7MB")
    assert sizes(server) == {"DEFAULT": FLOOR, "hot": BUFFERS - FLOOR}
    assert server.query("SELECT count(*) FROM t") == "900"
    assert violations(server) == []


# ---- writers ----

WRITERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'buffer pool writer'"


def wait_for_writers(server: Instance, count: int) -> None:
    wait_for(f"there are {count} writers", lambda: server.query(WRITERS) == str(count), seconds=40)


def test_each_pool_has_a_writer(make: Make) -> None:
    server = server_with_pools(make, bgwriter_delay="10ms")
    assert server.query(WRITERS) == "0"
    create(server, "hot")
    create(server, "cold")
    wait_for_writers(server, 2)
    fill(server, "t", 300, ", buffer_pool = 'hot'")
    text = "\\set id random(1, 300)\nUPDATE t SET id = id WHERE id = :id;\n"
    with load(server, text):
        wait_for("it has written", lambda: stat_now(server, "cleaned", pool="hot")[0] > 100)
    server.query("DROP BUFFER POOL cold")
    assert server.query(WRITERS) == "1"  # the statement waits for it
    server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE backend_type = 'buffer pool writer'"
    )
    wait_for_writers(server, 0)
    wait_for_writers(server, 1)
    server.query("ALTER SYSTEM SET bufferpool.trickle_write_batch_size = 0")
    server.query("SELECT pg_reload_conf()")
    wait_for_writers(server, 0)
    cleaned = stat(server, "cleaned", pool="hot")[0]
    with load(server, text):
        wait_for(
            "the background writer has written",
            lambda: stat_now(server, "cleaned", pool="hot")[0] > cleaned + 50,
        )
    server.query("DROP BUFFER POOL hot CASCADE")
    assert violations(server) == []


def test_writers_come_back_and_end_with_the_server(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    wait_for_writers(server, 1)
    pid = int(server.query(WRITERS.replace("count(*)", "pid")))
    kill(pid)  # all processes begin anew
    wait_for("the server is back", lambda: told(server, WRITERS) == "1", seconds=60)
    assert pid not in children(postmaster(server))
    server.stop()
    server.start()
    wait_for_writers(server, 1)
    server.query("DROP BUFFER POOL hot")
    assert server.query(WRITERS) == "0"


def test_no_slot_for_a_writer(make: Make) -> None:
    server = server_with_pools(make, max_worker_processes="1", bgwriter_delay="10ms")
    create(server, "one")
    create(server, "two")
    wait_for(
        "it is said",
        lambda: "no background worker slot for the writer of buffer pool" in server.log.read_text(),
    )
    log = server.log.read_text()
    for name in ("one", "two"):
        assert log.count(f'no background worker slot for the writer of buffer pool "{name}"') <= 1
    assert "DETAIL:  The background writer writes the pool's pages." in log
    assert 'HINT:  Raise "max_worker_processes".' in log
    for name in ("one", "two"):
        fill(server, f"t_{name}", 300, f", buffer_pool = '{name}'")
        text = f"\\set id random(1, 300)\nUPDATE t_{name} SET id = id WHERE id = :id;\n"
        with load(server, text):
            wait_for(
                "somebody has written",
                lambda: stat_now(server, "cleaned", pool=name)[0] > 50,  # noqa: B023
            )
    server.query("DROP BUFFER POOL one CASCADE", "DROP BUFFER POOL two CASCADE")


# ---- databases that come and go ----


def test_databases_are_dropped_beside_it(make: Make) -> None:
    """Both wait for all processes to take notice."""
    server = server_with_pools(make)
    create(server, "hot")
    enough = threading.Event()
    failed: list[str] = []

    def databases() -> None:
        while not enough.is_set() and not failed:
            try:
                server.query("CREATE DATABASE passing STRATEGY file_copy")
                server.query("CREATE TABLE t (id int)", database="passing")
                server.query("DROP DATABASE passing")
            except Exception as error:
                failed.append(str(error))

    thread = threading.Thread(target=databases)
    thread.start()
    try:
        for number in range(20):
            server.query(
                f"ALTER BUFFER POOL hot SET HANDLER {('arc', 'lru')[number % 2]}",
                f"ALTER BUFFER POOL hot SET SIZE '{1 + number % 3}MB'",
                "CREATE BUFFER POOL passing HANDLER lru SIZE '1MB'",
                "DROP BUFFER POOL passing",
            )
    finally:
        enough.set()
        thread.join()
    assert failed == []
    assert violations(server) == []


# ---- processes that wait for a client ----


@contextmanager
def passwords_asked_for(server: Instance) -> Iterator[None]:
    """Of those who connect meanwhile."""
    access = server.data / "pg_hba.conf"
    trusting = access.read_text()
    psql = [str(server.clients / "psql"), "-Xwqc", "SELECT 1"]

    def refused() -> bool:
        ran = subprocess.run(psql, env=server.environment(), capture_output=True, check=False)
        return ran.returncode != 0

    server.query("ALTER ROLE postgres PASSWORD 'secret'")
    access.write_text("local all all scram-sha-256\n")
    server.query("SELECT pg_reload_conf()")
    wait_for("passwords are asked for", refused)
    yield
    access.write_text(trusting)
    os.kill(postmaster(server), signal.SIGHUP)
    wait_for("they are not", lambda: not refused())


def test_clients_that_send_nothing(make: Make) -> None:
    """In the middle of a COPY, and instead of a password."""
    server = server_with_pools(make)
    server.query("CREATE TABLE t (id int)")
    copy = subprocess.Popen(
        [server.clients / "psql", "-Xqc", "COPY t FROM STDIN"],
        env=server.environment(),
        stdin=subprocess.PIPE,
    )
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'ClientRead'"
    with copy, socket.socket(socket.AF_UNIX) as stranger:
        wait_for("it copies", lambda: server.query(f"{waits} AND query LIKE 'COPY t%'") == "1")
        with passwords_asked_for(server):
            stranger.connect(str(server.directory / ".s.PGSQL.5432"))
            parameters = b"user\0postgres\0database\0postgres\0\0"
            stranger.sendall(struct.pack(">II", 8 + len(parameters), 196608) + parameters)
            assert stranger.recv(9)[-1] == 10  # SASL
        began = time.monotonic()
        server.query("ALTER BUFFER POOL DEFAULT SET HANDLER lru")
        assert time.monotonic() - began < 30
        assert copy.stdin is not None
        copy.stdin.write(b"1\n2\n")
        copy.stdin.close()
        assert copy.wait() == 0
    assert server.query("SELECT count(*) FROM t") == "2"


def test_pages_that_a_long_statement_has_not_reported(make: Make) -> None:
    """Nobody can evict them until it has, which a pool that is dropped asks for."""
    server = server_with_pools(make)
    create(server, "hot")
    fill(server, "t", 5, ", buffer_pool = 'hot'")
    server.stop()
    server.start()
    # what a session has queued before it was idle, it reports within a second
    read = "PERFORM pg_sleep(1.5); PERFORM count(pad) FROM t; PERFORM pg_sleep(600)"
    busy = subprocess.Popen(
        [server.clients / "psql", "-Xqc", f"DO $$BEGIN {read}; END$$"],
        env=server.environment(),
        stderr=subprocess.DEVNULL,
    )
    with busy:
        wait_for("it has read", lambda: stat_now(server, "current_buffers", pool="hot")[0] >= 5)
        try:
            server.query("SET statement_timeout = '60s'", "DROP BUFFER POOL hot CASCADE")
        finally:
            server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE wait_event = 'PgSleep'"
            )
    assert violations(server) == []
