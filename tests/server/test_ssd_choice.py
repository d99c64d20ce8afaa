"""Which relations come to the SSD, as they, or their pools, choose (ssd_tier)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from server.conftest import Make
from server.copies import catch_up, standby_of
from server.load import wait_for
from server.pools import fails
from server.ssd import (
    Start,
    check,
    read_all,
    settle,
    ssd_directory,
    stat,
    with_tier,
)
from server.ssd import fill as fill_table
from tidepool.server import Instance

LIMITS = {"checkpoint_timeout": "1h"}
LARGER = {**LIMITS, "shared_buffers": "4MB"}  # for named pools


def fill(instance: Instance, name: str, options: str = "", pages: int = 300) -> None:
    """A table of so many pages, frozen, on the disk."""
    instance.query(
        f"CREATE TABLE {name} (id int, text text) {options}",
        f"ALTER TABLE {name} ALTER text SET STORAGE PLAIN",
        f"INSERT INTO {name} SELECT i, repeat('x', 3000) FROM generate_series(1, {2 * pages}) i",
        f"VACUUM (FREEZE) {name}",
        "CHECKPOINT",
    )


def read(instance: Instance, *names: str, times: int = 1) -> None:
    for _ in range(times):
        for name in names:
            instance.query(f"SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM {name}")
        settle(instance)


def pages(instance: Instance, name: str) -> int:
    """Pages of the relation on the SSD."""
    return int(
        instance.query(
            "SELECT coalesce(sum(pages), 0) FROM pg_ssd_tier_relations"
            f" WHERE relation = '{name}'::regclass"
        )
    )


def choice(instance: Instance, name: str) -> str:
    """What the directory knows of the relation."""
    return instance.query(
        f"SELECT ssd_tier FROM pg_ssd_tier_relations WHERE relation = '{name}'::regclass"
    )


def options(instance: Instance, name: str) -> str:
    return instance.query(f"SELECT reloptions FROM pg_class WHERE oid = '{name}'::regclass")


# ---- the parameter ----


def test_parameter(make: Make) -> None:
    """Tables, materialized views, indexes and partitions take it, views and others do not."""
    server = make()
    server.query(
        "CREATE TABLE t (id int PRIMARY KEY WITH (ssd_tier = keep), body text)"
        " WITH (ssd_tier = 'none', fillfactor = 50)",
        "CREATE INDEX i ON t (body) WITH (ssd_tier = 'keep')",
        "CREATE MATERIALIZED VIEW m WITH (ssd_tier = auto) AS SELECT 1",
        "CREATE TABLE p (id int) PARTITION BY LIST (id) WITH (ssd_tier = 'keep')",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) WITH (ssd_tier = 'none')",
    )
    assert options(server, "t") == "{ssd_tier=none,fillfactor=50}"
    assert options(server, "i") == options(server, "t_pkey") == "{ssd_tier=keep}"
    assert options(server, "m") == "{ssd_tier=auto}"
    assert (options(server, "p1"), options(server, "p2")) == ("{ssd_tier=keep}", "{ssd_tier=none}")
    server.query("ALTER TABLE t RESET (ssd_tier)", "ALTER INDEX i SET (ssd_tier = 'NONE')")
    assert options(server, "t") == "{fillfactor=50}"
    for statement in (
        "ALTER TABLE t SET (ssd_tier = 'yes')",
        "ALTER TABLE t SET (ssd_tier = '')",
        "ALTER INDEX i SET (ssd_tier = 1)",
        "ALTER TABLE t SET (toast.ssd_tier = 'all')",
    ):
        error = fails(server, statement)
        assert 'invalid value for option "ssd_tier"' in error
        assert 'Valid values are "auto", "keep", and "none".' in error
    assert "unrecognized parameter" in fails(
        server, "CREATE VIEW v WITH (ssd_tier = auto) AS SELECT 1"
    )
    assert "unrecognized parameter" in fails(
        server, "ALTER TABLESPACE pg_default SET (ssd_tier = 'auto')"
    )
    assert "more than once" in fails(
        server, "CREATE TABLE u (id int) WITH (ssd_tier = auto, ssd_tier = keep)"
    )
    assert int(server.query("SELECT pg_bufferpool_reset_options()")) >= 5
    assert "ssd_tier" not in server.query("SELECT array_agg(reloptions::text) FROM pg_class")


def test_toast(make: Make) -> None:
    """A TOAST table follows its table, unless it is told otherwise."""
    server = make()

    def toast(name: str) -> str:
        return server.query(
            "SELECT t.reloptions FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid"
            f" WHERE c.oid = '{name}'::regclass"
        )

    server.query(
        "CREATE TABLE a (body text) WITH (ssd_tier = none)",
        "CREATE TABLE b (body text) WITH (ssd_tier = none, toast.ssd_tier = keep)",
        "CREATE TABLE c (body text)",
    )
    assert (toast("a"), toast("b"), toast("c")) == ("{ssd_tier=none}", "{ssd_tier=keep}", "")
    server.query("ALTER TABLE c SET (ssd_tier = keep)")
    assert toast("c") == "{ssd_tier=keep}"
    server.query("ALTER TABLE c SET (ssd_tier = none, toast.ssd_tier = auto)")
    assert (options(server, "c"), toast("c")) == ("{ssd_tier=none}", "{ssd_tier=auto}")
    server.query("ALTER TABLE c RESET (ssd_tier)")
    assert (options(server, "c"), toast("c")) == ("", "")


def test_dump(make: Make) -> None:
    """It is dumped, unless a stock server is to read the dump."""
    server = make()
    server.query(
        "CREATE TABLE t (id int PRIMARY KEY, body text)"
        " WITH (ssd_tier = keep, toast.ssd_tier = none)",
        "CREATE INDEX i ON t (id) WITH (ssd_tier = none, fillfactor = 50)",
    )
    dump = server.run(server.bin / "pg_dump", "-U", "postgres", "-s").stdout
    assert "WITH (ssd_tier=keep, toast.ssd_tier='none')" in dump
    assert "WITH (ssd_tier='none', fillfactor='50')" in dump
    stock = server.run(server.bin / "pg_dump", "-U", "postgres", "-s", "--no-buffer-pools").stdout
    assert "ssd_tier" not in stock
    assert "fillfactor" in stock


# ---- none ----


def test_none_does_not_come(start: Start) -> None:
    instance = start(bufferpool__ssd_policy="lru", **LIMITS)
    fill(instance, "wanted")
    fill(instance, "unwanted", "WITH (ssd_tier = none)")
    read(instance, "wanted", "unwanted", times=2)
    assert pages(instance, "wanted") > 280
    assert pages(instance, "unwanted") == 0
    assert choice(instance, "unwanted") == "none"
    assert stat(instance, "refused_choice") >= 500
    check(instance)


@pytest.mark.parametrize("transaction", ["", "BEGIN; ", "ROLLBACK"])
def test_copies_go_when_none_is_chosen(start: Start, transaction: str) -> None:
    """At the commit, though nobody reads; not if there is none."""
    instance = start(bufferpool__ssd_policy="lru", **LIMITS)
    fill(instance, "t")
    read(instance, "t", times=2)
    assert pages(instance, "t") > 280
    alter = "ALTER TABLE t SET (ssd_tier = none)"
    if transaction == "ROLLBACK":
        instance.query(f"BEGIN; {alter}; SELECT count(*) FROM t; ROLLBACK")
        assert pages(instance, "t") > 280
        read(instance, "t")
        assert choice(instance, "t") == "auto"
        return
    instance.query(f"{transaction}{alter}{'; COMMIT' if transaction else ''}")
    assert pages(instance, "t") == 0
    used = stat(instance, "used_pages")
    wait_for("the places are free", lambda: stat(instance, "used_pages") <= used)
    read(instance, "t")
    assert pages(instance, "t") == 0
    check(instance)
    instance.query("ALTER TABLE t RESET (ssd_tier)")
    read(instance, "t")
    assert pages(instance, "t") > 280
    check(instance)


def test_slots_of_unwanted_copies_become_free(start: Start) -> None:
    instance = start(bufferpool__ssd_policy="lru", **LIMITS)
    fill(instance, "t")
    read(instance, "t")
    before, copies = stat(instance, "used_pages"), pages(instance, "t")
    assert copies > 200
    instance.query("ALTER TABLE t SET (ssd_tier = none)")
    wait_for(
        "half of the copies are gone", lambda: stat(instance, "used_pages") <= before - copies // 2
    )
    check(instance)


def test_a_session_that_is_behind_changes_nothing(start: Start) -> None:
    """A scan that began before goes on with the choice that it knows, for itself alone."""
    instance = start(bufferpool__ssd_policy="lru", **LIMITS)
    fill(instance, "t", pages=600)
    instance.query(
        "CREATE EXTENSION IF NOT EXISTS dblink",
        # the cursor's cache entry is held; another session alters and reads; then it goes on
        "CREATE FUNCTION other(text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN"
        "  PERFORM dblink_connect('other', format('dbname=postgres host=%s port=%s user=postgres',"
        "    split_part(current_setting('unix_socket_directories'), ',', 1),"
        "    current_setting('port')));"
        "  PERFORM dblink_exec('other', $1);"
        "  PERFORM dblink_disconnect('other'); END $$",
    )
    instance.query(
        "DO $$ DECLARE c CURSOR FOR SELECT * FROM t; row record; BEGIN OPEN c;"
        " FOR i IN 1 .. 100 LOOP FETCH c INTO row; END LOOP;"
        " PERFORM other('ALTER TABLE t SET (ssd_tier = none)');"
        " LOOP FETCH c INTO row; EXIT WHEN NOT FOUND; END LOOP; END $$"
    )
    read(instance, "t")
    assert choice(instance, "t") == "none"
    assert pages(instance, "t") == 0
    check(instance)


# ---- keep ----


@pytest.mark.parametrize("policy", ["page_temperature", "tac", "lru", "clock"])
def test_kept_pages_stay(start: Start, policy: str) -> None:
    """They come in ahead of the policy's refusal, and no other page displaces them."""
    instance = start(600, bufferpool__ssd_policy=policy, **LIMITS)
    fill(instance, "others", pages=900)
    fill(instance, "kept", "WITH (ssd_tier = keep)", pages=250)
    read(instance, "others", times=3)
    used = stat(instance, "used_pages")
    assert used > 550
    read(instance, "kept")
    assert pages(instance, "kept") >= 245
    assert 0 <= stat(instance, "kept_pages") - pages(instance, "kept") <= 2  # TOAST's
    read(instance, "others", times=4)
    assert pages(instance, "kept") >= 245
    check(instance)
    instance.query("ALTER TABLE kept RESET (ssd_tier)")
    assert stat(instance, "kept_pages") == 0
    if policy in ("lru", "clock"):
        read(instance, "others", times=2)
        assert pages(instance, "kept") == 0
    check(instance)


def test_more_to_keep_than_room(start: Start) -> None:
    """Beyond the share they are like others, and refusals are counted; the share can change."""
    instance = start(400, bufferpool__ssd_policy="tac", bufferpool__ssd_keep_share="0.5", **LIMITS)
    fill(instance, "others", pages=600)
    fill(instance, "kept", "WITH (ssd_tier = keep)", pages=600)
    read(instance, "others", times=6)
    read(instance, "kept", times=2)
    assert 195 <= stat(instance, "kept_pages") <= 210
    assert stat(instance, "refused_kept") > 300
    used, kept = stat(instance, "used_pages", "kept_pages")
    assert used - kept >= 190
    instance.query("ALTER SYSTEM SET bufferpool.ssd_keep_share = 0.8", "SELECT pg_reload_conf()")
    wait_for(
        "the setting is in force", lambda: instance.query("SHOW bufferpool.ssd_keep_share") == "0.8"
    )
    settle(instance)
    read(instance, "kept", times=2)
    assert 310 <= stat(instance, "kept_pages") <= 330
    check(instance)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_restart(start: Start, mode: str) -> None:
    """Choices survive a clean stop and a crash, before any session reads."""
    instance = start(1000, bufferpool__ssd_policy="lru", **LIMITS)
    fill(instance, "kept", "WITH (ssd_tier = keep)")
    fill(instance, "unwanted", "WITH (ssd_tier = none)")
    read(instance, "kept", "unwanted")
    before = stat(instance, "kept_pages")
    assert before > 280
    instance.stop(mode)
    instance.start()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    assert stat(instance, "kept_pages") == before
    assert (choice(instance, "kept"), choice(instance, "unwanted")) == ("keep", "none")
    check(instance)


def test_truncation_and_rewriting(start: Start) -> None:
    """Another file is of the same relation."""
    instance = start(bufferpool__ssd_policy="lru", **LIMITS)
    fill(instance, "t", "WITH (ssd_tier = keep)")
    read(instance, "t")
    for statement in (
        "VACUUM FULL t",
        "CLUSTER t USING i",
        "DELETE FROM t WHERE id > 100; VACUUM t",
    ):
        if "CLUSTER" in statement:
            instance.query("CREATE INDEX i ON t (id)")
        for part in statement.split("; "):
            instance.query(part)
        instance.query("CHECKPOINT")
        read(instance, "t")
        assert choice(instance, "t") == "keep"
        assert 0 <= stat(instance, "kept_pages") - pages(instance, "t") <= 2  # TOAST's
        check(instance)


def test_clones_of_pages(start: Start) -> None:
    """With checks of every page and a TOAST table, nothing wrong is read."""
    instance = start(500, bufferpool__ssd_policy="page_temperature", **LIMITS)
    fill_table(instance)
    digest = read_all(instance)
    for value in ("keep", "none", "auto", "keep"):
        instance.query(f"ALTER TABLE filled SET (ssd_tier = {value})")
        for _ in range(2):
            assert read_all(instance) == digest
            settle(instance)
        check(instance)


# ---- pools ----


def test_pools(make: Make, ssd: Path) -> None:
    """A pool's choice is its relations', unless they have their own."""
    instance = with_tier(make, ssd, 4096, bufferpool__ssd_policy="lru", **LARGER)
    instance.query("CREATE BUFFER POOL off HANDLER arc SIZE '256kB' WITH (ssd_tier = 'none')")
    assert instance.query("SELECT ssd_tier FROM pg_bufferpool WHERE name = 'off'") == "none"
    assert "WITH (ssd_tier = 'none')" in instance.query("SHOW bufferpool.definitions")
    fill(instance, "t", "WITH (buffer_pool = off)", pages=900)
    fill(instance, "own", "WITH (buffer_pool = off, ssd_tier = keep)", pages=900)
    read(instance, "t", "own")
    assert pages(instance, "t") == 0
    assert pages(instance, "own") > 850
    instance.query("ALTER BUFFER POOL off SET (ssd_tier = keep)")
    read(instance, "t")
    assert pages(instance, "t") > 850
    assert choice(instance, "t") == "keep"
    instance.query("ALTER BUFFER POOL off SET (ssd_tier = none)")
    read(instance, "t")
    assert pages(instance, "t") == 0
    instance.query("ALTER BUFFER POOL off RESET (ssd_tier)")
    assert instance.query("SELECT ssd_tier IS NULL FROM pg_bufferpool WHERE name = 'off'") == "t"
    read(instance, "t")
    assert (choice(instance, "t"), pages(instance, "t") > 850) == ("auto", True)
    assert 'invalid value for option "ssd_tier"' in fails(
        instance, "ALTER BUFFER POOL off SET (ssd_tier = sometimes)"
    )
    check(instance)


def test_default_pool(make: Make, ssd: Path) -> None:
    """For relations that name no pool, the session's pool decides what its reads bring."""
    instance = with_tier(make, ssd, 4096, bufferpool__ssd_policy="lru", **LARGER)
    instance.query("CREATE BUFFER POOL off HANDLER arc SIZE '256kB' WITH (ssd_tier = 'none')")
    fill(instance, "t", pages=900)
    settle(instance)
    before = pages(instance, "t")  # what VACUUM has read
    assert before < 850
    instance.query("SET bufferpool.default_pool = off; SELECT count(*) FROM t")
    settle(instance)
    assert pages(instance, "t") == before
    assert stat(instance, "refused_choice") > 0
    read(instance, "t")
    some = pages(instance, "t")
    assert some > before
    instance.query("SET bufferpool.default_pool = off; SELECT count(*) FROM t")
    assert pages(instance, "t") >= some
    instance.query("ALTER BUFFER POOL DEFAULT SET (ssd_tier = keep)")
    read(instance, "t")
    assert choice(instance, "t") == "keep"
    check(instance)


def test_pools_choose_across_restarts(make: Make, ssd: Path) -> None:
    instance = with_tier(make, ssd, 1000, **LARGER)
    instance.query(
        "CREATE BUFFER POOL kept HANDLER lirs SIZE '256kB' WITH (hir = 0.05, ssd_tier = keep)",
        "CREATE BUFFER POOL plain HANDLER lirs SIZE '256kB'",
    )
    instance.stop()
    instance.start()
    assert instance.query(
        "SELECT name, options, ssd_tier FROM pg_bufferpool"
        " WHERE name IN ('kept', 'plain') ORDER BY name"
    ) == ("kept|hir=0.05|keep\nplain||")


def test_standby(make: Make, ssd: Path) -> None:
    """Choices come with the catalogs; a standby's sessions follow them."""
    primary = with_tier(
        make, ssd, 2000, wal_level="replica", bufferpool__ssd_policy="lru", **LIMITS
    )
    fill(primary, "t")
    other = ssd_directory()
    try:
        with standby_of(primary, bufferpool__ssd_path=str(other)) as standby:
            assert standby.query("SELECT pg_ssd_tier_enable()") == "t"
            read(standby, "t")
            assert pages(standby, "t") > 280
            primary.query("ALTER TABLE t SET (ssd_tier = none)")
            catch_up(standby, primary)
            read(standby, "t")
            assert pages(standby, "t") == 0
            check(standby)
    finally:
        shutil.rmtree(other)
