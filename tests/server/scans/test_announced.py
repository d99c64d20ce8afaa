"""What scans announce, where they are, how they end, and what it is for."""

from __future__ import annotations

import subprocess
import threading

import pytest

from server.conftest import Make
from server.counters import reset_counters, stat
from server.load import wait_for
from server.scans.tables import BITMAP, BLOCKS, NO_INDEX, SCANS, fill, while_open
from tidepool.errors import TidepoolError
from tidepool.server import Instance

SELF = "(SELECT count(*) FROM pg_stat_scans WHERE pid = pg_backend_pid())"


# ---- what is announced ----


@pytest.mark.parametrize(
    ("query", "setting", "shown"),
    [
        ("SELECT * FROM t", NO_INDEX, "sequential|forward|1000"),
        ("SELECT * FROM t WHERE ctid >= '(300,0)' AND ctid < '(700,0)'", NO_INDEX,
         "tid range|forward|400"),
        ("SELECT * FROM t TABLESAMPLE BERNOULLI (50)", "", "sample|forward|1000"),
        ("SELECT * FROM t TABLESAMPLE SYSTEM (50)", "", ""),
        ("SELECT * FROM t WHERE id BETWEEN 2560 AND 5119", BITMAP, "bitmap|forward|256"),
        ("SELECT * FROM pg_class", NO_INDEX, ""),
    ],
    ids=["sequential", "tid-range", "bernoulli", "system", "bitmap", "catalog"],
)  # fmt: skip
def test_scans_are_announced(server: Instance, query: str, setting: str, shown: str) -> None:
    assert while_open(server, query, setting=setting) == shown


def test_lossy_bitmaps_are_announced(server: Instance, lossy: str) -> None:
    query = "SELECT * FROM large WHERE id BETWEEN 128 AND 2431"
    kind, direction, blocks = while_open(server, query, setting=lossy).split("|")
    assert (kind, direction) == ("bitmap", "forward")
    assert 2304 <= int(blocks) <= 2304 + 2 * 128


def test_what_is_not_read_is_not_announced(server: Instance) -> None:
    reset_counters(server)
    server.query("CREATE TABLE small AS SELECT 1; SELECT * FROM small; DROP TABLE small")
    server.query("CREATE TEMP TABLE own AS SELECT * FROM t LIMIT 0; SELECT * FROM own")
    server.query(f"{NO_INDEX}; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; COMMIT")
    assert stat(server, "scans_begun") == [0]


@pytest.mark.parametrize(
    "statement",
    ["VACUUM (DISABLE_PAGE_SKIPPING) t", "ANALYZE t", "COPY t TO '/dev/null'",
     "CREATE INDEX i ON t (pad); DROP INDEX i"],
    ids=["vacuum", "analyze", "copy", "create-index"],
)  # fmt: skip
def test_commands_announce_their_scans(server: Instance, statement: str) -> None:
    reset_counters(server)
    for command in statement.split("; "):
        server.query(command)
    assert stat(server, "scans_begun", "scans_ended", "scans_abandoned") == [1, 1, 0]


def test_vacuum_announces_only_what_it_will_read(server: Instance) -> None:
    """Pages that all can see are skipped, and the second pass reads pages with dead rows."""
    server.query(
        "CREATE TABLE v WITH (autovacuum_enabled = off) AS SELECT * FROM t; CREATE INDEX ON v (id)"
    )
    server.query("VACUUM v")
    server.query("DELETE FROM v WHERE id BETWEEN 2560 AND 3839")
    reset_counters(server)
    server.query("VACUUM v")
    assert stat(server, "scans_begun", "scans_ended") == [2, 2]
    server.query("DROP TABLE v")


# ---- where a scan is ----


def test_position_and_speed_are_shown(server: Instance) -> None:
    shown = server.query(
        f"{NO_INDEX}; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE 4000 FROM c;"
        " SELECT pid = pg_backend_pid(), datname, relation, block, blocks_done, blocks_left,"
        " blocks_resident > 0, blocks_per_second > 0, seconds_left > 0, stalled,"
        " since < clock_timestamp() FROM pg_stat_scans; COMMIT"
    ).split("|")
    assert shown[:3] == ["t", "postgres", "t"]
    block, done, left = (int(value) for value in shown[3:6])
    # 400 blocks have been consumed; a scan reports every 8 blocks
    assert 392 <= block <= 400
    assert done == block
    assert left == BLOCKS - done
    assert shown[6:] == ["t", "t", "t", "f", "t"]


def test_resident_blocks_are_counted_or_estimated(make: Make) -> None:
    """For one scan all are counted; for 100 of a table half of the blocks stand for all."""
    server = make("pbm", shared_buffers="32MB")  # evicts nothing
    fill(server)
    server.query("CREATE EXTENSION pg_buffercache", "CREATE EXTENSION pg_prewarm")
    evict = "SELECT pg_buffercache_evict_relation('t')"
    server.query(evict, "SELECT pg_prewarm('t', 'buffer', 'main', 0, 799)")
    for cursors, error in (1, 0), (100, 0.03):
        opened = "".join(
            f"DECLARE c{i} CURSOR FOR SELECT * FROM t; MOVE 1 FROM c{i};" for i in range(cursors)
        )
        lines = server.query(
            f"{NO_INDEX}; BEGIN; {opened} SELECT (SELECT count(*) FROM pg_bufferpool_buffers"
            " WHERE relfilenode = pg_relation_filenode('t') AND relforknumber = 0"
            " AND relblocknumber >= block), blocks_resident FROM pg_stat_scans; COMMIT"
        ).splitlines()
        assert len(lines) == cursors
        for line in lines:
            actual, shown = (int(number) for number in line.split("|"))
            assert 700 < actual <= 800
            assert abs(shown - actual) <= error * actual


def test_a_cursor_that_turns_round(server: Instance) -> None:
    query = "SELECT * FROM t"
    shown = server.query(
        f"{NO_INDEX}; BEGIN; DECLARE c SCROLL CURSOR FOR {query}; MOVE 3000 FROM c;"
        f" MOVE BACKWARD 1000 FROM c; {SCANS}; MOVE FORWARD 2000 FROM c; {SCANS}; COMMIT"
    ).splitlines()
    assert [line.rsplit("|", 1)[0] for line in shown] == [
        "sequential|backward",
        "sequential|forward",
    ]
    back, forth = (int(line.rsplit("|", 1)[1]) for line in shown)
    assert 298 <= back <= 300
    assert 798 <= forth <= 801


def test_a_rescanned_inner_side_is_announced_each_time(server: Instance) -> None:
    reset_counters(server)
    server.query(
        f"{NO_INDEX}; SET enable_material = off; SET enable_hashjoin = off;"
        " SET enable_mergejoin = off; SET enable_memoize = off;"
        " SELECT count(*) FROM generate_series(1, 5) g CROSS JOIN LATERAL"
        " (SELECT * FROM t WHERE t.id > g * 1000 OFFSET 0) s"
    )
    assert stat(server, "scans_begun", "scans_ended") == [5, 5]


# ---- how scans end ----


@pytest.mark.parametrize(
    "statements",
    [
        "SELECT 1 / (id - 5000) FROM t",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 10 FROM c; CLOSE c; COMMIT",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 10 FROM c; ROLLBACK",
        "BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 10 FROM c;"
        " ROLLBACK TO s; COMMIT",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; SAVEPOINT s; FETCH 10 FROM c;"
        " ROLLBACK TO s; FETCH 10 FROM c; COMMIT",
        "BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 10 FROM c;"
        " RELEASE s; FETCH 10 FROM c; COMMIT",
        "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t LIMIT 100; COMMIT; FETCH 1 FROM c",
        "SELECT * FROM t LIMIT 10",
        "SET statement_timeout = '20ms'; SELECT count(*), pg_sleep(0.001) FROM t a GROUP BY a.id",
        "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM t LOOP"
        " BEGIN IF r.id = 3000 THEN RAISE EXCEPTION 'x'; END IF;"
        " EXCEPTION WHEN OTHERS THEN EXIT; END; END LOOP; END $$",
        "DO $$ DECLARE r record; BEGIN BEGIN FOR r IN SELECT * FROM t LOOP"
        " IF r.id = 3000 THEN RAISE EXCEPTION 'x'; END IF; END LOOP;"
        " EXCEPTION WHEN OTHERS THEN NULL; END; END $$",
    ],
)
def test_scans_end_with_what_made_them(server: Instance, statements: str) -> None:
    """However the query ends, nothing is announced any more; PostgreSQL warns of no leak."""
    psql = subprocess.run(
        [server.bin / "psql", "-XAtq", "-c", NO_INDEX, *(
            part for statement in _split(statements) for part in ("-c", statement)
        ), "-c", f"SELECT 'left', {SELF}"],
        env=server.environment(),
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert psql.stdout.splitlines()[-1] == "left|0"
    assert "WARNING" not in psql.stderr


def _split(statements: str) -> list[str]:
    """The statements, each for a -c of its own; a DO block is one."""
    return [statements] if statements.startswith("DO") else statements.split("; ")


def test_a_terminated_session_leaves_no_scan(server: Instance) -> None:
    with subprocess.Popen(
        [server.bin / "psql", "-XAtq", "-c", f"{NO_INDEX}; SELECT pg_sleep(0.01) FROM t"],
        env=server.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        wait_for("a scan runs", lambda: server.query(SCANS) != "")
        terminated = server.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_scans")
    assert terminated == "t"


def test_scans_cancelled_by_the_hundred(server: Instance) -> None:
    """Six sessions whose queries are cancelled at any moment."""

    def work() -> None:
        for i in range(25):
            query = f"SET statement_timeout = {5 + i * 3 % 50}; SELECT count(a.pad) FROM t a, t b"
            with pytest.raises(TidepoolError, match="canceling statement"):
                server.query(f"{NO_INDEX}; {query} WHERE a.id < b.id")

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert stat(server, "scans_abandoned")[0] > 50


# ---- places ----


def test_scans_without_a_place_are_counted(make: Make) -> None:
    server = make("pbm", shared_buffers="4MB", bufferpool__max_scans="1")
    fill(server)
    tables = [f"t{i}" for i in range(3)]
    for table in tables:
        server.query(f"CREATE TABLE {table} AS SELECT * FROM t")
    reset_counters(server)
    cursors = "; ".join(
        f"DECLARE {table} CURSOR FOR SELECT * FROM {table}; MOVE 1 FROM {table}" for table in tables
    )
    assert server.query(f"BEGIN; {cursors}; SELECT count(*) FROM pg_stat_scans; COMMIT") == "1"
    assert stat(server, "scans_begun", "scans_refused") == [1, 2]


def test_no_places(make: Make) -> None:
    """Without a registry pbm works, and large scans have rings as in stock PostgreSQL."""
    server = make("pbm", shared_buffers="4MB", bufferpool__max_scans="0")
    fill(server)
    reset_counters(server)
    assert server.query(f"{NO_INDEX}; SELECT count(*) FROM t") == str(10 * BLOCKS)
    assert server.query(SCANS) == ""
    begun, reuses = stat(server, "scans_begun", "reuses")
    assert begun == 0
    assert reuses > BLOCKS // 2


# ---- what it is for ----


def test_pages_that_a_scan_will_read_stay(server: Instance) -> None:
    """A second scan behind the first keeps nothing; one before it keeps its pages."""
    server.query("SELECT pg_bufferpool_reset()")
    reset_counters(server)
    # a cursor stops at block 500: it will read 500 to 999
    server.query(
        f"{NO_INDEX}; SET synchronize_seqscans = off; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t; MOVE 5000 FROM c;"
        " SELECT count(pad) FROM t; MOVE ALL FROM c; COMMIT"
    )
    (reads,) = stat(server, "reads")
    # 500 blocks, then 1000, and of the last 500 those that did not stay
    assert reads < 500 + BLOCKS + 250


def test_large_scans_have_no_ring(server: Instance) -> None:
    server.query("SELECT pg_bufferpool_reset()")
    reset_counters(server)
    server.query(f"{NO_INDEX}; SELECT count(pad) FROM t")
    assert stat(server, "reuses") == [0]
    contexts = server.query(
        "SELECT pg_stat_reset_shared('io')",
        f"{NO_INDEX}; SELECT count(pad) FROM t",
        "SELECT pg_stat_force_next_flush()",
        "SELECT context FROM pg_stat_io"
        " WHERE object = 'relation' AND backend_type = 'client backend' AND reads > 100",
    )
    assert contexts.splitlines()[-1] == "bulkread"


def test_other_algorithms_are_told_of_no_scans(make: Make) -> None:
    server = make("lru", shared_buffers="4MB")
    fill(server)
    reset_counters(server)
    assert while_open(server, "SELECT * FROM t", setting=NO_INDEX) == ""
    assert stat(server, "scans_begun") == [0]
    nulls = " AND ".join(f"{column} IS NULL" for column in (*REASONS, "premature_evictions"))
    assert server.query(f"SELECT {nulls} FROM pg_stat_bufferpool") == "t"


# ---- why pages were evicted ----


REASONS = ("predicted_evictions", "frequency_evictions", "recency_evictions")


@pytest.mark.parametrize("algorithm", ["pbm", "pbm_pq"])
def test_evictions_have_reasons(make: Make, algorithm: str) -> None:
    server = make(algorithm, shared_buffers="4MB", max_parallel_workers_per_gather="0")
    fill(server)

    # nobody has scanned this table, and each page is referenced once
    server.query("CREATE TABLE unscanned AS SELECT * FROM t; SELECT pg_bufferpool_reset()")
    reset_counters(server)
    server.query(
        "SELECT count(pad) FROM unscanned"
        f" WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', i)::tid"
        f" FROM generate_series(0, {BLOCKS - 1}) i))"
    )
    predicted, frequency, recency = stat(server, *REASONS)
    assert recency > BLOCKS // 4
    assert recency > 10 * (predicted + frequency)

    # this table is being scanned, and nobody wants the pages behind the scan
    server.query("SELECT pg_bufferpool_reset()")
    reset_counters(server)
    server.query(f"{NO_INDEX}; SELECT count(pad) FROM t")
    predicted, frequency, recency, premature, evictions, fallbacks = stat(
        server, *REASONS, "premature_evictions", "evictions", "fallbacks"
    )
    assert predicted > BLOCKS // 4
    assert predicted > frequency + recency
    assert premature < predicted // 10
    assert evictions - fallbacks <= predicted + frequency + recency <= evictions

    # a scan behind another wants its pages at once, but there is no room for all
    behind_it = "MOVE 1000 FROM first; MOVE 100 FROM second;"
    server.query(
        f"{NO_INDEX}; SET synchronize_seqscans = off; BEGIN; SELECT pg_bufferpool_reset();"
        " DECLARE second CURSOR FOR SELECT * FROM t; DECLARE first CURSOR FOR SELECT * FROM t;"
        f" {behind_it * 10} COMMIT"
    )
    assert stat(server, "premature_evictions")[0] > 0
