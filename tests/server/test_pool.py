"""The pool as its users see it: choice of the algorithm, counters, lists, access."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from server.conftest import BIN, ROOT, Make
from server.counters import reset_counters, settle, stat
from server.load import CHECKPOINTER, wait_for, wait_for_restart
from tidepool.errors import TidepoolError
from tidepool.server import Instance, server_algorithms

PAGES = 400  # of the table, three times as many as buffers
BUFFERS = 128
FILL = (
    "CREATE TABLE t (id int, pad text) WITH (fillfactor = 10);"
    f"INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, {PAGES}) i;"
    "CREATE INDEX ON t (id);"
    "VACUUM ANALYZE t;"
)


def fill(server: Instance) -> None:
    for statement in FILL.split(";")[:-1]:
        server.query(statement)
    assert int(server.query("SELECT relpages FROM pg_class WHERE relname = 't'")) >= PAGES


def look_up(server: Instance, times: int, highest: int = PAGES) -> None:
    """Index lookups spread over the table, in one statement each."""
    server.query(
        "SET enable_seqscan = off; SET enable_bitmapscan = off;"
        + "".join(
            f"SELECT count(pad) FROM t WHERE id = {1 + i * 37 % highest};" for i in range(times)
        )
    )


def violations(server: Instance) -> str:
    return server.query("SELECT * FROM pg_bufferpool_check()")


# ---- which algorithm ----


def test_unknown_algorithm_is_clock_with_a_warning(make: Make) -> None:
    server = make("arcane")
    assert server.query("SELECT handler FROM pg_bufferpool") == "clock"
    assert (
        'WARNING:  replacement algorithm "arcane" does not exist, using "clock"'
        in server.log.read_text()
    )
    assert violations(server) == ""


def test_show_tells_what_runs(make: Make) -> None:
    server = make("arcane", bufferpool__parameters="p=1")
    assert server.query("SHOW bufferpool.algorithm") == "clock"
    assert server.query("SHOW bufferpool.parameters") == ""
    setting = "SELECT setting FROM pg_settings WHERE name = 'bufferpool.algorithm'"
    assert server.query(setting) == "clock"


def test_case_of_names_does_not_matter(make: Make) -> None:
    server = make("ARC")
    assert server.query("SELECT handler FROM pg_bufferpool") == "arc"
    assert server.query("SHOW bufferpool.algorithm") == "arc"


def test_the_sample_has_all_settings(make: Make) -> None:
    """As PostgreSQL's own suite asks for, which takes long and runs seldom."""
    server = make("lru")
    names = server.query(
        "SELECT name FROM pg_settings WHERE name LIKE 'bufferpool.%'"
        " AND NOT 'NOT_IN_SAMPLE' = ANY(pg_settings_get_flags(name))"
    )
    sample = (server.bin.parent / "share" / "postgresql.conf.sample").read_text()
    there = re.findall(r"^#(bufferpool\.\w+) = ", sample, re.MULTILINE)
    assert sorted(there) == sorted(names.split())


def test_parameters(make: Make) -> None:
    server = make("lirs", bufferpool__parameters=" hir = 25% , ghosts=1.5 ")
    fill(server)
    look_up(server, 300)
    assert server.query("SELECT options FROM pg_bufferpool") == "hir=25%,ghosts=1.5"
    lists = "SELECT count(*) FILTER (WHERE list = 'LIR') FROM pg_bufferpool_lists()"
    assert int(server.query(lists)) <= BUFFERS * 3 // 4
    assert violations(server) == ""


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("hir", '"hir" is not of the form name=value'),
        ("hire=1", 'there is no parameter "hire"'),
        ("hir=2", '"hir" must be from 0 to 1'),
        ("hir=nan", 'value "nan" of "hir" is not a number'),
        ("hir=1x", 'value "1x" of "hir" is not a number'),
        ("hir=0.1,hir=0.2", '"hir" is given twice'),
        ("hir=0.1,", '"" is not of the form name=value'),
        ("hir=0." + 300 * "1", "longer than 255 bytes"),
    ],
)
def test_parameters_that_make_no_sense(make: Make, parameters: str, problem: str) -> None:
    server = make("lirs", bufferpool__parameters=parameters)
    assert server.query("SELECT handler, options FROM pg_bufferpool") == "lirs|"
    log = server.log.read_text()
    assert f'of replacement algorithm "lirs" are not used: {problem}' in log
    assert 'HINT:  "tidepool policies" lists the parameters' in log


def test_misspelt_settings_are_a_warning(make: Make) -> None:
    server = make("lru", bufferpool__batch_sise="1")
    assert 'invalid configuration parameter name "bufferpool.batch_sise"' in server.log.read_text()


def test_a_threshold_above_the_size_is_corrected(make: Make) -> None:
    server = make("lru", bufferpool__batch_threshold="100", bufferpool__batch_size="50")
    assert server.query("SHOW bufferpool.batch_threshold") == "50"
    warning = '"bufferpool.batch_threshold" is above "bufferpool.batch_size", using 50'
    assert warning in server.log.read_text()


def test_libraries_must_be_preloaded(make: Make) -> None:
    server = make(shared_preload_libraries="")
    with pytest.raises(TidepoolError, match='algorithm "lru" must be loaded at server start'):
        server.query("LOAD 'pg_bp_lru'")


def test_all_policies_of_the_core_are_there(make: Make) -> None:
    there = make().query("SELECT name FROM pg_bufferpool_algorithms()").splitlines()
    assert there[0] == "clock"
    assert sorted(there[1:]) == sorted(server_algorithms()[1:])


# ---- with each algorithm ----


@pytest.mark.parametrize("algorithm", server_algorithms())
def test_answers_and_state_are_right(make: Make, algorithm: str) -> None:
    server = make(algorithm)
    fill(server)
    look_up(server, 300)
    assert server.query("SELECT count(*), sum(id) FROM t") == f"{PAGES}|{PAGES * (PAGES + 1) // 2}"
    server.query("DELETE FROM t WHERE id % 2 = 0")
    server.query("VACUUM t")
    server.query("CREATE TABLE u AS SELECT * FROM t")
    server.query("TRUNCATE t")
    look_up(server, 100)
    assert server.query("SELECT count(*) FROM u") == str(PAGES // 2)
    server.query("DROP TABLE u")
    assert server.query("SELECT handler, buffers FROM pg_bufferpool") == f"{algorithm}|{BUFFERS}"
    assert violations(server) == ""
    reads, extends, evictions, dirty, forgotten = stat(
        server, "reads", "extends", "evictions + reuses", "dirty_evictions", "forgotten"
    )
    assert reads > 0 and extends >= PAGES
    assert evictions > dirty > 0
    assert (forgotten > 0) == (algorithm != "clock")


@pytest.mark.parametrize("io_method", ["sync", "worker", "io_uring"])
def test_every_way_to_read(make: Make, io_method: str) -> None:
    server = make("arc", io_method=io_method)
    fill(server)
    for _ in range(3):
        assert server.query("SELECT count(*) FROM t WHERE pad LIKE 'x%'") == str(PAGES)
        look_up(server, 50)
    assert violations(server) == ""


# ---- hits ----


def wait_for_reports(server: Instance) -> None:
    """Wait until every buffer is on a list.

    A process reports a page that it brought in a second after it has gone idle,
    or when it ends, which may be a moment after its client has.
    """
    count = "SELECT count(buffer) FROM pg_bufferpool_lists()"
    wait_for("every buffer is on a list", lambda: int(server.query(count)) == BUFFERS)


def test_lists_hold_each_buffer_once(make: Make) -> None:
    server = make("lru")
    fill(server)
    look_up(server, 200)
    wait_for_reports(server)
    rows, buffers = server.query(
        "SELECT count(*), count(DISTINCT buffer) FROM pg_bufferpool_lists()"
    ).split("|")
    assert rows == buffers == str(BUFFERS)


def test_lru_evicts_what_was_referenced_least_recently(make: Make) -> None:
    server = make("lru", bufferpool__batch_size="1")
    fill(server)
    place = (
        "SELECT rank FROM pg_bufferpool_lists()"
        " WHERE relfilenode = pg_relation_filenode('t')"
        " AND relforknumber = 0 AND relblocknumber = 7"
    )
    find = "SET enable_seqscan = off; SELECT count(pad) FROM t WHERE ctid = '(7,1)';"
    assert server.query(find + place).splitlines()[0] == "1"
    near = int(server.query(find + place).splitlines()[1])
    far = int(server.query(place))
    assert near < BUFFERS // 2  # only catalogs were referenced since
    assert far > near
    look_up(server, 300)
    assert server.query(place) == "" or int(server.query(place)) > far


def lengths_of_lists(server: Instance) -> dict[str, tuple[int, int]]:
    """Buffers and ghosts on each list."""
    lists = server.query(
        "SELECT list, count(buffer), count(ghost_key) FROM pg_bufferpool_lists()"
        " GROUP BY 1 ORDER BY 1"
    )
    rows = (line.split("|") for line in lists.splitlines())
    return {name: (int(buffers), int(ghosts)) for name, buffers, ghosts in rows}


def test_ghosts_are_shown(make: Make) -> None:
    server = make("arc")
    fill(server)
    look_up(server, 300)
    wait_for_reports(server)
    rows = lengths_of_lists(server)
    assert sum(buffers for buffers, _ in rows.values()) == BUFFERS
    assert rows["B1"][0] == 0 and rows["B1"][1] > 0
    assert rows["T1"][0] > 0 and rows["T1"][1] == 0


# more than are looked at under one hold of the pool's lock
MANY = 4096


@pytest.mark.parametrize("query", ["lists()", "check()", "check(false)"])
def test_the_lock_is_given_up_in_between(make: Make, query: str) -> None:
    server = make("lru", shared_buffers=f"{8 * MANY}kB")
    ask = f"SELECT count(*) FROM pg_bufferpool_{query};"
    locks = "SELECT lock_acquisitions FROM pg_stat_bufferpool"
    server.query(ask)
    before, _, after = server.query(locks, ask, locks).splitlines()
    assert int(after) - int(before) > (0 if query == "lists()" else MANY // 1000)


@pytest.mark.parametrize("algorithm", ["lru", "arc", "lirs", "osic"])
def test_lists_are_read_while_they_change(make: Make, algorithm: str) -> None:
    """Each buffer once and, but for those whose page changes just then, all of them."""
    server = make(algorithm, shared_buffers=f"{8 * MANY}kB", bufferpool__batch_size="8")
    assert server.run(server.bin / "pgbench", "-i", "-q", "-s", "4").returncode == 0
    ask = (
        "SELECT count(*), count(DISTINCT buffer), count(rank) FROM pg_bufferpool_lists()"
        " WHERE buffer IS NOT NULL"
    )
    server.query("CREATE EXTENSION pg_prewarm; SELECT pg_prewarm('pgbench_accounts')")
    resident, distinct, ranked = map(int, server.query(ask).split("|"))
    assert resident == distinct == ranked > MANY - 50
    command = f"{server.bin}/pgbench -n -S -c 4 -T 60 -h {server.directory} -U postgres postgres"
    with subprocess.Popen(command.split(), stdout=subprocess.DEVNULL) as bench:
        try:
            time.sleep(0.5)
            most = 0
            for _ in range(20):
                resident, distinct, ranked = map(int, server.query(ask).split("|"))
                assert resident == distinct > MANY - 100
                most = max(most, ranked)
            # whoever gets no processor in the midst of it finds many changed
            assert most > 0.9 * MANY
        finally:
            bench.terminate()


def test_batches_save_locks(make: Make) -> None:
    locks = {}
    for size in ("1", "64"):
        server = make(
            "lru",
            shared_buffers="16MB",
            bufferpool__batch_size=size,
            bgwriter_lru_maxpages="0",  # which takes the lock, too
        )
        fill(server)
        look_up(server, 100)
        reset_counters(server)
        look_up(server, 1000)
        locks[size], batched, stale = stat(
            server, "lock_acquisitions", "batched_hits", "stale_hits"
        )
        assert batched > 2000
        assert stale == 0
        if size == "1":
            assert locks[size] >= 0.99 * batched
    assert locks["64"] < locks["1"] / 20


def test_repeated_references_are_one(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    server.query("CREATE TABLE one AS SELECT i AS id FROM generate_series(1, 100) i")
    server.query("CREATE INDEX ON one (id)")
    server.query("VACUUM ANALYZE one")
    # for each number the one page of the index
    again = (
        "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;"
        " SET enable_mergejoin = off; SET enable_memoize = off; SET enable_material = off;"
        " SELECT count(*) FROM generate_series(1, 100) i JOIN one ON one.id = i;"
    )
    server.query(again)
    reset_counters(server)
    server.query(again)
    hits, correlated = stat(server, "hits", "correlated")
    assert 90 < correlated < hits


def test_vacuum_does_not_promote(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    reset_counters(server)
    server.query("VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t")
    assert stat(server, "vacuumed")[0] > PAGES // 2


def test_hits_are_those_that_stock_counts(make: Make) -> None:
    """With the clock, what is counted here and what is counted there agree."""
    server = make("clock", shared_buffers="16MB")
    fill(server)
    settle(server)
    server.query("SELECT pg_stat_reset_shared('io'), pg_stat_reset_bufferpools()")
    look_up(server, 500)
    settle(server)
    both = server.query(
        "SELECT hits, (SELECT sum(hits) FROM pg_stat_io WHERE object = 'relation')"
        " FROM pg_stat_bufferpool WHERE name = 'DEFAULT'"
    )
    ours, stock = (int(count) for count in both.split("|"))
    assert 0.8 * stock < ours <= stock * 1.2


@pytest.mark.parametrize("io_method", ["worker", "sync"])
def test_reads_are_those_that_stock_counts(make: Make, io_method: str) -> None:
    """Scans beside each other, through rings and the index: three counters, one truth."""
    server = make("lirs", shared_buffers="2MB", io_method=io_method)
    fill(server)
    script = server.directory / "script.sql"
    script.write_text(
        "SELECT count(pad) FROM t;"
        "SET enable_seqscan = off; SELECT count(pad) FROM t WHERE id > 0; RESET enable_seqscan;\n"
    )
    stock = (
        "SELECT sum(read_bytes) / 8192, (SELECT sum(blks_read) FROM pg_stat_database)"
        " FROM pg_stat_io WHERE object = 'relation'"
    )

    def reads() -> list[int]:
        settle(server)
        return [int(float(count)) for count in server.query(stock).split("|")]

    before, ours_before = reads(), stat(server, "reads")[0]
    bench = server.run(server.bin / "pgbench", "-n", "-c", "4", "-t", "20", "-f", script)
    assert bench.returncode == 0, bench.stdout
    ours, after = stat(server, "reads")[0] - ours_before, reads()
    of_io, of_databases = (late - early for early, late in zip(before, after, strict=True))
    assert of_io > 4 * 20 * PAGES // 2
    assert of_databases == of_io
    assert abs(ours - of_io) < 200  # what the sessions have read that asked


# ---- access, crashes, others' algorithms ----


def test_who_may_look(make: Make) -> None:
    server = make("lru")
    server.query("CREATE ROLE watcher LOGIN; CREATE ROLE nosy LOGIN; GRANT pg_monitor TO watcher")
    for query in (
        "SELECT count(*) FROM pg_bufferpool",
        "SELECT count(*) FROM pg_stat_bufferpool",
        "SELECT count(*) FROM pg_bufferpool_algorithms()",
    ):
        server.query(query, user="watcher")
        with pytest.raises(TidepoolError, match="permission denied"):
            server.query(query, user="nosy")
    for query in (
        "SELECT pg_stat_reset_bufferpools()",
        "SELECT count(*) FROM pg_bufferpool_lists()",
        "SELECT count(*) FROM pg_bufferpool_check()",
        "SELECT count(*) FROM pg_bufferpool_check(false)",
    ):
        with pytest.raises(TidepoolError, match="permission denied"):
            server.query(query, user="watcher")
    server.query("GRANT EXECUTE ON FUNCTION pg_bufferpool_lists() TO watcher")
    server.query("SELECT count(*) FROM pg_bufferpool_lists()", user="watcher")


def test_everything_is_described(make: Make) -> None:
    members = (
        "FROM pg_depend WHERE deptype = 'e' AND classid = '{}'::regclass"
        " AND refclassid = 'pg_extension'::regclass"
        " AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_bufferpool')"
    )
    server = make()
    functions, relations = members.format("pg_proc"), members.format("pg_class")
    assert int(server.query(f"SELECT count(*) {functions}")) > 9
    for query in (
        f"SELECT objid::regprocedure {functions} AND obj_description(objid, 'pg_proc') IS NULL",
        f"SELECT objid::regclass {relations} AND obj_description(objid, 'pg_class') IS NULL",
        "SELECT attrelid::regclass, attname FROM pg_attribute WHERE attnum > 0"
        f" AND attrelid IN (SELECT objid {relations})"
        " AND col_description(attrelid, attnum) IS NULL",
    ):
        assert server.query(query) == ""


@pytest.mark.parametrize("algorithm", ["lru", "arc", "osic"])
def test_after_a_crash(make: Make, algorithm: str) -> None:
    server = make(algorithm)
    fill(server)
    look_up(server, 100)
    pid = server.query(CHECKPOINTER)
    os.kill(int(pid), signal.SIGKILL)
    wait_for_restart(server, pid)
    assert server.query("SELECT count(*) FROM t") == str(PAGES)
    assert server.query("SELECT handler FROM pg_bufferpool") == algorithm
    look_up(server, 200)
    assert violations(server) == ""


def test_example_is_built_out_of_tree(make: Make) -> None:
    scratch = make().directory / "example"
    subprocess.run(["cp", "-r", ROOT / "postgres" / "example", scratch], check=True)
    build = subprocess.run(
        ["make", "-C", scratch, f"PG_CONFIG={BIN}/pg_config"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    assert "warning" not in build.stderr
    scratch.parent.chmod(0o755)
    server = make("second_chance", shared_preload_libraries=str(scratch / "second_chance"))
    fill(server)
    look_up(server, 300)
    assert server.query("SELECT handler FROM pg_bufferpool") == "second_chance"
    assert server.query("SELECT DISTINCT list FROM pg_bufferpool_lists()") == "queue"
    assert violations(server) == ""
    assert stat(server, "evictions")[0] > 100


# A compiler may take a function that only prefetches for one without any effect, and
# drop it.  As many as gcc makes of the source's, some of which it merges.
PREFETCHES = {"tp_batch_prefetch": 6, "tp_sketch_prefetch": 1, "StartReadBuffer": 2}


@pytest.mark.parametrize("function", PREFETCHES)
def test_compiler_has_kept_prefetches(function: str) -> None:
    disassemble = f"objdump -d --disassemble={function} {BIN}/postgres".split()
    out = subprocess.run(disassemble, capture_output=True, text=True, check=True).stdout
    assert f"<{function}>:" in out
    assert len(re.findall(r"\t(prefetch|prfm|dcbt|pref)", out)) >= PREFETCHES[function]
