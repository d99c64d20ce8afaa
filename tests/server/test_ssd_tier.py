"""The SSD tier: pages come to it, are read from it, and leave it when they must."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from server.conftest import Make
from server.load import wait_for
from server.ssd import (
    METHODS,
    ROWS,
    Start,
    check,
    fill,
    log,
    read_all,
    refused,
    settle,
    stat,
)
from tidepool.server import Instance

HITS_OF_FILLED = (
    "SELECT coalesce(sum(hits), 0) FROM pg_ssd_tier_relations WHERE relation = 'filled'::regclass"
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("combine", ["1", "16"])
def test_second_read_comes_from_the_ssd(start: Start, method: str, combine: str) -> None:
    """What fits on the SSD is read from the disk once."""
    instance = start(io_method=method, io_combine_limit=combine, bufferpool__ssd_policy="lru")
    fill(instance)
    first = read_all(instance)
    settle(instance)
    instance.query("SELECT pg_stat_reset_ssd_tier()")
    assert read_all(instance) == first
    reads, hits, verified = stat(instance, "reads", "hits", "verified")
    assert reads > 1000
    assert hits > 0.95 * reads
    assert verified == hits
    check(instance)


def writer_of(instance: Instance) -> str:
    """Its process; nothing if there is none."""
    return instance.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'SSD tier writer'")


def test_the_writer_is_seen(start: Start) -> None:
    """It has a row of pg_stat_activity, although it begins before there are sessions."""
    instance = start()
    seen = "SELECT usename, datname, state, query FROM pg_stat_activity WHERE pid = "
    assert instance.query(seen + writer_of(instance)) == "|||"


def test_the_writer_ends(start: Start, make: Make, ssd: Path) -> None:
    """Another one begins, and goes on; the file stays the server's own."""
    instance = start(1500, bufferpool__ssd_max_size="2000", bufferpool__ssd_policy="lru")
    fill(instance)
    digest = read_all(instance)
    settle(instance)
    first = writer_of(instance)
    os.kill(int(first), signal.SIGTERM)
    wait_for("there is another writer", lambda: writer_of(instance) not in ("", first))
    assert stat(instance, "status") == "on"
    writes = stat(instance, "writes")
    instance.query("UPDATE filled SET text = text WHERE id % 20 = 0", "CHECKPOINT")
    assert read_all(instance) == digest
    settle(instance)
    assert stat(instance, "writes") > writes + 500
    for pages in (2000, 1200):
        instance.query(f"ALTER SYSTEM SET bufferpool.ssd_size = {pages}", "SELECT pg_reload_conf()")
        wait_for("pages have come or gone", partial(has_pages, instance, pages))
        assert (ssd / "tidepool.ssd").stat().st_size == pages * 8192
    other = make(bufferpool__ssd_path=str(ssd), bufferpool__ssd_size="100")
    assert other.query("SELECT pg_ssd_tier_enable()") == "f"
    assert "another server uses it" in log(other)
    assert read_all(instance) == digest
    check(instance)


def test_a_writer_that_ends_and_finds_another_file(start: Start, ssd: Path) -> None:
    """Then the tier is off, until somebody wants a new file."""
    instance = start(bufferpool__ssd_policy="lru")
    fill(instance)
    digest = read_all(instance)
    (ssd / "tidepool.ssd").rename(ssd / "moved")
    os.kill(int(writer_of(instance)), signal.SIGTERM)
    # the new writer finds out, or those who have read meanwhile
    wait_for("it is off", lambda: "the SSD tier is switched off" in log(instance))
    assert stat(instance, "status") == "off"
    assert read_all(instance) == digest
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    assert read_all(instance) == digest


def test_off_while_it_starts(start: Start) -> None:
    """Whoever waits for the tier learns that somebody has switched it off."""
    instance = start(bufferpool__ssd_policy="lru")
    fill(instance, 1000)
    writer = int(writer_of(instance))
    instance.query("SELECT pg_ssd_tier_disable()")
    wait_for("the places are free", lambda: stat(instance, "used_pages") == 0)
    os.kill(writer, signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(instance.query, "SELECT pg_ssd_tier_enable()")
        try:
            wait_for("it starts", lambda: stat(instance, "status") == "starting")
            instance.query("SELECT pg_ssd_tier_disable()")
            assert waiting.result(timeout=30) == "f"
        finally:
            os.kill(writer, signal.SIGCONT)
    assert stat(instance, "status") == "off"
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    check(instance)


def test_no_pages_at_first(start: Start) -> None:
    """A tier may begin with nothing, and grow."""
    instance = start(0, bufferpool__ssd_max_size="2000", bufferpool__ssd_policy="lru")
    fill(instance)
    digest = read_all(instance)
    assert stat(instance, "status", "pages", "used_pages") == ("on", 0, 0)
    instance.query("ALTER SYSTEM SET bufferpool.ssd_size = 2000", "SELECT pg_reload_conf()")
    wait_for("pages have come", partial(has_pages, instance, 2000))
    for _ in range(2):
        assert read_all(instance) == digest
        settle(instance)
    assert stat(instance, "hits") > 500
    check(instance)


def test_extents(start: Start) -> None:
    """They are as warm as their pages were read, and say how many of these the SSD has."""
    instance = start(3000, bufferpool__ssd_policy="page_temperature")
    fill(instance)
    for _ in range(3):
        read_all(instance)
        settle(instance)
    for _ in range(10):  # blocks 320 to 351: an extent of its own
        instance.query(
            "SELECT pg_bufferpool_reset()",
            "SELECT count(text) FROM filled WHERE ctid >= '(320,0)' AND ctid < '(352,0)'",
        )
        settle(instance)
    extents = "SELECT {} FROM pg_ssd_tier_extents WHERE relation = 'filled'::regclass"
    cached = int(instance.query(extents.format("sum(cached)")))
    relation = int(
        instance.query(
            "SELECT pages FROM pg_ssd_tier_relations WHERE relation = 'filled'::regclass"
        )
    )
    assert cached == relation > 500
    hottest = extents.format("relblocknumber") + " ORDER BY temperature DESC LIMIT 1"
    assert instance.query(hottest) == "320"
    sound = extents.format("bool_and(relblocknumber % 32 = 0 AND temperature > 0)")
    assert instance.query(sound) == "t"


def test_a_writer_that_falls_behind(start: Start) -> None:
    """Pages for which it has no room are not written; nobody waits for it."""
    instance = start(
        bufferpool__ssd_policy="lru",
        bufferpool__ssd_write_buffers="64",
        # it would write from the queue, to make room for its own pages
        bgwriter_lru_maxpages="0",
    )
    fill(instance)
    settle(instance)
    writer = int(writer_of(instance))
    instance.query("SELECT pg_ssd_tier_reset()")
    settle(instance)  # it waits for work, and holds nothing
    instance.query("SELECT pg_stat_reset_ssd_tier()")
    os.kill(writer, signal.SIGSTOP)
    try:
        first = read_all(instance)
        came, dropped = stat(instance, "admissions + updates", "dropped")
        assert came > 1000
        assert came - 64 <= dropped < came
    finally:
        os.kill(writer, signal.SIGCONT)
    settle(instance)
    assert 0 < stat(instance, "writes") < came // 2  # what was dropped is not written
    assert read_all(instance) == first
    check(instance)


@pytest.mark.parametrize("seek", ["12000", "160"])
def test_gaps_in_a_read(start: Start, seek: str) -> None:
    """The disk reads on through pages that the SSD has, unless a seek takes no longer."""
    # with fewer buffers a process may not pin enough of them to combine reads
    instance = start(
        2000,
        shared_buffers="16MB",
        bufferpool__ssd_policy="lru",
        bufferpool__disk_random_read_time=seek,
    )
    fill(instance)
    for query in (
        # blocks 200, 201, 203, 205 and 207; a read may begin or end with one of them
        "SET enable_bitmapscan = off; SET enable_seqscan = off;"
        " SELECT count(text) FROM filled WHERE id IN (4010, 4030, 4070, 4110, 4150)",
        "SET enable_indexscan = off; SELECT count(text) FROM filled"
        " WHERE ctid BETWEEN '(190,1)' AND '(220,1)'",
    ):
        instance.stop()
        instance.start()
        assert instance.query("SELECT pg_ssd_tier_enable()", "SELECT pg_stat_reset_ssd_tier()")
        before = instance.query(HITS_OF_FILLED)
        assert int(instance.query(query)) > 0
        settle(instance)
    hits = int(instance.query(HITS_OF_FILLED)) - int(before)
    assert hits == 5 if seek == "160" else hits < 4
    check(instance)


@pytest.mark.parametrize("policy", ["page_temperature", "tac", "fifo", "lru", "clock", "arc"])
def test_policies(start: Start, policy: str) -> None:
    """Each algorithm keeps some of a table that is larger than the SSD."""
    instance = start(400, bufferpool__ssd_policy=policy)
    fill(instance)
    digest = read_all(instance)
    for _ in range(3):
        settle(instance)
        assert read_all(instance) == digest
    used, evictions, verified = stat(instance, "used_pages", "evictions", "verified")
    assert 350 < used <= 400
    assert verified == stat(instance, "hits")
    if policy in ("fifo", "lru", "clock", "arc"):
        assert evictions > 1000
    else:  # all pages are alike: they do not take turns
        assert verified > 500
    check(instance)


def test_written_pages_are_copied_again(start: Start) -> None:
    """A page on the SSD that changes is read from there as it is now."""
    instance = start(bufferpool__ssd_policy="lru")
    fill(instance)
    read_all(instance)
    settle(instance)
    instance.query("UPDATE filled SET text = 'new' WHERE id % 100 = 0", "CHECKPOINT")
    assert stat(instance, "updates") > 100
    settle(instance)
    instance.query("SELECT pg_stat_reset_ssd_tier()")
    assert instance.query("SELECT count(*) FROM filled WHERE text = 'new'") == str(ROWS // 100)
    reads, hits = stat(instance, "reads", "hits")
    assert hits > 0.9 * reads > 800
    check(instance)


def test_hint_bits(start: Start) -> None:
    """Hint bits set while a page is written make no difference (without checksums)."""
    instance = start(64, bufferpool__ssd_policy="lru")
    instance.query("CREATE TABLE hinted AS SELECT i AS id FROM generate_series(1, 50000) AS i")
    for _ in range(3):
        instance.query(
            "UPDATE hinted SET id = id + 1 WHERE id % 3 = 0", "SELECT sum(id) FROM hinted"
        )
        instance.query("CHECKPOINT", "SELECT sum(id) FROM hinted")
    check(instance)


CHANGES = {
    "truncate": ["TRUNCATE filled", "INSERT INTO filled VALUES (1, 'a', 'b')"],
    "drop": ["DROP TABLE filled", "CREATE TABLE filled (id int, text text, wide text)"],
    "delete and vacuum": ["DELETE FROM filled WHERE id > 30", "VACUUM filled"],
    "extend again": [
        "DELETE FROM filled WHERE id > 30",
        "VACUUM filled",
        "INSERT INTO filled SELECT i, repeat('x', 300) FROM generate_series(1001, 9000) AS i",
    ],
    "vacuum full": ["VACUUM FULL filled"],
    "cluster": ["CLUSTER filled USING filled_pkey"],
    "reindex": ["REINDEX TABLE filled"],
    "unlogged": ["ALTER TABLE filled SET UNLOGGED", "ALTER TABLE filled SET LOGGED"],
    "rewritten": ["ALTER TABLE filled ALTER id TYPE bigint"],
    "moved": ["ALTER TABLE filled SET TABLESPACE place", "UPDATE filled SET id = -id"],
    "moved and back": [
        "ALTER TABLE filled SET TABLESPACE place",
        "UPDATE filled SET text = 'moved' WHERE id % 3 = 0",
        "CHECKPOINT",
        "ALTER TABLE filled SET TABLESPACE pg_default",
    ],
    "rolled back": ["BEGIN; TRUNCATE filled; INSERT INTO filled VALUES (1); ROLLBACK"],
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(start: Start, change: str) -> None:
    """After all that happens to files, what is read is what is there."""
    instance = start(bufferpool__ssd_policy="lru", checkpoint_timeout="30s")
    fill(instance)
    instance.query("SET allow_in_place_tablespaces = on", "CREATE TABLESPACE place LOCATION ''")
    read_all(instance)
    settle(instance)
    instance.query(*CHANGES[change])
    before = read_all(instance)
    instance.query("CHECKPOINT")
    for _ in range(2):
        assert read_all(instance) == before
        settle(instance)
    check(instance)


@pytest.mark.parametrize("strategy", ["file_copy", "wal_log"])
def test_databases(start: Start, ssd: Path, strategy: str) -> None:
    """Databases are copied, moved to another tablespace and back, and dropped."""
    instance = start(bufferpool__ssd_policy="lru")
    place = ssd / "place"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    count = "SELECT count(*), sum(hashtextextended(text, 0)) FROM filled"
    instance.query(
        "SET allow_in_place_tablespaces = on",
        "CREATE TABLESPACE place LOCATION ''",
        "CREATE DATABASE one",
    )
    for statement in (
        "CREATE TABLE filled AS SELECT i AS id, md5(i::text) AS text"
        " FROM generate_series(1, 9000) AS i",
        "CHECKPOINT",
        count,
    ):
        instance.query(statement, database="one")
    for round_ in range(2):
        settle(instance)
        rows = instance.query(count, database="one")
        instance.query(f"CREATE DATABASE two TEMPLATE one STRATEGY {strategy}")
        assert instance.query(count, database="two") == rows
        instance.query(
            f"UPDATE filled SET text = '{round_}' WHERE id % 7 = 0", "CHECKPOINT", database="one"
        )
        rows = instance.query(count, database="one")
        instance.query("ALTER DATABASE one SET TABLESPACE place")
        assert instance.query(count, database="one") == rows
        instance.query(
            "UPDATE filled SET text = 'moved' WHERE id % 5 = 0", "CHECKPOINT", database="one"
        )
        rows = instance.query(count, database="one")
        instance.query("ALTER DATABASE one SET TABLESPACE pg_default")
        assert instance.query(count, database="one") == rows
        instance.query("DROP DATABASE two")
    check(instance)


def test_gone_pages_leave_the_ssd(start: Start) -> None:
    """The slots of a dropped table become free, and so do those of a dropped database."""
    instance = start(bufferpool__ssd_policy="lru")
    fill(instance)
    read_all(instance)
    settle(instance)
    used = stat(instance, "used_pages")
    instance.query("DROP TABLE filled")
    assert used > 1000
    wait_for("places are free", lambda: stat(instance, "used_pages") < used - 1000)
    instance.query("CREATE DATABASE other")
    instance.query(
        "CREATE TABLE t AS SELECT repeat('x', 7000) FROM generate_series(1, 1000)",
        "CHECKPOINT",
        "SELECT count(*) FROM t",
        database="other",
    )
    for _ in range(2):
        instance.query("SELECT count(*) FROM t", database="other")
        settle(instance)
    oid = instance.query("SELECT oid FROM pg_database WHERE datname = 'other'")
    pages = f"SELECT coalesce(sum(pages), 0) FROM pg_ssd_tier_relations WHERE reldatabase = {oid}"
    assert int(instance.query(pages)) > 50
    used = stat(instance, "used_pages")
    instance.query("DROP DATABASE other")
    wait_for("places are free", lambda: stat(instance, "used_pages") < used - 50)
    assert instance.query(pages) == "0"
    check(instance)


def has_pages(instance: Instance, pages: int) -> bool:
    return bool(stat(instance, "pages") == pages)


def test_size(start: Start) -> None:
    """The tier becomes larger and smaller while it is used."""
    instance = start(500, bufferpool__ssd_max_size="2000", bufferpool__ssd_policy="lru")
    fill(instance)
    digest = read_all(instance)
    for pages in (1500, 100, 2000, 300, 5000):
        instance.query(f"ALTER SYSTEM SET bufferpool.ssd_size = {pages}", "SELECT pg_reload_conf()")
        wait_for("pages have come", partial(has_pages, instance, min(pages, 2000)))
        assert read_all(instance) == digest
        settle(instance)
        used = stat(instance, "used_pages")
        assert min(pages, 1000) * 0.9 < used <= pages
        check(instance)
    file = Path(stat(instance, "file"))
    assert file.stat().st_size == 2000 * 8192


def test_size_under_load(start: Start) -> None:
    """Likewise while clients read and write; nobody notices but by the time that it takes."""
    instance = start(
        500, bufferpool__ssd_max_size="3000", bufferpool__ssd_policy="page_temperature"
    )
    fill(instance)
    load = threading.Event()
    failures: list[str] = []

    def client(number: int) -> None:
        query = (
            "SELECT sum(length(text)) FROM filled WHERE id BETWEEN {0} AND {0} + 3000;"
            "UPDATE filled SET text = text WHERE id % 997 = {1}"
        )
        i = number
        while not load.is_set():
            i = (i * 7919 + 1) % 17000
            run = instance.run(
                *(instance.bin / "psql", "-XAtq", "-U", "postgres"),
                "-c",
                query.format(i, i % 997),
            )
            if run.returncode != 0:
                failures.append(run.stdout)

    clients = [threading.Thread(target=client, args=(i + 1,)) for i in range(3)]
    for thread in clients:
        thread.start()
    try:
        for pages in (3000, 100, 1500, 16, 2999, 500):
            instance.query(
                f"ALTER SYSTEM SET bufferpool.ssd_size = {pages}", "SELECT pg_reload_conf()"
            )
            wait_for("pages have come", partial(has_pages, instance, pages))
            assert stat(instance, "used_pages") <= pages
            assert Path(stat(instance, "file")).stat().st_size == 8192 * pages
            before = stat(instance, "reads")
            wait_for("it reads", lambda before=before: stat(instance, "reads") > before + 300)  # type: ignore[misc]
    finally:
        load.set()
        for thread in clients:
            thread.join()
    assert failures == []
    settle(instance)
    assert stat(instance, "verified") > 100
    check(instance)


def test_size_beyond_memory(start: Start) -> None:
    """The log says why the tier is not as large as was asked for."""
    instance = start(500)
    instance.query("ALTER SYSTEM SET bufferpool.ssd_size = 600", "SELECT pg_reload_conf()")
    wait_for("it says so", lambda: "there is no memory for more" in log(instance))
    assert 'Set "bufferpool.ssd_max_size" and restart' in log(instance)
    assert has_pages(instance, 500)


@pytest.mark.parametrize("policy", ["page_temperature", "tac", "lru", "clock", "fifo"])
def test_memory(start: Start, policy: str) -> None:
    """At most 1 % of the SSD; what is written is on its way through other memory."""
    instance = start(100, bufferpool__ssd_max_size="2GB", bufferpool__ssd_policy=policy)
    assert stat(instance, "memory") <= 0.01 * (2 << 30)


def test_size_too_small(make: Make, ssd: Path) -> None:
    instance = make(bufferpool__ssd_path=str(ssd), bufferpool__ssd_size="8")
    assert stat_rows(instance) == "0"
    assert 'there is no SSD tier: "bufferpool.ssd_size" is too small' in log(instance)
    assert "Set it to at least 128 kB" in log(instance)


def stat_rows(instance: Instance) -> str:
    return instance.query("SELECT count(*) FROM pg_stat_ssd_tier")


def test_crash(start: Start) -> None:
    """After a crash the server and its tier start again, and nothing is lost."""
    instance = start(bufferpool__ssd_policy="lru", restart_after_crash="on")
    fill(instance)
    digest = read_all(instance)
    settle(instance)
    instance.query("UPDATE filled SET text = text || 'x' WHERE id % 50 = 0")
    digest = read_all(instance)
    instance.stop("immediate")
    instance.start()
    assert read_all(instance) == digest
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    assert read_all(instance) == digest
    check(instance)


# ---- settings and privileges ----


def test_off_and_on(start: Start) -> None:
    """The tier can be switched off, and on again, by whoever may."""
    instance = start()
    fill(instance)
    read_all(instance)
    instance.query("SELECT pg_ssd_tier_disable()")
    wait_for("the places are free", lambda: stat(instance, "used_pages") == 0)
    hits = stat(instance, "hits")
    read_all(instance)
    assert stat(instance, "status", "hits", "used_pages") == ("off", hits, 0)
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    read_all(instance)
    assert stat(instance, "used_pages") > 500
    instance.query("CREATE ROLE watcher LOGIN IN ROLE pg_monitor")
    instance.query("SELECT count(*) FROM pg_stat_ssd_tier, pg_ssd_tier_relations", user="watcher")
    for call in (
        *("pg_ssd_tier_disable()", "pg_ssd_tier_enable()", "pg_ssd_tier_reset()"),
        "pg_stat_reset_ssd_tier()",
    ):
        assert "permission denied" in refused(instance, f"SELECT {call}", "watcher")
    check(instance)


def test_reset(start: Start) -> None:
    """A tier that is reset has no page, and knows of no extent."""
    instance = start()
    fill(instance)
    read_all(instance)
    settle(instance)
    known = "SELECT count(*) FROM pg_ssd_tier_extents"
    pages = stat(instance, "pages")
    assert stat(instance, "used_pages") > 500 and int(instance.query(known)) > 10
    assert instance.query("SELECT pg_ssd_tier_reset()") == "t"
    assert stat(instance, "used_pages", "pages", "status") == (0, pages, "on")
    assert instance.query(known) == "0"
    read_all(instance)
    settle(instance)
    assert stat(instance, "used_pages") > 500
    check(instance)


def test_pools_change_beside_a_tier(start: Start) -> None:
    """Nobody waits for the tier's writer, which takes no part in barriers."""
    instance = start()
    for statement in (
        "CREATE BUFFER POOL small HANDLER lru SIZE '128kB'",
        "ALTER BUFFER POOL small SET HANDLER fifo",
        "DROP BUFFER POOL small",
    ):
        command = [str(instance.bin / "psql"), "-XAtq", "-c", statement]
        client = subprocess.Popen(command, env=instance.environment(), text=True)
        try:
            assert client.wait(timeout=60) == 0, statement
        finally:
            client.kill()  # the statement itself could not be canceled
    assert "still waiting for process" not in log(instance)
    check(instance)


def test_no_tier(make: Make) -> None:
    """Without settings there is none, and everything says so."""
    instance = make()
    for view in ("pg_stat_ssd_tier", "pg_ssd_tier_relations", "pg_ssd_tier_extents"):
        assert instance.query(f"SELECT count(*) FROM {view}") == "0"
    assert instance.query("SELECT * FROM pg_ssd_tier_check()") == ""
    for call in ("pg_ssd_tier_enable()", "pg_ssd_tier_reset()"):
        assert "there is no SSD tier" in refused(instance, f"SELECT {call}")


def test_unknown_policy(start: Start) -> None:
    """A mistyped name or parameter does not keep the server from starting."""
    instance = start(bufferpool__ssd_policy="lur")
    assert stat(instance, "policy") == "page_temperature"
    assert 'algorithm "lur" of the SSD tier does not exist' in log(instance)
    instance.stop()
    instance = start(bufferpool__ssd_parameters="samples=3")
    assert 'parameters "samples=3" of the SSD tier' in log(instance)
