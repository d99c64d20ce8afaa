"""Warm starts beside others: databases, pools and tables change, processes end; standbys."""

from __future__ import annotations

import threading

import pytest

from server.conftest import Make
from server.copies import standby_of
from server.load import wait_for
from server.machine import Machine
from server.pools import create, fill, violations
from server.sessions import Session
from server.warm import (
    BUFFERS,
    FILE,
    contents,
    counted,
    file,
    is_complete,
    parse,
    restarted,
    stat,
    wait_until_warm,
    warm_server,
    warmed,
)
from tidepool.server import LIBRARIES, Instance

# ---- beside it ----


def slow_start(make: Make, rate: str = "400") -> Instance:
    """A server that is reading its list back, slowly."""
    server = warmed(make)
    server.query("CREATE DATABASE other")
    server.query("CREATE TABLE there AS SELECT generate_series(1, 20000) id", database="other")
    server.query("SELECT count(*) FROM there", database="other")
    server.stop()
    server.configure({"bufferpool.warm_rate": rate, "bufferpool.warm_workers": "2"})
    server.start()
    wait_for("workers read", lambda: int(stat(server, "pages_read")) > 0)
    return server


def workers(server: Instance) -> list[str]:
    return server.query(
        "SELECT pid, datname FROM pg_stat_activity WHERE backend_type = 'buffer pool warm worker'"
    ).splitlines()


def at_full_speed(server: Instance) -> None:
    server.query("ALTER SYSTEM SET bufferpool.warm_rate = 0", "SELECT pg_reload_conf()")
    wait_until_warm(server)
    assert is_complete(counted(server))
    assert violations(server) == []


def test_drop_database(make: Make) -> None:
    """Nor does it keep anybody from having a database for himself."""
    server = slow_start(make)
    wait_for("a worker is in it", lambda: any("other" in worker for worker in workers(server)))
    server.query("DROP DATABASE other")
    at_full_speed(server)


def test_copy_database(make: Make) -> None:
    server = slow_start(make)
    wait_for("a worker is in it", lambda: any("other" in worker for worker in workers(server)))
    server.query("CREATE DATABASE copy TEMPLATE other")
    at_full_speed(server)
    assert server.query("SELECT count(*) FROM there", database="copy") == "20000"


def test_locked_table(make: Make) -> None:
    """A lock on a table is not waited for."""
    server = warmed(make, table=300)
    server.stop()
    server.configure({"bufferpool.warm_rate": "8"})
    server.start()
    session = Session(server, "BEGIN; LOCK TABLE t; SELECT pg_sleep(600)")
    asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    wait_for("the table is locked", lambda: server.query(asleep) == "1")
    at_full_speed(server)
    assert counted(server)["left"] > 0
    server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    )
    session.result()


def test_pools_change(make: Make) -> None:
    server = slow_start(make)
    create(server, "made", "lirs", "2MB")
    server.query("ALTER BUFFER POOL made SET HANDLER arc")
    server.query("ALTER BUFFER POOL made SET SIZE '1MB'")
    server.query("ALTER TABLE t SET (buffer_pool = made)", "SELECT count(pad) FROM t")
    server.query("DROP BUFFER POOL made CASCADE")
    at_full_speed(server)


def test_tables_change(make: Make) -> None:
    """Truncated, dropped, extended beside it: what is read is right."""
    server = slow_start(make)
    fill(server, "x", 50)
    server.query("DELETE FROM t WHERE id > 100", "VACUUM t", "TRUNCATE x")
    server.query("INSERT INTO t SELECT i, 'new' FROM generate_series(1001, 3000) i")
    at_full_speed(server)
    assert server.query("SELECT count(*) FROM t") == "2100"
    assert server.query("SELECT count(*) FROM t WHERE pad = 'new'") == "2000"


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_ended_workers(make: Make, end: str) -> None:
    server = slow_start(make)
    for _ in range(2):
        server.query(
            f"SELECT {end}(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'buffer pool warm worker'"
        )
    at_full_speed(server)


def test_ended_in_the_middle(make: Make, machine: Machine) -> None:
    """What an ended worker has not read is left, and counted; the others go on."""
    server = slow_disk(make, machine, read_time=100_000)
    server.configure({"bufferpool.warm_workers": "2"})
    server.start()
    wait_for("pages come", lambda: int(stat(server, "pages_read")) > 0)
    ended = server.query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE backend_type = 'buffer pool warm worker'"
    )
    machine.is_like()
    at_full_speed(server)
    assert int(ended) > 0
    assert 0 < counted(server)["left"] <= 64 * int(ended)


def test_ended_leader(make: Make) -> None:
    """The list that it has not read to the end stays; another one begins to save."""
    server = slow_start(make, rate="100")
    old = file(server).read_bytes()
    pid = stat(server, "pid")
    server.query(f"SELECT pg_terminate_backend({pid})")
    wait_for("it has ended", lambda: stat(server, "pid") not in (pid, ""))
    wait_until_warm(server)
    assert violations(server) == []
    assert file(server).read_bytes() == old
    assert server.query("SELECT pg_bufferpool_save_warm() IS NULL") == "t"


def test_pages_in_use_stay(make: Make) -> None:
    """With no room left, nothing is evicted for the list."""
    server = warmed(make)
    server.stop()
    server.configure({"bufferpool.warm_rate": "8"})
    server.start()
    fill(server, "filler", BUFFERS)
    server.query("SELECT count(pad) FROM filler")
    before = {line for line in contents(server)}
    evictions = "SELECT sum(evictions) FROM pg_stat_bufferpool"
    evicted = int(server.query(evictions))
    server.query("ALTER SYSTEM SET bufferpool.warm_rate = 0", "SELECT pg_reload_conf()")
    wait_until_warm(server)
    assert counted(server)["no_room"] > 0
    # sessions and workers read catalogs; the list would have cost most of the buffers
    assert int(server.query(evictions)) - evicted < BUFFERS // 10
    assert len(before - contents(server)) < BUFFERS // 10
    assert violations(server) == []


def test_saving_beside_a_load(make: Make) -> None:
    """A list that is saved while pages come and go can be read back."""
    server = warmed(make, "lirs", table=1500)
    stop = threading.Event()

    def load() -> None:
        while not stop.is_set():
            server.query(
                "SELECT count(pad) FROM t WHERE id % 3 = 0", "UPDATE t SET pad = 'y' WHERE id = 5"
            )

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for _ in range(20):
            assert int(server.query("SELECT pg_bufferpool_save_warm()")) > 0.8 * BUFFERS
            _, pools = parse(file(server).read_bytes())
            pages = [(p.database, p.file, p.fork, p.block) for p in pools[0].pages]
            assert len(set(pages)) == len(pages)
    finally:
        stop.set()
        thread.join()
    server.stop("immediate")
    restarted(server)


def test_saving_while_algorithms_change(make: Make) -> None:
    """No list is cut short; if there is none, the old one stays."""
    server = warmed(make, "lirs", table=6000, shared_buffers="32MB")
    server.query("SET enable_seqscan = off", "SELECT count(pad) FROM t WHERE id > 0")
    changes = [f"ALTER BUFFER POOL DEFAULT SET HANDLER {name}" for name in ("arc", "lirs")]
    session = Session(server, *(100 * changes))
    lengths = server.query(
        "SELECT pg_bufferpool_save_warm(force => true) FROM generate_series(1, 200)"
    ).split()
    assert session.running()
    session.end()
    assert len(lengths) > 100
    assert min(map(int, lengths)) > 3500  # of 4,096


# ---- queries come first ----


def slow_disk(make: Make, machine: Machine, read_time: int = 3000) -> Instance:
    """A server that is about to read its list back; a read takes so many microseconds."""
    server = warmed(make)
    fill(server, "cold", 700)
    server.query("CHECKPOINT", "SELECT pg_bufferpool_reset()")
    server.query("SET enable_seqscan = off", "SELECT count(pad) FROM t WHERE id > 0")
    server.stop()
    machine.is_like(read_time=read_time)
    return server


def test_workers_pause_for_queries(make: Make, machine: Machine) -> None:
    """After a run, if a session waits for a read."""
    server = slow_disk(make, machine)
    server.configure({"bufferpool.warm_rate": "1000"})  # four seconds
    server.start()
    session = Session(server, "SET enable_seqscan = off; SELECT count(pad) FROM cold WHERE id > 0")
    wait_until_warm(server)
    session.result()
    assert int(stat(server, "pauses")) > 0
    assert is_complete(counted(server))


def test_workers_do_not_pause_for_nobody(make: Make, machine: Machine) -> None:
    server = slow_disk(make, machine)
    server.start()
    # no session, not even one that asks
    wait_for("pages are read", lambda: "warm start: read" in server.log.read_text())
    assert int(stat(server, "pages_read")) > 100
    assert stat(server, "pauses") == "0"


# ---- what a warm start needs ----


def test_little_shared_memory(make: Make, machine: Machine) -> None:
    """The hottest pages come back, and the list stays until this server has as many."""
    server = warmed(make, table=700)
    hot = "SELECT count(pad) FROM t WHERE id BETWEEN 1 AND 200"
    server.query("SET enable_seqscan = off", hot, hot)
    server.stop()
    old = file(server).read_bytes()
    machine.is_like(shared_memory=16000)
    restarted(server)
    counts = counted(server)
    assert is_complete(counts)
    assert 0.4 * counts["wanted"] < counts["left"] < 0.6 * counts["wanted"]
    there = {page.split("|", 1)[1] for page in contents(server)}
    t = server.query("SELECT pg_relation_filenode('t')")
    assert there >= {f"{t}|0|{block}" for block in range(200)}
    said = server.log.read_text()
    assert said.count("not enough dynamic shared memory to read back") == 1
    assert 'Set "min_dynamic_shared_memory" to 1MB or more' in said
    assert server.query("SELECT pg_bufferpool_save_warm() IS NULL") == "t"
    server.stop()
    assert file(server).read_bytes() == old
    # as the hint says
    server.configure({"min_dynamic_shared_memory": "1MB"})
    restarted(server)
    assert counted(server)["left"] == 0


def test_no_shared_memory(make: Make, machine: Machine) -> None:
    """Nothing comes back, and the list stays."""
    server = warmed(make)
    server.stop()
    old = file(server).read_bytes()
    machine.is_like(shared_memory=1)
    restarted(server)
    counts = counted(server)
    assert is_complete(counts)
    assert counts["left"] == counts["wanted"] > 0
    assert "None is read, and the list stays as it is" in server.log.read_text()
    server.stop()
    assert file(server).read_bytes() == old


def is_kept(server: Instance, old: bytes) -> bool:
    """Whether a server that has not read this list back leaves it where it is."""
    assert counted(server)["wanted"] == 0
    assert server.query("SELECT pg_bufferpool_save_warm() IS NULL") == "t"
    server.stop()
    return file(server).read_bytes() == old


def test_ended_before_it_has_read_the_list(make: Make, machine: Machine) -> None:
    server = warmed(make)
    server.stop()
    old = file(server).read_bytes()
    machine.is_like(list_time=700000)
    server.start()
    pid = stat(server, "pid")
    server.query(f"SELECT pg_cancel_backend({pid})")
    wait_for("another one begins", lambda: stat(server, "pid") not in (pid, ""))
    machine.is_like()
    wait_until_warm(server)
    assert is_kept(server, old)


def test_list_that_cannot_be_read(make: Make, machine: Machine) -> None:
    """It may be sound, unlike one that is damaged."""
    server = warmed(make)
    server.stop()
    old = file(server).read_bytes()
    machine.is_like(list_fails=1)
    server.start()
    wait_until_warm(server)
    assert f'could not read file "{FILE}": Input/output error' in server.log.read_text()
    machine.is_like()
    assert is_kept(server, old)


# ---- settings and rights ----


def test_off(make: Make) -> None:
    server = warm_server(make, bufferpool__warm_start="off")
    assert stat(server, "phase") == "off"
    assert (
        server.query("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE '%warm%'")
        == "0"
    )
    server.stop()
    assert not file(server).exists()


def test_autoprewarm(make: Make) -> None:
    server = warm_server(make, shared_preload_libraries=f"{LIBRARIES}, pg_prewarm")
    assert "are both on" in server.log.read_text()
    assert "pg_prewarm.autoprewarm" in server.log.read_text()
    server.restart({"pg_prewarm.autoprewarm": "false"})
    server.log.unlink()
    server.restart({"pg_prewarm.autoprewarm": "true"})
    assert "are both on" in server.log.read_text()
    # without the library the setting means nothing
    for value in ("on", "true"):
        server.log.unlink()
        server.restart({"shared_preload_libraries": LIBRARIES, "pg_prewarm.autoprewarm": value})
        assert "are both on" not in server.log.read_text()


def test_rights(make: Make) -> None:
    server = warm_server(make)
    server.query("CREATE ROLE somebody LOGIN", "CREATE ROLE watcher LOGIN IN ROLE pg_monitor")
    view = "SELECT phase FROM pg_stat_progress_bufferpool_warm"
    assert server.query(view, user="watcher") != ""
    for query in (view, "SELECT pg_bufferpool_save_warm()"):
        run = server.run(server.bin / "psql", "-XAt", "-U", "somebody", "-c", query)
        assert "permission denied" in run.stdout
    assert (
        "permission denied"
        in server.run(
            server.bin / "psql", "-XAt", "-U", "watcher", "-c", "SELECT pg_bufferpool_save_warm()"
        ).stdout
    )


# ---- standby ----


def test_standby(make: Make) -> None:
    """A standby begins with its primary's list, saves its own, and is warm when promoted."""
    primary = warmed(make)
    before = contents(primary)
    primary.query("SELECT pg_bufferpool_save_warm()", "CHECKPOINT")
    with standby_of(primary) as standby:
        wait_until_warm(standby)
        assert len(contents(standby) & before) > 0.95 * len(before)
        assert violations(standby) == []
        assert int(standby.query("SELECT pg_bufferpool_save_warm()")) > 0.95 * len(before)
        standby.restart({})
        wait_until_warm(standby)
        standby.query("SELECT pg_promote()")
        assert len(contents(standby) & before) > 0.95 * len(before)
        assert violations(standby) == []
        standby.query("CREATE TABLE after (i int)")
