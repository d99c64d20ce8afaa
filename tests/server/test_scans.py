"""Announced scans: what is announced, what becomes of it, and that nothing is left over."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from server.conftest import Make
from server.counters import reset_counters, stat
from server.load import wait_for
from tidepool.errors import TidepoolError
from tidepool.server import Instance

BLOCKS = 1000  # of table t; shared_buffers have 512
SCANS = "SELECT kind, direction, blocks_total FROM pg_stat_scans"
NO_INDEX = "SET enable_bitmapscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off"
BITMAP = "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off"
BLOCK = "split_part(trim('(' from ctid::text), ',', 1)::int"  # of a row
SELF = "(SELECT count(*) FROM pg_stat_scans WHERE pid = pg_backend_pid())"


def fill(server: Instance, blocks: int = BLOCKS) -> None:
    """Table t: ten rows a block, in the order of id."""
    server.query(
        "CREATE TABLE t (id int, pad text) WITH (fillfactor = 100, autovacuum_enabled = off);"
        f" INSERT INTO t SELECT i, repeat('x', 750) FROM generate_series(0, {10 * blocks - 1}) i;"
        " CREATE INDEX ON t (id)"
    )
    server.query("VACUUM ANALYZE t")
    assert server.query("SELECT pg_relation_size('t') / 8192") == str(blocks)


@pytest.fixture(scope="module")
def server(make_once: Make) -> Instance:
    """Buffers for half of table t."""
    instance = make_once("pbm", shared_buffers="4MB", max_parallel_workers_per_gather="0")
    fill(instance)
    return instance


@pytest.fixture(autouse=True)
def nothing_is_left(server: Instance) -> Iterator[None]:
    """After each test no scan runs, and each that began has ended."""
    yield
    wait_for("no scan runs", lambda: server.query(SCANS) == "")
    begun, ended, abandoned = stat(server, "scans_begun", "scans_ended", "scans_abandoned")
    assert begun == ended + abandoned


def while_open(server: Instance, query: str, fetch: str = "FETCH 1", setting: str = "") -> str:
    """What pg_stat_scans shows of a cursor's own scans after a fetch."""
    return server.query(
        f"{setting}; BEGIN; DECLARE c SCROLL CURSOR FOR {query}; MOVE {fetch[6:]} FROM c;"
        f" {SCANS} WHERE pid = pg_backend_pid(); COMMIT"
    )


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


@pytest.fixture
def lossy(server: Instance) -> Iterator[str]:
    """Settings with which bitmaps of table large, 2,560 rows of a block each, are lossy."""
    server.query(
        "CREATE TABLE large AS SELECT i AS id, repeat('x', 5000) AS pad"
        " FROM generate_series(0, 2559) i; ALTER TABLE large ALTER pad SET STORAGE PLAIN;"
        " UPDATE large SET pad = pad || 'y'; CREATE INDEX ON large (id)"
    )
    settings = f"{BITMAP}; SET work_mem = '64kB'"
    query = "SELECT * FROM large WHERE id BETWEEN 128 AND 2431"
    assert "lossy" in server.query(f"{settings}; EXPLAIN (ANALYZE) {query}")
    yield settings
    server.query("DROP TABLE large")


def test_lossy_bitmaps_are_announced(server: Instance, lossy: str) -> None:
    query = "SELECT * FROM large WHERE id BETWEEN 128 AND 2431"
    kind, direction, blocks = while_open(server, query, setting=lossy).split("|")
    assert (kind, direction) == ("bitmap", "forward")
    assert 2304 <= int(blocks) <= 2304 + 2 * 128


def test_lossy_bitmap_scans_meet(server: Instance, lossy: str) -> None:
    """The second one begins in the middle of a chunk of 256 blocks, and reads each row once."""
    shown = server.query(
        f"{lossy}; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM large WHERE id BETWEEN 0 AND 2500; MOVE 1000 FROM c;"
        f" CREATE TEMP TABLE seen AS SELECT row_number() OVER (), {BLOCK} AS block, id FROM large"
        " WHERE id BETWEEN 128 AND 2431; COMMIT",
        "SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE block < before) FROM"
        " (SELECT *, lag(block) OVER (ORDER BY row_number) AS before FROM seen) AS s",
        "DROP TABLE seen",
    ).splitlines()[-1]
    assert shown == "2304|2304|1"


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


# ---- parallel scans ----


PARALLEL = (
    "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0;"
    " SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
    " SET min_parallel_index_scan_size = 0"
)


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_every_process_of_a_parallel_scan_announces_it(server: Instance, setting: str) -> None:
    parallel = f"{PARALLEL}; SET debug_parallel_query = on"
    query = "SELECT count(pad) FROM t WHERE id BETWEEN 0 AND 9000"
    reset_counters(server)
    assert server.query(f"{setting}; {parallel}; {query}") == "9001"
    plan = server.query(f"{setting}; {parallel}; EXPLAIN (ANALYZE, BUFFERS OFF) {query}")
    launched = int(plan.split("Workers Launched: ")[1].split()[0])
    assert launched > 0
    begun, ended = stat(server, "scans_begun", "scans_ended")
    assert begun == ended
    # a process that comes when all is read announces nothing that it reads
    assert 2 <= begun <= 2 * (1 + 4)


@contextmanager
def running(server: Instance, name: str, *statements: str) -> Iterator[None]:
    """A session of this name with these statements, which ends with its query."""
    commands = [part for statement in statements for part in ("-c", statement)]
    with subprocess.Popen(
        [server.bin / "psql", "-XAtq", *commands],
        env=server.environment() | {"PGAPPNAME": name},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        try:
            yield
        finally:
            server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                f" WHERE application_name = '{name}' AND backend_type = 'client backend'"
            )


def wait_for_sql(server: Instance, condition: str) -> None:
    wait_for(condition, lambda: server.query(f"SELECT {condition}") == "t")


SLOW = "SELECT count(*) FROM t WHERE id BETWEEN 0 AND 9900 AND length(pg_sleep(0.01)::text) = 0"
WORKERS = (
    "FROM pg_stat_scans JOIN pg_stat_activity USING (pid) WHERE backend_type = 'parallel worker'"
)


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_a_terminated_worker_leaves_no_scan(server: Instance, setting: str) -> None:
    """Its query fails, and each scan that began is counted as abandoned."""
    reset_counters(server)
    with running(server, "many", f"{setting}; {PARALLEL}", SLOW):
        wait_for_sql(server, f"(SELECT count(*) = 4 {WORKERS})")
        assert server.query(f"SELECT pg_terminate_backend(pid, 5000) {WORKERS} LIMIT 1") == "t"
        wait_for_sql(server, "NOT EXISTS (SELECT FROM pg_stat_scans)")
    assert stat(server, "scans_begun", "scans_ended", "scans_abandoned") == [5, 0, 5]


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_every_process_of_a_parallel_scan_shows_whom_it_met(server: Instance, setting: str) -> None:
    alone = f"{setting}; SET synchronize_seqscans = off"
    met = (
        "(SELECT met_pid = (SELECT pid FROM pg_stat_activity WHERE application_name = 'alone')"
        " FROM pg_stat_scans WHERE pid = worker.pid)"
    )
    with running(server, "alone", alone, SLOW):
        wait_for_sql(server, "(SELECT count(*) = 1 FROM pg_stat_scans WHERE blocks_done > 128)")
        with running(server, "many", f"{setting}; {PARALLEL}", SLOW):
            wait_for_sql(server, f"(SELECT count(*) = 4 {WORKERS})")
            workers = f"(SELECT pid {WORKERS}) AS worker"
            assert server.query(f"SELECT bool_and({met}) FROM {workers}") == "t"


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


# ---- scans that meet ----


FIRST_BLOCK = f"SELECT {BLOCK} FROM t LIMIT 1"


@pytest.mark.parametrize(("setting", "first"), [("on", "496"), ("off", "0")])
def test_a_scan_begins_where_another_is(server: Instance, setting: str, first: str) -> None:
    shown = server.query(
        f"{NO_INDEX}; SET synchronize_seqscans = off; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t; MOVE 5000 FROM c;"
        f" SET synchronize_seqscans = {setting}; {FIRST_BLOCK}; COMMIT"
    )
    assert shown == first


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
@pytest.mark.parametrize(("meet", "shown"), [("on", "f|t"), ("off", "f|f")], ids=["meets", "off"])
def test_a_scan_shows_whom_it_met(server: Instance, setting: str, meet: str, shown: str) -> None:
    query = "SELECT * FROM t WHERE id BETWEEN 0 AND 9900"
    met = server.query(
        f"{setting}; BEGIN; DECLARE c CURSOR FOR {query}; MOVE 5000 FROM c;"
        f" SET synchronize_seqscans = {meet}; DECLARE d CURSOR FOR {query}; FETCH 1 FROM d;"
        " SELECT coalesce(met_pid, 0) = pg_backend_pid() FROM pg_stat_scans ORDER BY since; COMMIT"
    )
    assert "|".join(met.splitlines()[1:]) == shown


def test_scans_that_have_hardly_begun_begin_together(server: Instance) -> None:
    shown = server.query(
        f"{NO_INDEX}; BEGIN; DECLARE c CURSOR FOR SELECT ctid FROM t; FETCH 1 FROM c;"
        " MOVE 50 FROM c; DECLARE d CURSOR FOR SELECT ctid FROM t; FETCH 1 FROM d; COMMIT"
    ).splitlines()
    assert shown[0] == shown[1]


def test_a_scan_that_meets_reads_all(server: Instance) -> None:
    assert server.query(
        f"{NO_INDEX}; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE 7000 FROM c;"
        " SELECT count(*), sum(id), min(id), max(id) FROM t; MOVE ALL FROM c; COMMIT"
    ) == "|".join(str(n) for n in (10000, sum(range(10000)), 0, 9999))


@pytest.mark.parametrize(
    ("seqscans", "bitmaps", "first"),
    [("on", "on", 512), ("on", "off", 300), ("off", "on", 300)],
    ids=["meets", "off", "off-with-seqscans"],
)
def test_a_bitmap_scan_begins_where_another_is(
    server: Instance, seqscans: str, bitmaps: str, first: int
) -> None:
    """And reads the blocks before that afterwards, each once."""
    shown = server.query(
        f"{BITMAP}; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9000; MOVE 5300 FROM c;"
        f" SET synchronize_seqscans = {seqscans};"
        f" SET bufferpool.synchronize_bitmap_scans = {bitmaps};"
        f" CREATE TEMP TABLE seen AS SELECT row_number() OVER (), {BLOCK} AS block, id FROM t"
        " WHERE id BETWEEN 3000 AND 9999; COMMIT",
        "SELECT (SELECT block FROM seen WHERE row_number = 1), count(*), count(DISTINCT id),"
        " count(*) FILTER (WHERE block < before) FROM"
        " (SELECT *, lag(block) OVER (ORDER BY row_number) AS before FROM seen) AS s",
        "DROP TABLE seen",
    ).splitlines()[-1]
    assert shown == f"{first}|7000|7000|{0 if first == 300 else 1}"


@pytest.mark.parametrize(("setting", "first"), [("on", 512), ("off", 300)], ids=["meets", "off"])
def test_a_parallel_bitmap_scan_begins_where_another_is(
    server: Instance, setting: str, first: int
) -> None:
    """Five processes read each block once; the rows come in about the order of the blocks."""
    shown = server.query(
        f"{BITMAP}; {PARALLEL}; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9000; MOVE 5300 FROM c;"
        f" SET bufferpool.synchronize_bitmap_scans = {setting};"
        f" CREATE TEMP TABLE seen AS SELECT row_number() OVER (), {BLOCK} AS block, id, pad FROM t"
        " WHERE id BETWEEN 3000 AND 9999; COMMIT",
        "SELECT count(*), count(DISTINCT id), sum(id), min(block) FILTER (WHERE row_number <= 10),"
        " max(block) FILTER (WHERE row_number <= 10) FROM seen",
        "DROP TABLE seen",
    ).splitlines()[-1]
    *rows, least, most = (int(value) for value in shown.split("|"))
    assert rows == [7000, 7000, sum(range(3000, 10000))]
    assert first <= least
    assert most < first + 100


def test_lossy_parallel_bitmap_scans_meet(server: Instance, lossy: str) -> None:
    query = "SELECT count(*), sum(id), count(pad) FROM large WHERE id BETWEEN 128 AND 2431"
    cursor = "DECLARE c CURSOR FOR SELECT * FROM large WHERE id BETWEEN 0 AND 2500"
    shown = server.query(
        f"{lossy}; {PARALLEL}; BEGIN; {cursor}; MOVE 1000 FROM c; {query}; {query}; COMMIT"
    )
    assert shown.splitlines() == 2 * [f"2304|{sum(range(128, 2432))}|2304"]


def test_a_parallel_bitmap_scan_begins_again(server: Instance) -> None:
    """Its Gather is rescanned three times, and each time it may meet."""
    query = (
        "SELECT sum(n) FROM generate_series(1, 3) g"
        " LEFT JOIN (SELECT count(pad) AS n FROM t WHERE id BETWEEN 3000 AND 9999) s ON g < n"
    )
    shown = server.query(
        f"{BITMAP}; {PARALLEL}; SET enable_material = off; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9000; MOVE 5300 FROM c;"
        f" EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY OFF) {query}; {query};"
        " COMMIT"
    )
    gathers = [line for line in shown.splitlines() if "Gather" in line]
    assert ["loops=3" in line for line in gathers] == [True], shown
    assert "Parallel Bitmap Heap Scan" in shown
    assert shown.splitlines()[-1] == "21000"


# ---- index scans ----


INDEX = "SET enable_seqscan = off; SET enable_bitmapscan = off"


@pytest.fixture
def scattered(server: Instance) -> Iterator[str]:
    """A table whose index has another order than the table: 10,000 rows, 1,000 blocks."""
    server.query(
        "CREATE TABLE scattered AS SELECT id * 7919 % 10000 AS id, pad FROM t;"
        " CREATE INDEX ON scattered (id); ANALYZE scattered"
    )
    yield "scattered"
    server.query("DROP TABLE scattered")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT * FROM t WHERE id >= 2000 ORDER BY id", "index|forward"),
        ("SELECT * FROM t WHERE id <= 8000 ORDER BY id DESC", "index|backward"),
        ("SELECT * FROM t WHERE id BETWEEN 2000 AND 2100 ORDER BY id", ""),
    ],
    ids=["forward", "backward", "short"],
)
def test_index_scans_in_the_order_of_the_table(server: Instance, query: str, shown: str) -> None:
    found = while_open(server, query, setting=INDEX)
    assert found.rsplit("|", 1)[0] == shown
    if shown != "":
        assert 700 <= int(found.rsplit("|", 1)[1]) <= 850


def test_index_scans_in_another_order_are_no_ranges(server: Instance, scattered: str) -> None:
    query = f"SELECT * FROM {scattered} WHERE id >= 2000 ORDER BY id"
    assert while_open(server, query, setting=INDEX) == ""


TRAILS = ("marking_scans", "trailing_scans", "marks")


def test_index_scans_leave_marks(server: Instance, scattered: str) -> None:
    """One tuple in 16 of those after the 64th; another index has other marks."""
    server.query(f"CREATE INDEX other ON {scattered} (id, pad)")
    reset_counters(server)
    query = f"SELECT pad FROM {scattered} WHERE id >= 0 ORDER BY id"
    again = f"SELECT pad FROM {scattered} WHERE id >= 0 ORDER BY id, pad"
    server.query(
        f"{INDEX}; BEGIN; DECLARE c CURSOR FOR {query}; MOVE 64 FROM c;"
        f" DECLARE d CURSOR FOR {again}; MOVE 6464 FROM d; MOVE 1000 FROM c; COMMIT"
    )
    marking, trailing, marks = stat(server, *TRAILS)
    assert (marking, trailing) == (2, 0)
    assert 7400 / 32 < marks < 7400 / 8


def test_pages_are_kept_for_trailing_index_scans(make: Make) -> None:
    """Twice as many other pages come in between a leader and its follower as there are buffers."""
    blocks, ahead = 3 * BLOCKS, 300
    leader, follower = "MOVE 20 FROM leader", "MOVE 20 FROM follower"
    others = (
        "SELECT count(pad) FROM others WHERE ctid = ANY (ARRAY("
        "SELECT format('(%s,1)', {0} + i)::tid FROM generate_series(0, 39) i))"
    )
    reads = {}
    for marks in ("on", "off"):
        server = make(
            "pbm",
            shared_buffers="4MB",
            max_parallel_workers_per_gather="0",
            bufferpool__parameters=f"index_scans={marks}",
        )
        fill(server)
        server.query(
            "CREATE TABLE scattered AS SELECT id * 7919 % 10000 AS id, pad FROM t;"
            " CREATE INDEX ON scattered (id); ANALYZE scattered;"
            " CREATE TABLE others AS SELECT t.* FROM t, generate_series(1, 3);"
            " SELECT pg_bufferpool_reset()"
        )
        reset_counters(server)
        query = "SELECT pad FROM scattered WHERE id >= 0 ORDER BY id"
        steps = "; ".join(
            f"{leader}; {others.format(first)}; {follower}" for first in range(0, blocks - 40, 40)
        )
        server.query(
            f"{INDEX}; BEGIN; DECLARE leader CURSOR FOR {query};"
            f" DECLARE follower CURSOR FOR {query}; MOVE {ahead} FROM leader; {steps}; COMMIT"
        )
        assert stat(server, "marking_scans", "trailing_scans") == [2, 1]
        (reads[marks],) = stat(server, "reads")
    # the follower fetches some 1,500 tuples, mostly from blocks of their own; 1,100 of these
    # are kept, or half as many on a machine that stops the session now and then, since
    # pbm goes by the time that the leader takes
    assert reads["on"] < reads["off"] - 300
