"""pg_bufferpool_reset: the pool as after a start, beside whatever else happens."""

from __future__ import annotations

import subprocess
import threading

import pytest

from server.conftest import Make
from server.load import CLIENTS, Worker, set_up, wait_for
from server.stress import SUMS
from server.test_pool import BUFFERS, PAGES, fill, look_up, violations
from tidepool.errors import TidepoolError
from tidepool.server import Instance

RESET = "SELECT pg_bufferpool_reset()"
IN_USE = "shared buffers are in use"


def test_nothing_is_remembered(make: Make) -> None:
    server = make("arc", bufferpool__batch_size="1")
    fill(server)
    look_up(server, 300)
    ghosts = "SELECT count(ghost_key) FROM pg_bufferpool_lists()"
    assert int(server.query(ghosts)) > 0
    server.query("UPDATE t SET pad = 'x' WHERE id <= 20")
    free = "SELECT count(*) FROM pg_bufferpool_lists() WHERE buffer IS NOT NULL"
    resident, remembered = server.query(RESET, free, ghosts).splitlines()
    assert int(resident) < BUFFERS // 2  # a catalog or two, to answer this
    assert remembered == "0"
    assert violations(server) == ""
    assert server.query("SELECT count(*) FROM t WHERE pad = 'x'") == "20"


@pytest.mark.parametrize("algorithm", ["clock", "lru", "random"])
def test_what_follows_depends_on_nothing_before(make: Make, algorithm: str) -> None:
    server = make(algorithm, bufferpool__batch_size="1")
    fill(server)
    server.query("CREATE EXTENSION pg_buffercache")
    where = (
        "SELECT bufferid, relfilenode, relforknumber, relblocknumber, usagecount"
        " FROM pg_buffercache WHERE relfilenode IS NOT NULL ORDER BY 1"
    )
    lookups = [f"SELECT count(pad) FROM t WHERE id = {1 + i * 37 % PAGES}" for i in range(300)]
    # in one session, since what is left to chance is so for each process by itself
    look_up(server, 10)
    twice = server.query(
        *(where, *lookups),
        *("SELECT 'begin'", RESET, *lookups, where, "SELECT 'end'"),
        *lookups[:77],
        *("SELECT 'begin'", RESET, *lookups, where, "SELECT 'end'"),
    ).splitlines()
    found = []
    while "begin" in twice:
        begin, end = twice.index("begin"), twice.index("end")
        found.append(twice[end - BUFFERS : end])
        assert begin < end - BUFFERS
        del twice[: end + 1]
    assert len(found) == 2
    assert found[0] == found[1]


def test_the_buffers_are_free_in_order(make: Make) -> None:
    server = make("clock", shared_buffers="16MB")
    server.query("CREATE EXTENSION pg_buffercache")
    fill(server)
    used = "SELECT count(*), max(bufferid) FROM pg_buffercache WHERE relfilenode IS NOT NULL"
    out = server.query(RESET, "SELECT count(pad) FROM t", used)
    count, highest = out.splitlines()[-1].split("|")
    assert count == highest and int(count) >= PAGES


def test_a_page_that_could_not_be_read(make: Make) -> None:
    """It is in the mapping, but not valid: nothing can be found, evicted or written of it."""
    server = make("lru")
    fill(server)
    path = server.data / server.query("SELECT pg_relation_filepath('t')")
    server.stop()
    with path.open("r+b") as file:
        file.seek(8192 * 7 + 100)
        file.write(b"damaged")
    server.start()
    with pytest.raises(TidepoolError, match="invalid page in block 7"):
        server.query("SELECT count(*) FROM t WHERE pad <> ''")
    server.query(RESET)
    assert violations(server) == ""


def test_pinned_buffers_are_an_error(make: Make) -> None:
    server = make("lru")
    fill(server)
    cursor = "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 1 FROM c;"
    with pytest.raises(TidepoolError, match=f"(?s){IN_USE}.* pinned or .* modified .*HINT"):
        server.query(cursor + RESET)
    other = subprocess.Popen(
        [server.bin / "psql", "-XAtq", "-c", cursor + "SELECT pg_sleep(600)"],
        env=server.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        state = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        wait_for("the other sleeps", lambda: server.query(state) != "0")
        with pytest.raises(TidepoolError, match=IN_USE):
            server.query(RESET)
    finally:
        server.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND query ~ 'pg_sleep'"
        )
        other.wait()
    assert violations(server) == ""
    server.query(RESET)


def test_who_may(make: Make) -> None:
    server = make()
    server.query("CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher")
    with pytest.raises(TidepoolError, match="permission denied for function pg_bufferpool_reset"):
        server.query(RESET, user="watcher")


def resets(server: Instance, bench: subprocess.Popen[bytes]) -> int:
    """Reset again and again while pgbench runs; return how often it could be done."""
    done = 0
    while bench.poll() is None:
        try:
            server.query(RESET)
            done += 1
        except TidepoolError as error:
            assert IN_USE in str(error)
        assert violations(server) == ""
    return done


@pytest.mark.parametrize("algorithm", ["clock", "lru", "arc", "osic", "car"])
def test_beside_others(make: Make, algorithm: str) -> None:
    server = make(algorithm, bgwriter_delay="10ms", autovacuum="on", autovacuum_naptime="1s")
    set_up(server)
    enough = threading.Event()
    number = [script for script, _, _ in CLIENTS].index("churn")
    churn = Worker(server, number, enough)
    churn.start()
    bench = subprocess.Popen(
        [server.bin / "pgbench", "-n", "-c", "8", "-j", "2", "-T", "8", "-R", "50"],
        env=server.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        done = resets(server, bench)
    finally:
        enough.set()
        churn.join()
        bench.kill()
    assert bench.wait() == 0
    assert churn.error is None and churn.transactions > 0
    assert done > 0
    assert violations(server) == ""
    assert server.query(SUMS) == "t"
    assert "TRAP" not in server.log.read_text()
