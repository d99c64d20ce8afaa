"""Which pages come into which pool, and how they leave it; small pools; KEEP and RECYCLE."""

from __future__ import annotations

import threading

import pytest

from server.conftest import Make
from server.counters import stat
from server.load import kill_server, wait_for
from server.pools import create, fails, fill, pages, server_with_pools, sizes, violations
from server.sessions import pinned
from tidepool.server import Instance

LEAST = 16  # buffers of a pool


def in_pool(server: Instance, pool: str) -> int:
    return int(server.query(f"SELECT count(*) FROM pg_bufferpool_buffers WHERE pool = '{pool}'"))


def test_references_to_another_pool_come_between(make: Make) -> None:
    # the clock wants to know of no hit, and nobody else does
    server = server_with_pools(make, bufferpool__advice="off")
    create(server, "hot")
    fill(server, "t", 1, ", buffer_pool = 'hot'")
    fill(server, "other", 1)

    def repeated(*tables: str) -> int:
        """Times that a statement goes to the page of t from that of t itself."""
        reads = ", ".join(f"(SELECT id FROM {table} WHERE id <> -i)" for table in tables)
        before = stat(server, "correlated", pool="hot")[0]
        server.query(f"SELECT {reads} FROM generate_series(1, 100) i")
        return stat(server, "correlated", pool="hot")[0] - before

    assert repeated("t") > 90
    assert repeated("t", "other") < 10


# ---- views ----


def test_views_agree(make: Make) -> None:
    # or pages may be clean again
    server = server_with_pools(
        make, bgwriter_lru_maxpages="0", bufferpool__trickle_write_batch_size="0"
    )
    create(server, "hot")
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    server.query("CHECKPOINT", "UPDATE t SET id = -id WHERE id <= 10")
    node = "relfilenode = pg_relation_filenode('t')"
    by_buffer = server.query(
        "SELECT pool, count(*), count(*) FILTER (WHERE isdirty) FROM pg_bufferpool_buffers"
        f" WHERE {node} GROUP BY pool"
    )
    by_relation = server.query(
        f"SELECT pool, resident, dirty FROM pg_bufferpool_relations WHERE {node}"
    )
    assert by_buffer == by_relation
    assert by_relation.startswith("hot|10")
    with pinned(server, "t", 27):
        assert stat(server, "pinned", pool="hot") == [1]
        query = (
            "SELECT pinning_backends, pool FROM pg_bufferpool_buffers"
            f" WHERE {node} AND relforknumber = 0 AND relblocknumber = 26"
        )
        assert server.query(query) == "1|hot"
    nbuffers, current, target, free, dirty = stat(
        server, "nbuffers", "current_buffers", "target_buffers", "free", "dirty", pool="hot"
    )
    assert nbuffers == target == 128
    assert current + free == 128
    assert dirty >= 10


def test_lists_and_ages(make: Make) -> None:
    server = server_with_pools(make, bufferpool__batch_size="1")
    create(server, "hot")
    fill(server, "t", 50, ", buffer_pool = 'hot'")
    server.query("CREATE EXTENSION pg_prewarm")
    ages = server.query(
        "SELECT pg_prewarm('t', 'buffer', 'main', 7, 7)",
        "SELECT relblocknumber, list, age FROM pg_bufferpool_buffers WHERE pool = 'hot'"
        " AND age IS NOT NULL ORDER BY age LIMIT 1",
    )
    assert ages.splitlines()[-1] == "7|recent|0"


def test_pools_keep_to_themselves(make: Make) -> None:
    """What one pool's tables need does not evict another's pages."""
    server = server_with_pools(make, algorithm="arc")
    create(server, "hot")
    create(server, "cold")
    fill(server, "h", 100, ", buffer_pool = 'hot'")
    before = pages(server, "h")
    fill(server, "c", 1000, ", buffer_pool = 'cold'")
    fill(server, "d", 1000)
    server.query("CREATE EXTENSION pg_prewarm")
    server.query("SELECT pg_prewarm('c'), pg_prewarm('d')")
    assert pages(server, "h") == before
    assert stat(server, "evictions", pool="hot") == [0]
    assert pages(server, "c")["cold"] == in_pool(server, "cold") == 128
    assert violations(server) == []


def test_a_page_is_resident_once(make: Make) -> None:
    """Where a page is found does not depend on who asks."""
    server = server_with_pools(make)
    create(server, "hot")
    fill(server, "t", 100)
    server.query("CREATE EXTENSION pg_prewarm")
    before = pages(server, "t")
    server.query("SET bufferpool.default_pool = 'hot'", "SELECT pg_prewarm('t')")
    assert pages(server, "t") == before


# ---- the smallest pools ----


@pytest.mark.parametrize("handler", ["lru", "arc", "lirs", "osic", "clock", "jam", "recycle"])
@pytest.mark.parametrize("io_method", ["worker", "io_uring"])
def test_all_that_can_be_done_in_a_small_pool(make: Make, handler: str, io_method: str) -> None:
    server = server_with_pools(make, io_method=io_method)
    create(server, "small", handler, "128kB")
    server.query(
        "CREATE TABLE t (id int, pad text) WITH (fillfactor = 10, buffer_pool = 'small')",
        "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i",
        "COPY (SELECT i, repeat('y', 500) FROM generate_series(1001, 2000) i)"
        f" TO '{server.directory}/rows'",
        f"COPY t FROM '{server.directory}/rows'",
        "CREATE INDEX i ON t (id) WITH (buffer_pool = 'small')",
        "CREATE INDEX g ON t USING gin ((ARRAY[id])) WITH (buffer_pool = 'small')",
        "CREATE INDEX h ON t USING hash (id) WITH (buffer_pool = 'small')",
        "VACUUM (FREEZE) t",
        "DELETE FROM t WHERE id % 3 = 0",
        "VACUUM ANALYZE t",
        "CREATE MATERIALIZED VIEW m WITH (buffer_pool = 'small') AS SELECT * FROM t",
        "CLUSTER t USING i",
    )
    count = 2000 - 666
    assert server.query("SELECT count(pad), sum(id) FROM t") == server.query(
        "SELECT count(pad), sum(id) FROM m"
    )
    assert server.query("SELECT count(*) FROM t") == str(count)
    server.query(
        "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0;"
        " SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
        " SELECT count(*) FROM t JOIN m USING (id)"
    )
    script = server.directory / "script.sql"
    script.write_text(
        "\\set id random(1, 2000)\nSELECT count(*) FROM t WHERE id = :id;\n"
        "UPDATE t SET id = id WHERE id = :id;\nSELECT count(*) FROM m;\n"
    )
    bench = server.run(server.bin / "pgbench", "-n", "-c", "8", "-t", "20", "-f", script)
    assert bench.returncode == 0, bench.stdout
    assert "number of failed transactions: 0" in bench.stdout
    assert sizes(server)["small"] == LEAST
    assert violations(server) == []
    assert stat(server, "reads + extends", pool="small")[0] > 1000  # it is not passed by


def test_a_pool_that_is_pinned_borrows(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "small", size="128kB")
    fill(server, "t", 100, ", buffer_pool = 'small'")
    cursors = "".join(
        f"DECLARE c{i} CURSOR FOR SELECT * FROM t WHERE ctid = '({i},1)'; FETCH 1 FROM c{i};"
        for i in range(40)
    )
    server.query(f"BEGIN; {cursors} SELECT count(pad) FROM t WHERE ctid < '(90,1)'; COMMIT")
    assert stat(server, "borrowed", pool="small")[0] >= 40 - LEAST
    assert pages(server, "t")["DEFAULT"] > 0
    assert violations(server) == []


def test_a_scan_takes_a_share_of_default(make: Make) -> None:
    """What it pins, reading ahead, is a backend's share of that pool, not of all buffers."""
    server = server_with_pools(
        make, shared_buffers="32MB", io_combine_limit="1", effective_io_concurrency="100"
    )
    fill(server, "t", 120)  # less than a quarter of DEFAULT, so no ring
    server.query("CREATE EXTENSION pg_buffercache")

    def most_pinned() -> int:
        pinned = (
            "SELECT count(*) FROM pg_bufferpool_buffers"
            " WHERE relfilenode = pg_relation_filenode('t') AND pinning_backends > 0"
        )
        steps = f"MOVE 3 FROM c; {pinned};" * 39
        server.query("SELECT pg_buffercache_evict_relation('t')")
        answers = server.query(f"BEGIN; DECLARE c CURSOR FOR SELECT pad FROM t; {steps}")
        return max(int(line) for line in answers.splitlines())

    alone = most_pinned()
    create(server, "large", size="28MB")
    assert sizes(server)["DEFAULT"] == 512
    within = most_pinned()
    assert alone > 20
    assert 1 <= within <= alone / 4


# ---- KEEP ----


def test_keep_evicts_nothing_and_spills(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "kept", "keep", "512kB")
    fill(server, "a", 40, ", buffer_pool = 'kept'")
    before = pages(server, "a")
    assert before.keys() == {"kept"}
    fill(server, "b", 100, ", buffer_pool = 'kept'")
    assert pages(server, "a") == before
    assert pages(server, "b")["kept"] <= 64 - before["kept"]
    assert pages(server, "b")["DEFAULT"] > 40
    evictions, spilled, borrowed = stat(server, "evictions", "spilled", "borrowed", pool="kept")
    assert evictions == 0 and spilled > 40 and borrowed == 0
    # what is dropped makes room
    server.query("DROP TABLE a")
    server.query("CREATE EXTENSION pg_prewarm", "SELECT pg_prewarm('b')")
    fill(server, "c", 20, ", buffer_pool = 'kept'")
    assert pages(server, "c").get("kept", 0) > 10
    assert violations(server) == []


def test_keep_may_be_an_error(make: Make) -> None:
    server = server_with_pools(make, autovacuum="on", autovacuum_naptime="1s")
    server.query(
        "CREATE BUFFER POOL kept HANDLER keep SIZE '256kB' WITH (on_full = 'error')",
        "CREATE TABLE t (id int, pad text) WITH (fillfactor = 10, buffer_pool = 'kept',"
        " autovacuum_enabled = off,"
        " autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,"
        " autovacuum_vacuum_insert_threshold = 0, autovacuum_vacuum_insert_scale_factor = 0)",
    )
    insert = "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 100) i"
    said = fails(server, insert)
    assert 'buffer pool "kept" is full' in said
    assert "DETAIL:  Its 32 buffers hold pages that it keeps." in said
    assert 'HINT:  Make it larger, or set its option "on_full" to "spill".' in said
    server.query("ALTER BUFFER POOL kept SET (on_full = 'spill')", insert)
    server.query("CHECKPOINT")
    assert "is full" not in fails(server, "SELECT 1 / 0")
    server.query("ALTER BUFFER POOL kept SET (on_full = 'error')", "DELETE FROM t WHERE id < 50")
    # a page that has to be read, in a session and by autovacuum
    server.query("CREATE EXTENSION pg_buffercache")
    server.query("SELECT pg_buffercache_evict_relation('t')")
    vacuumed = "SELECT autovacuum_count > {} FROM pg_stat_user_tables WHERE relname = 't'"
    count = server.query("SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = 't'")
    server.query("ALTER BUFFER POOL kept SET (on_full = 'error')")
    server.query("ALTER TABLE t SET (autovacuum_enabled = on)")
    wait_for(
        "autovacuum has been there", lambda: server.query(vacuumed.format(count)) == "t", seconds=60
    )
    errors = [line for line in server.log.read_text().splitlines() if "is full" in line]
    assert len(errors) == 1  # ours
    assert violations(server) == []


def test_recovery_never_fails(make: Make) -> None:
    """Also where the pool that a file belongs to is full."""
    server = server_with_pools(make)
    server.query(
        "CREATE BUFFER POOL kept HANDLER keep SIZE '128kB' WITH (on_full = 'spill')",
        "ALTER BUFFER POOL DEFAULT SET HANDLER arc",
    )
    fill(server, "t", 200, ", buffer_pool = 'kept'")
    server.query("ALTER BUFFER POOL kept SET (on_full = 'error')")
    kill_server(server)
    server.start()
    assert server.query("SET bufferpool.default_pool = ''; SELECT 1") == "1"
    server.query("ALTER BUFFER POOL kept SET (on_full = 'spill')")
    assert server.query("SELECT count(*) FROM t") == "200"
    assert violations(server) == []


# ---- RECYCLE ----


def test_scans_and_bulk_writes_share_a_pool(make: Make) -> None:
    server = server_with_pools(make, bufferpool__recycle_buffers="256kB")
    create(server, "hot")
    fill(server, "small", 20, ", buffer_pool = 'hot'")
    before = pages(server, "small")
    server.query(
        "CREATE TABLE big (id int, pad text) WITH (fillfactor = 10, buffer_pool = 'hot')",
        "INSERT INTO big SELECT i, repeat('x', 500) FROM generate_series(1, 500) i",
    )
    hot = stat(server, "reads", "extends", pool="hot")
    # a ring for the scan, which is larger than a quarter of its pool; for VACUUM and COPY
    server.query("SELECT count(*) FROM big")
    server.query("VACUUM (FREEZE) big")
    server.query("CREATE TABLE bulk WITH (buffer_pool = 'hot') AS SELECT * FROM big")
    reads, extends = stat(server, "reads", "extends", pool="RECYCLE")
    assert reads > 300
    assert extends > 20
    assert pages(server, "bulk").keys() <= {"RECYCLE", "hot"}
    assert pages(server, "bulk")["RECYCLE"] > 0
    assert stat(server, "reads", pool="hot")[0] - hot[0] < 50
    assert stat(server, "reuses", pool="RECYCLE") == [0]
    assert sizes(server)["RECYCLE"] == in_pool(server, "RECYCLE") == 32
    assert server.query("SELECT count(*) FROM big") == "500"
    assert before.keys() == {"hot"}
    assert violations(server) == []


def test_without_it_rings_stay_within_a_pool(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", size="2MB")
    fill(server, "kept", 100, ", buffer_pool = 'hot'")
    server.query(
        "CREATE TABLE big (id int, pad text) WITH (fillfactor = 10, buffer_pool = 'hot')",
        "INSERT INTO big SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i",
    )
    server.query("CREATE EXTENSION pg_prewarm; CREATE EXTENSION pg_buffercache")
    server.query("SELECT pg_buffercache_evict_relation('big')", "SELECT pg_prewarm('kept')")
    before = stat(server, "reads")[0]
    kept = pages(server, "kept")
    server.query("SELECT count(*) FROM big")
    assert stat(server, "reuses", pool="hot")[0] > 900
    assert stat(server, "reads")[0] - before < 100
    assert pages(server, "kept") == kept
    assert violations(server) == []


def test_too_many_recycle_buffers(make: Make) -> None:
    server = server_with_pools(make, bufferpool__recycle_buffers="1GB")
    assert '"bufferpool.recycle_buffers" is too large for "shared_buffers", using 448' in (
        server.log.read_text()
    )
    assert sizes(server) == {"DEFAULT": 1024 - 448, "RECYCLE": 448}


# ---- moving ----


def test_moving_reads_nothing(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", size="3MB")
    fill(server, "t", 200)
    before = pages(server, "t")["DEFAULT"]
    server.query("UPDATE t SET pad = 'moved' WHERE id <= 10")
    server.query("ALTER TABLE t SET (buffer_pool = 'hot')")
    heap = "SELECT heap_blks_read FROM pg_statio_user_tables WHERE relname = 't'"
    reads = server.query(heap)
    ours = stat(server, "reads", "extends", pool="hot")
    moved = int(server.query("SELECT pg_bufferpool_move('t')"))
    assert moved == pages(server, "t")["hot"] >= before
    assert "DEFAULT" not in pages(server, "t")
    assert server.query("SELECT count(*) FROM t WHERE pad = 'moved'") == "10"
    assert server.query("SELECT count(*) FROM t") == "200"
    assert server.query("SELECT pg_stat_force_next_flush();" + heap) == reads
    assert stat(server, "reads", "extends", pool="hot") == ours
    assert server.query("SELECT pg_bufferpool_move('t')") == "0"
    assert violations(server) == []
    # and back
    server.query("ALTER TABLE t RESET (buffer_pool)")
    assert int(server.query("SELECT pg_bufferpool_move('t')")) == moved
    assert pages(server, "t").keys() == {"DEFAULT"}
    assert server.query("SELECT pg_stat_force_next_flush();" + heap) == reads
    kill_server(server)
    server.start()
    assert server.query("SELECT count(*) FROM t WHERE pad = 'moved'") == "10"


def test_moving_passes_over_pages_in_use(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", size="3MB")
    fill(server, "t", 50)
    server.query("ALTER TABLE t SET (buffer_pool = 'hot')")
    with pinned(server, "t", 7):
        server.query("SELECT pg_bufferpool_move('t')")
        assert pages(server, "t")["DEFAULT"] == 1
    assert server.query("SELECT pg_bufferpool_move('t')") == "1"
    assert pages(server, "t").keys() == {"hot"}


def test_moving_into_a_pool_that_is_full(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "kept", "keep", "128kB")
    fill(server, "t", 100)
    server.query("ALTER TABLE t SET (buffer_pool = 'kept')")
    assert server.query("SELECT pg_bufferpool_move('t')") == str(LEAST)
    assert server.query("SELECT count(*) FROM t") == "100"
    assert violations(server) == []


def test_moving_beside_others(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "arc", "2MB")
    create(server, "cold", "lirs", "1MB")
    run = server.run(server.bin / "pgbench", "-i", "-q", "-s", "1")
    assert run.returncode == 0
    command = (server.bin / "pgbench", "-n", "-c", "4", "-T", "8")
    runs = []
    thread = threading.Thread(target=lambda: runs.append(server.run(*command)))
    thread.start()
    number = 0
    while thread.is_alive():
        name = ("hot", "cold", "DEFAULT")[number % 3]
        server.query(
            f"ALTER TABLE pgbench_accounts SET (buffer_pool = '{name}')",
            "SELECT pg_bufferpool_move('pgbench_accounts')",
        )
        number += 1
    thread.join()
    assert runs[0].returncode == 0, runs[0].stdout
    assert number > 3
    sums = "SELECT sum(abalance) = (SELECT sum(delta) FROM pgbench_history) FROM pgbench_accounts"
    assert server.query(sums) == "t"
    assert violations(server) == []


@pytest.mark.parametrize("relation", ["pg_bufferpool", "parts", "scratch"])
def test_what_cannot_be_moved(make: Make, relation: str) -> None:
    server = server_with_pools(make)
    server.query("CREATE TABLE parts (id int) PARTITION BY RANGE (id)")
    assert f'relation "{relation}" has no pages in shared buffers' in fails(
        server,
        "CREATE TEMP TABLE scratch (id int)",
        f"SELECT pg_bufferpool_move('{relation}')",
    )
