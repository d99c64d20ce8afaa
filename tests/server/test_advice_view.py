"""pg_bufferpool_advice: what pools would read with other sizes and algorithms."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from server.conftest import Make
from server.counters import settle
from server.load import told, wait_for
from server.pools import create, fill, server_with_pools
from server.sessions import Session
from tidepool.policies import parse_policy
from tidepool.server import Instance
from tidepool.simulation import Cell, simulate
from tidepool.traces import open_trace

PERCENT = (10, 25, 50, 75, 90, 100, 110, 125, 150, 200)
ADVISOR = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'buffer pool advisor'"
RESET = "SELECT pg_bufferpool_advice_reset()"
# index scans: without rings, and in an order that is not the table's
LOOKUPS = "SET enable_seqscan = off; SET enable_bitmapscan = off"


def advisor(server: Instance) -> str:
    """The advisor's process ID, when there is one and it has begun."""
    query = f"{ADVISOR} AND wait_event = 'BufferPoolAdvisorMain'"
    found: list[str] = []

    def find() -> bool:
        found.append(server.query(query))
        return found[-1] != ""

    wait_for("there is an advisor", find)
    return found[-1]


def advice(server: Instance, pool: str = "DEFAULT") -> dict[str, list[float]]:
    """Estimated reads at each size, by algorithm, the pool's own first."""
    rows = server.query(
        "SELECT algorithm, reads FROM pg_bufferpool_advice"
        f" WHERE pool = '{pool}' ORDER BY NOT in_use, algorithm, buffers"
    ).splitlines()
    found: dict[str, list[float]] = {}
    for algorithm, reads in (row.split("|") for row in rows):
        found.setdefault(algorithm, []).append(float(reads))
    return found


def based_on(server: Instance, columns: str, pool: str = "DEFAULT") -> str:
    return server.query(f"SELECT {columns} FROM pg_stat_bufferpool_advice WHERE pool = '{pool}'")


# in a session: waits until its references so far are in the advice, which comes each second
PUBLISHED = """DO $$
DECLARE
    before interval;
BEGIN
    FOR i IN 1 .. 2 LOOP
        SELECT period INTO before FROM pg_stat_bufferpool_advice WHERE pool = 'DEFAULT';
        WHILE before IS NOT DISTINCT FROM
            (SELECT period FROM pg_stat_bufferpool_advice WHERE pool = 'DEFAULT')
        LOOP
            PERFORM pg_sleep(0.1);
        END LOOP;
    END LOOP;
END $$"""


def publish(server: Instance) -> None:
    """Wait until all that has happened is in the advice, which comes each second."""
    settle(server)
    for _ in range(2):
        before = based_on(server, "period")
        while based_on(server, "period") == before:
            time.sleep(0.05)


def looking_up(count: int, pages: int, table: str = "t") -> list[str]:
    """Statements that read rows of the table, half of them among the first tenth."""
    return [
        LOOKUPS,
        *(
            f"SELECT pad FROM {table} WHERE id = {1 + i * 7919 % (pages if i % 2 else pages // 10)}"
            for i in range(count)
        ),
    ]


def lookups(server: Instance, count: int, pages: int, table: str = "t") -> None:
    server.query(*looking_up(count, pages, table))


@pytest.mark.parametrize("algorithm", ["clock", "arc"])
def test_it_is_what_replays_of_a_recording_say(make: Make, algorithm: str) -> None:
    """A pool that is small enough is simulated as a whole."""
    server = make(algorithm, bufferpool__advice_memory="64MB", bgwriter_lru_maxpages="0")
    fill(server, "t", 400)
    advisor(server)
    recording = server.directory / "a.rec"
    # pauses, or a busy machine's advisor lacks references
    statements = looking_up(10000, 400)
    for i in range(len(statements), 0, -250):
        statements.insert(i, "SELECT pg_sleep(0.05)")
    # in one session, so that little is in only one of them; its counters are added where
    # it looks at them
    rows = server.query(
        f"SELECT pg_bufferpool_reset(), pg_bufferpool_trace_start('{recording}')",
        RESET,
        *statements,
        "SELECT count(*) FROM pg_stat_bufferpool",
        PUBLISHED,
        "SELECT 'advice', algorithm, buffers, miss_ratio FROM pg_bufferpool_advice"
        " ORDER BY NOT in_use, algorithm, buffers",
        "SELECT pg_bufferpool_trace_stop()",
    ).splitlines()
    assert based_on(server, "sample_rate, sample_buffers, dropped") == "1|128|0"

    advice = [row.split("|")[1:] for row in rows if row.startswith("advice|")]
    names = [algorithm, *sorted({"lru", "arc", "lirs"} - {algorithm})]
    assert [(name, int(buffers)) for name, buffers, _ in advice] == [
        (name, 128 * percent // 100) for name in names for percent in PERCENT
    ]
    trace = open_trace(recording)
    cells = [Cell(parse_policy(name), int(buffers), 1) for name, buffers, _ in advice]
    for cell, result, row in zip(cells, simulate([(trace, cells)]), advice, strict=True):
        replayed = result.misses / result.requests
        assert float(row[2]) == pytest.approx(replayed, abs=0.005), cell


def test_a_reset_is_seen_at_once(make: Make) -> None:
    """There is advice all the time, if only that nothing is known yet."""
    server = make("arc")
    advisor(server)
    rows = server.query(
        RESET,
        "SELECT period < interval '2 s' FROM pg_stat_bufferpool_advice",
        "SELECT count(*) FROM pg_bufferpool_advice",
    ).splitlines()
    assert rows == ["t", str(3 * len(PERCENT))]


def test_sizes_and_units(make: Make) -> None:
    server = make("lru")
    fill(server, "t", 400)
    advisor(server)
    server.query(RESET)
    lookups(server, 1000, 400)
    publish(server)
    rows = server.query(
        "SELECT round(size_factor::numeric, 2), buffers, size = buffers * 8192,"
        " reads * p = read_time, miss_ratio BETWEEN 0 AND 1"
        " FROM pg_bufferpool_advice a, (SELECT page_time AS p FROM pg_stat_bufferpool_advice) s"
        " WHERE in_use ORDER BY buffers"
    ).splitlines()
    assert rows == [
        f"{128 * percent // 100 / 128:.2f}|{128 * percent // 100}|t|t|t" for percent in PERCENT
    ]
    reads = advice(server)["lru"]
    assert reads == sorted(reads, reverse=True)  # of a stack algorithm
    counted = float(based_on(server, "reads"))
    assert reads[PERCENT.index(100)] == pytest.approx(counted, abs=1)


def test_relations(make: Make) -> None:
    """Those with most references are told apart."""
    server = make("lru")
    fill(server, "hot", 20)
    fill(server, "large", 400)
    advisor(server)
    server.query(RESET)
    lookups(server, 2000, 400, "large")
    lookups(server, 2000, 20, "hot")
    publish(server)
    query = (
        "SELECT requests > 1000, reads FROM pg_bufferpool_relation_advice"
        " WHERE relation = '{}'::regclass AND in_use AND buffers = {}"
    )
    often, reads = server.query(query.format("large", 128)).split("|")
    assert often == "t"
    assert float(reads) > 500
    often, reads = server.query(query.format("hot", 128)).split("|")
    assert often == "t"
    assert float(reads) < 100
    # no relation reads more than the pool
    assert (
        server.query(
            "SELECT bool_and(r.reads <= a.reads * 1.001) FROM pg_bufferpool_advice a"
            " JOIN (SELECT pool, algorithm, buffers, sum(reads) AS reads"
            "   FROM pg_bufferpool_relation_advice GROUP BY 1, 2, 3) r"
            " USING (pool, algorithm, buffers)"
        )
        == "t"
    )


def test_named_pools(make: Make) -> None:
    """Each pool has advice of its own, which ends with it."""
    server = server_with_pools(make)
    create(server, "hot", "lirs", "1MB")
    fill(server, "t", 600, ", buffer_pool = 'hot'")
    advisor(server)
    server.query(RESET)
    lookups(server, 2000, 600)
    publish(server)
    assert next(iter(advice(server))) == "clock"
    assert next(iter(advice(server, "hot"))) == "lirs"
    assert int(based_on(server, "reads", "hot")) > 500
    server.query("ALTER BUFFER POOL hot SET HANDLER arc")
    wait_for("it has followed", lambda: list(advice(server, "hot"))[:1] == ["arc"])
    server.query("ALTER BUFFER POOL hot RENAME TO warm")
    assert advice(server, "warm") != {}
    server.query("ALTER BUFFER POOL warm SET SIZE '1200kB'")  # goes on
    wait_for(
        "it has followed",
        lambda: (
            server.query(
                "SELECT round(min(size_factor)::numeric, 3) FROM pg_bufferpool_advice"
                " WHERE pool = 'warm'"
            )
            == "0.080"
        ),
    )
    server.query("ALTER BUFFER POOL warm SET SIZE '4MB'")  # begins anew
    wait_for("it has followed", lambda: based_on(server, "sample_buffers", "warm") != "128")
    server.query("DROP BUFFER POOL warm CASCADE")
    assert advice(server, "warm") == {}


def test_a_new_table_is_not_read(make: Make) -> None:
    server = make("lru", autovacuum="off")
    advisor(server)
    server.query("SELECT 1", RESET)
    server.query("CREATE TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 4000)")
    publish(server)
    assert float(based_on(server, "requests")) > 4000 / 8
    assert advice(server)["lru"][-1] < 200


def test_the_window(make: Make) -> None:
    """What is older than the window counts less and less."""
    server = make("lru", bufferpool__advice_window="2s")
    fill(server, "t", 400)
    advisor(server)
    server.query(RESET)
    lookups(server, 1000, 400)

    def reads() -> float:
        # not requests, which asking makes, too
        return float(based_on(server, "reads"))

    wait_for("they are counted", lambda: reads() > 100)
    before = reads()
    wait_for("they have faded", lambda: reads() < before / 4, 30)
    assert based_on(server, "period <= interval '2 s'") == "t"


def test_settings(make: Make) -> None:
    server = make("arc", bufferpool__advice_algorithms="s3fifo, nosuch, arc, page_temperature")
    advisor(server)
    wait_for("it is published", lambda: list(advice(server)) == ["arc", "s3fifo"])
    server.query(
        "ALTER SYSTEM SET bufferpool.advice_algorithms = lru, lirs, car, clock",
        "ALTER SYSTEM SET bufferpool.advice_memory = '512kB'",
        "SELECT pg_reload_conf()",
    )
    wait_for("it has followed", lambda: list(advice(server)) == ["arc", "car", "lirs", "lru"])
    assert int(based_on(server, "memory")) <= 512 * 1024
    # off: no advisor, no advice; and on again
    server.query("ALTER SYSTEM SET bufferpool.advice = off", "SELECT pg_reload_conf()")
    wait_for("it has ended", lambda: server.query(ADVISOR) == "")
    assert advice(server) == {}
    server.query(RESET)  # does not wait for nobody
    server.query("ALTER SYSTEM SET bufferpool.advice = on", "SELECT pg_reload_conf()")
    advisor(server)


def test_there_is_advice_unless_it_is_switched_off(make: Make) -> None:
    server = make()
    advisor(server)
    wait_for("it is published", lambda: "clock" in advice(server))
    assert server.query("SHOW bufferpool.advice") == "on"


def test_a_server_without_a_library_has_no_advisor(make: Make) -> None:
    server = make(shared_preload_libraries="", bgwriter_delay="10ms")
    time.sleep(1)  # the background writer would start one
    assert server.query(ADVISOR) == ""
    assert advice(server) == {}
    server.query(RESET)  # does not wait for nobody


def test_an_idle_server_hardly_wakes_it(make: Make) -> None:
    server = make()
    status = Path(f"/proc/{advisor(server)}/status")

    def waits() -> int:
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)
        assert found
        return int(found.group(1))

    def is_idle() -> bool:
        before = waits()
        time.sleep(3)
        return waits() - before <= 2  # otherwise about 30

    wait_for("it sleeps for long", is_idle)
    began = server.query("SELECT count(*) FROM pg_class", "SELECT now()").splitlines()[-1]
    wait_for(
        "it goes on",
        lambda: (
            server.query(f"SELECT since + period > '{began}' FROM pg_stat_bufferpool_advice") == "t"
        ),
    )


def test_memory(make: Make) -> None:
    server = make("lirs", shared_buffers="64MB", bufferpool__advice_algorithms="arc, mq, 2q")
    advisor(server)
    wait_for("it is published", lambda: based_on(server, "memory") != "")
    assert 500_000 < int(based_on(server, "memory")) <= 1024 * 1024
    assert 0 < float(based_on(server, "sample_rate")) < 0.1


def test_privileges(make: Make) -> None:
    server = make()
    server.query(
        "CREATE ROLE watcher LOGIN IN ROLE pg_monitor", "CREATE ROLE nobody_in_particular LOGIN"
    )
    for view in (
        "pg_bufferpool_advice",
        "pg_bufferpool_relation_advice",
        "pg_stat_bufferpool_advice",
    ):
        server.query(f"SELECT * FROM {view}", user="watcher")
        with pytest.raises(Exception, match="permission denied"):
            server.query(f"SELECT * FROM {view}", user="nobody_in_particular")
    with pytest.raises(Exception, match="permission denied"):
        server.query(RESET, user="watcher")


def test_the_advisor_ends_and_comes_back(make: Make) -> None:
    """Terminated it is started again; killed it takes the server along, as any process does."""
    server = make("arc")
    fill(server, "t", 400)
    wait_for("it runs", lambda: advisor(server) != "")
    pid = advisor(server)
    server.query(f"SELECT pg_terminate_backend({pid}, 10000)")
    assert advice(server) == {}
    lookups(server, 100, 400)
    wait_for("it is back", lambda: server.query(ADVISOR) not in ("", pid))
    killed = advisor(server)
    os.kill(int(killed), signal.SIGKILL)
    wait_for("the server is back", lambda: told(server, ADVISOR) not in (None, "", killed))
    lookups(server, 1000, 400)
    publish(server)
    assert list(advice(server)) == ["arc", "lirs", "lru"]
    assert server.query("SELECT * FROM pg_bufferpool_check()") == ""


def test_no_worker_slot(make: Make) -> None:
    """Without a slot there is no advice, and a warning in the log."""
    server = make(max_worker_processes="0")
    said = "no background worker slot for the buffer pool advisor"
    wait_for("it is said", lambda: said in server.log.read_text())
    assert advice(server) == {}


# ---- load ----

# rows of a table in the order of its index, again and again, without a pause
BUSY = (
    "DO $$ BEGIN FOR i IN 1..100000000 LOOP PERFORM count(pad) FROM t WHERE id > 0;"
    " END LOOP; END $$"
)


@contextmanager
def busy(server: Instance, count: int) -> Iterator[None]:
    """So many sessions read the table t all the time."""
    sessions = [Session(server, LOOKUPS, BUSY) for _ in range(count)]
    try:
        yield
    finally:
        server.query(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query LIKE 'DO%'"
        )
        for session in sessions:
            session.end()


@contextmanager
def starved(pid: int) -> Iterator[None]:
    """A process that gets a twentieth of the time, as on a machine with too few processors."""
    ended = threading.Event()

    def starve() -> None:
        with suppress(ProcessLookupError):  # it has ended
            while not ended.is_set():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.19)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.01)

    thread = threading.Thread(target=starve)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def is_small(server: Instance, pool: str = "DEFAULT") -> bool:
    """Whether its sample has become smaller."""
    return float(based_on(server, "sample_rate", pool) or 1) < 1


def test_more_references_than_the_advisor_can_take(make: Make) -> None:
    """It publishes, follows what is asked of it, takes a smaller sample, and ends."""
    server = make(
        "lru",
        bufferpool__advice_algorithms="hyperbolic, watt, lru_k",  # which take long
        bufferpool__max_pools="4",
        shared_buffers="2MB",
        max_connections="20",
    )
    fill(server, "t", 200)
    pid = int(advisor(server))
    with busy(server, 3), starved(pid):
        wait_for("references are dropped", lambda: int(based_on(server, "dropped")) > 100000)
        before = based_on(server, "period")
        wait_for("it publishes", lambda: based_on(server, "period") != before, 20)
        wait_for("it samples less", lambda: is_small(server), 20)
        began = time.monotonic()
        create(server, "p", "lru", "256kB")  # for which all processes are waited for
        assert time.monotonic() - began < 20
        server.query("ALTER SYSTEM SET bufferpool.advice = off", "SELECT pg_reload_conf()")
        wait_for("it has ended", lambda: server.query(ADVISOR) == "", 20)


def test_busy_pools(make: Make) -> None:
    """The advisor's limit holds however many pools are busy, and estimates stay right."""
    server = server_with_pools(make, "lru")
    pools = [f"p{i}" for i in range(5)]
    for name in pools:
        create(server, name, "lru", "1MB")
        pages = 110 if name == "p0" else 150  # of 128 buffers
        fill(server, f"of_{name}", pages, f", buffer_pool = '{name}'")
    # with one processor its limit is 3,750 references in a second
    os.sched_setaffinity(int(advisor(server)), {min(os.sched_getaffinity(0))})
    server.query(RESET)
    before = {name: based_on(server, "since", name) for name in pools}
    loops = " ".join(f"PERFORM count(pad) FROM of_{name} WHERE id > 0;" for name in pools)
    session = Session(
        server,
        LOOKUPS,
        f"DO $$ BEGIN FOR i IN 1..100000000 LOOP {loops} PERFORM pg_sleep(0.02); END LOOP; END $$",
    )
    bursts = 5 * 64 * 128  # of references that may just have begun
    kept = 10  # seconds for which time is

    def count() -> tuple[int, int]:
        """References, and those that were simulated, of all pools."""
        counts = server.query("SELECT sum(requests), sum(samples) FROM pg_stat_bufferpool_advice")
        requests, samples = counts.split("|")
        return int(requests), int(samples)

    def is_too_much() -> bool:
        """Whether the limit has been passed by far, if there were none."""
        return count()[0] - first[0] > 1.5 * limit()

    def limit() -> float:
        return 3750 * (time.monotonic() - began + kept) + bursts

    try:
        time.sleep(10)  # before the first bursts are over, each pool may have all of the time
        began, first = time.monotonic(), count()
        wait_for("there are too many references", is_too_much)
        assert count()[1] - first[1] < limit()
    finally:
        server.query(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query LIKE 'DO%'"
        )
        session.end()
    publish(server)
    assert based_on(server, "dropped") == "0"
    for name in pools:
        assert based_on(server, "since", name) == before[name]
        requests, reads = map(float, based_on(server, "requests, reads", name).split("|"))
        estimates = dict(zip(PERCENT, advice(server, name)["lru"], strict=True))
        assert estimates[100] == pytest.approx(reads, rel=0.01, abs=20)
        # those simulated stand for all
        found = server.query(
            "SELECT sum(requests) FROM pg_bufferpool_relation_advice"
            f" WHERE pool = '{name}' AND in_use AND size_factor = 1"
        )
        assert float(found) == pytest.approx(requests, abs=1)
        # a loop over a table misses all of it, or nothing
        assert estimates[75] == pytest.approx(requests, rel=0.25)
        assert estimates[125] < requests / 20
