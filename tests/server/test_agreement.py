"""Hits of a live server are met again, to the last one, when its recording is replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from server.conftest import Make
from server.counters import settle, wait_for_sessions_to_end
from server.recordings import records
from server.sessions import staying
from server.test_pool import BUFFERS, PAGES, fill
from tidepool.policies import parse_policy
from tidepool.server import Instance, server_algorithms
from tidepool.simulation import Cell, Options, recorded_layout, simulate, simulate_layouts
from tidepool.traces import Chunk, Flag, InMemoryTrace, Kind, Trace, open_trace
from tidepool.traces.columns import column, join, references

BEGIN = "SELECT pg_bufferpool_reset(), pg_stat_reset_bufferpools(), pg_bufferpool_trace_start('{}')"
END = (
    "SELECT 'counted', hits, reads + extends, pg_bufferpool_trace_stop()"
    " FROM pg_stat_get_bufferpools()"
)
# goes by a hash of what pages are called, see test_counts_by_hash
NEARLY = ("w_tinylfu",)
TOLERANCE = 0.005


def statements(changes: bool) -> Iterator[str]:
    """Lookups, skewed, each a transaction; with changes, also what makes and drops pages."""
    yield "SET enable_seqscan = off; SET enable_bitmapscan = off"
    for i, draw in enumerate(np.random.default_rng(1).random(1000)):
        id_ = 1 + int(draw**2 * PAGES)
        yield f"SELECT count(pad) FROM t WHERE id = {id_}"
        if not changes or i % 10 > 0:
            continue
        yield f"UPDATE t SET pad = repeat('y', 700) WHERE id BETWEEN {id_} AND {id_ + 3}"
        yield f"INSERT INTO t SELECT {PAGES} + i, repeat('z', 900) FROM generate_series(1, 5) i"
        if i % 100 == 0:
            yield "CREATE TABLE u AS SELECT 1 AS id; DROP TABLE u"


def record(server: Instance, workload: Iterator[str]) -> tuple[Path, int, int]:
    """Record statements from empty buffers on; return the recording, hits and misses counted.

    All in one session whose catalog caches have seen the functions, and both
    ends of the recording in one statement with those of the counters: between
    them there is nothing that only one of them has seen.
    """
    wait_for_sessions_to_end(server)
    warm_up, recording = server.directory / "warm.rec", server.directory / "a.rec"
    begin = BEGIN.format(warm_up), END, BEGIN.format(recording)
    out = server.query(*begin, *workload, END)
    _, hits, misses, _ = out.splitlines()[-1].split("|")
    return recording, int(hits), int(misses)


def hits_of(trace: Trace) -> int:
    return sum(
        int(np.count_nonzero(column(chunk, "flags", 0) & Flag.HIT)) for chunk in trace.chunks()
    )


def replayed(trace: Trace) -> tuple[int, int]:
    """Return the hits and misses of a replay of what the server ran."""
    ran = trace.recorded
    assert ran is not None and ran.dropped == 0
    cell = Cell(parse_policy(ran.policy), ran.frames, ran.seed)
    (result,) = simulate([(trace, [cell])], Options(batch=ran.batch, scans=ran.scans))
    return result.requests - result.misses, result.misses


@pytest.mark.parametrize("algorithm", server_algorithms())
def test_one_session(make: Make, algorithm: str) -> None:
    # the background writer pins pages, too, for a moment
    server = make(algorithm, bufferpool__batch_size="1", bgwriter_lru_maxpages="0")
    fill(server)
    recording, hits, misses = record(server, statements(changes=True))
    trace = open_trace(recording)
    chunk = join(list(trace.chunks()), 0)
    assert hits_of(trace) == hits
    assert int(references(chunk).sum()) == hits + misses
    assert misses > 3 * BUFFERS
    assert (column(chunk, "kind", 0) == Kind.FORGET).any()
    found = replayed(trace)
    if algorithm in NEARLY:
        assert abs(found[0] - hits) <= TOLERANCE * hits
    else:
        assert found == (hits, misses)


# ---- the server's names of pages ----


def murmurhash32(h: NDArray[np.uint32]) -> NDArray[np.uint32]:
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)


def with_the_servers_keys(recording: Path) -> InMemoryTrace:
    """A recording, less pages that are gone, with pages whose tp_page_key is the server's.

    BufferTagPage puts a hash of the place into the upper half of the relation,
    of which tp_page_key adds a multiple to the rest: so it is added to the page here.
    """
    trace = open_trace(recording)
    data = records(recording)
    assert len(data) == trace.length
    data = data[data["kind"] != Kind.FORGET]
    space = data["tablespace"]
    place = murmurhash32(data["database"] ^ (space << np.uint32(16) | space >> np.uint32(16)))
    high = (place + data["fork"].astype(np.uint32)).astype(np.uint64)
    page = data["file"].astype(np.uint64) << np.uint64(32) | data["block"]
    page += high * np.uint64(0xD1342543DE82EF95)
    chunk = Chunk(
        page=page,
        kind=data["kind"].copy(),
        flags=data["flags"].astype(np.uint16),
        backend=data["process"].astype(np.uint32),
    )
    return InMemoryTrace("keys", [chunk], recorded=trace.recorded)


def test_counts_by_hash(make: Make) -> None:
    """What w_tinylfu counts depends on what pages are called, and on nothing else."""
    server = make("w_tinylfu", bufferpool__batch_size="1")
    fill(server)
    recording, *counted = record(server, statements(changes=False))
    assert replayed(with_the_servers_keys(recording)) == tuple(counted)


# ---- many at once ----

FRAMES = 512


# mru's victim is the page that any process referenced last: it gives up many choices
@pytest.mark.parametrize("algorithm", ["clock", "lru", "arc", "lirs", "mru", "random", "sieve"])
def test_clients(make: Make, algorithm: str) -> None:
    server = make(algorithm, shared_buffers=f"{8 * FRAMES}kB")
    assert server.run(server.bin / "pgbench", "-i", "-q", "-s", "1").returncode == 0
    recording = server.directory / "a.rec"
    server.query(BEGIN.format(recording))
    bench = server.run(
        *(server.bin / "pgbench", "-n", "-c", "8", "-j", "2", "-t", "150"),
        *("-b", "tpcb-like@3", "-b", "select-only@7", "postgres"),
    )
    assert bench.returncode == 0, bench.stdout
    server.query(END)
    trace = open_trace(recording)
    kinds = np.concatenate([column(chunk, "kind", 0) for chunk in trace.chunks()])
    assert np.count_nonzero(kinds == Kind.CHOSEN) > 1000
    hits = hits_of(trace)
    found, misses = replayed(trace)
    assert hits > (1000 if algorithm == "mru" else 5000) and misses > 1000
    assert abs(found - hits) <= 0.002 * hits


# ---- sessions that end or go idle ----


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "idle"])
def test_what_sessions_report_in_the_end(make: Make, ends: bool) -> None:
    """Until they report the last pages that they have read, nobody can evict these."""
    server = make("lru", bgwriter_lru_maxpages="0")
    fill(server)
    recording = server.directory / "a.rec"
    server.query(BEGIN.format(recording))
    lookups = list(statements(changes=False))
    sessions = []
    for first in range(1, 41):
        sessions.append(staying(server, lookups[0], *lookups[first : first + 3]))
        if ends:
            sessions[-1].communicate()
    settle(server)
    server.query(*lookups)
    server.query(END)
    for other in sessions:
        other.communicate()
    trace = open_trace(recording)
    hits = hits_of(trace)
    reported = sum(np.count_nonzero(chunk.kind == Kind.REPORTED) for chunk in trace.chunks())
    assert reported >= 40
    assert abs(replayed(trace)[0] - hits) <= TOLERANCE * hits


# ---- named pools ----

NAMED = ("DEFAULT", "hot", "log")
ROWS = 4000  # of a table in a pool of its own
POOLED: dict[str, str] = {
    "shared_buffers": "4MB",
    "bgwriter_lru_maxpages": "0",
    "bufferpool.trickle_write_batch_size": "0",
}
BEGIN_POOLS = "SELECT pg_bufferpool_reset(), pg_bufferpool_trace_start('{}')"
COUNTED = "SELECT 'counted', name, hits, reads + extends FROM pg_stat_bufferpool"
STOP = "SELECT pg_bufferpool_trace_stop()"


def with_pools(make: Make, default: str, hot: str, log: str, **settings: str) -> Instance:
    """A server with two pools, a table in each, and one in DEFAULT."""
    named = {name.replace(".", "__"): value for name, value in (POOLED | settings).items()}
    server = make(default, **named)
    fill(server)
    server.query(
        f"CREATE BUFFER POOL hot HANDLER {hot} SIZE '800kB'",
        f"CREATE BUFFER POOL log HANDLER {log} SIZE '400kB'",
    )
    for name in ("hot", "log"):
        table = f"CREATE TABLE in_{name} (id int PRIMARY KEY, pad text)"
        server.query(
            f"{table} WITH (buffer_pool = '{name}')",
            f"INSERT INTO in_{name} SELECT i, repeat('x', 900) FROM generate_series(1, {ROWS}) i",
        )
    server.query("CHECKPOINT")
    return server


def lookups(count: int, seed: int) -> Iterator[str]:
    """Skewed, in all three tables; some change what they find."""
    yield "SET enable_seqscan = off; SET enable_bitmapscan = off"
    for i, draws in enumerate(np.random.default_rng(seed).random((count, 3)) ** 2):
        yield f"SELECT count(pad) FROM t WHERE id = {1 + int(draws[0] * PAGES)}"
        yield f"SELECT count(pad) FROM in_hot WHERE id = {1 + int(draws[1] * ROWS)}"
        yield f"SELECT count(pad) FROM in_log WHERE id = {1 + int(draws[2] * ROWS)}"
        if i % 10 == 0:
            yield f"UPDATE in_hot SET pad = 'y' WHERE id = {1 + int(draws[2] * ROWS)}"


def counters(lines: list[str]) -> dict[str, tuple[int, int]]:
    """Return hits and misses by pool."""
    rows = [line.split("|")[1:] for line in lines if line.startswith("counted|")]
    return {name: (int(hits), int(misses)) for name, hits, misses in rows}


def record_pools(
    server: Instance, statements: Iterator[str]
) -> tuple[Trace, dict[str, tuple[int, int]]]:
    """Record statements from empty buffers on; return the recording and what was counted."""
    begin = (BEGIN_POOLS.format(server.directory / "warm.rec"), COUNTED, STOP)
    reset = "SELECT pg_stat_reset_bufferpools()"
    path = server.directory / "pools.rec"
    # what changes pools is known before the counters begin
    wait_for_sessions_to_end(server)
    lines = server.query(
        *begin, reset, BEGIN_POOLS.format(path), reset, *statements, COUNTED, STOP
    ).splitlines()
    return open_trace(path), counters(lines)


def recorded_by_pool(trace: Trace) -> dict[str, tuple[int, int]]:
    """Return hits and misses of a recording's references, by the numbers of pools."""
    counts = np.zeros((len(NAMED), 2), np.int64)
    for chunk in trace.chunks():
        rows = references(chunk)
        pools = column(chunk, "pool", 0)[rows]
        hit = (column(chunk, "flags", 0)[rows] & Flag.HIT) > 0
        np.add.at(counts, (pools, np.where(hit, 0, 1)), 1)
    return {name: (int(h), int(m)) for name, (h, m) in zip(NAMED, counts, strict=True)}


def replayed_by_pool(trace: Trace) -> dict[str, tuple[int, int]]:
    """Return hits and misses of a replay of the pools that the server had, the last of a name."""
    ran = trace.recorded
    assert ran is not None and ran.dropped == 0
    layout = recorded_layout(ran)
    (result,) = simulate_layouts(
        trace, [layout], ran.seed, Options(batch=ran.batch, scans=ran.scans)
    )
    return {
        pool.pool: (pool.requests - pool.misses, pool.misses) for pool in reversed(result.pools)
    }


def resized() -> Iterator[str]:
    yield from lookups(500, 1)
    yield "ALTER BUFFER POOL hot SET SIZE '320kB'"
    yield from lookups(250, 2)
    yield "ALTER BUFFER POOL log SET SIZE '1MB'"
    yield from lookups(250, 3)


@pytest.mark.parametrize(
    ("default", "hot", "log"),
    [
        ("lru", "arc", "lirs"),
        ("arc", "clock", "s3fifo"),
        ("lirs", "slru", "random"),
        ("2q", "keep", "sieve"),
    ],
)
def test_pools_of_one_session(make: Make, default: str, hot: str, log: str) -> None:
    server = with_pools(make, default, hot, log, bufferpool__batch_size="1")
    trace, counted = record_pools(server, resized())
    chunk = join(list(trace.chunks()), 0)
    kinds = np.bincount(column(chunk, "kind", 0), minlength=len(Kind))
    assert kinds[Kind.POOL] > 0 and kinds[Kind.WRITTEN] > 0
    assert kinds[Kind.MOVED] == 60 + 78
    assert trace.recorded is not None and [pool.name for pool in trace.recorded.pools] == [*NAMED]
    recorded = recorded_by_pool(trace)
    if hot == "keep":  # what it refused came in for it
        assert recorded["hot"][1] > counted["hot"][1]
    else:
        assert recorded == counted
    assert replayed_by_pool(trace) == counted
    assert min(misses for _, misses in counted.values()) >= 100


def test_pools_that_come_and_go(make: Make) -> None:
    server = with_pools(make, "lru", "arc", "lirs", bufferpool__batch_size="1")

    def changes() -> Iterator[str]:
        yield from lookups(200, 1)
        yield "ALTER BUFFER POOL hot SET HANDLER lru"
        yield from lookups(200, 2)
        yield "DROP BUFFER POOL log CASCADE"
        yield from lookups(200, 3)
        yield "CREATE BUFFER POOL log HANDLER fifo SIZE '640kB'"
        yield from lookups(200, 4)

    trace, counted = record_pools(server, changes())
    found = replayed_by_pool(trace)
    assert found == counted


def test_pages_that_move(make: Make) -> None:
    server = with_pools(make, "lru", "arc", "lirs", bufferpool__batch_size="1")

    def moves() -> Iterator[str]:
        yield from lookups(300, 1)
        yield "ALTER TABLE in_hot SET (buffer_pool = 'log')"
        yield "SELECT pg_bufferpool_move('in_hot')"
        yield from lookups(300, 2)

    trace, counted = record_pools(server, moves())
    chunk = join(list(trace.chunks()), 0)
    assert int((column(chunk, "kind", 0) == Kind.PAGE_MOVED).sum()) > 20
    found = replayed_by_pool(trace)
    for name, (hits, _) in counted.items():
        assert abs(found[name][0] - hits) <= TOLERANCE * hits


def test_stock_clock_beside_pools(make: Make) -> None:
    """Buffers that leave the stock clock keep the others' order, in a ring of the core not."""
    server = with_pools(make, "clock", "arc", "lirs", bufferpool__batch_size="1")
    trace, counted = record_pools(server, resized())
    found = replayed_by_pool(trace)
    for name, (hits, _) in counted.items():
        assert abs(found[name][0] - hits) <= TOLERANCE * hits


@pytest.mark.parametrize(("default", "hot", "log"), [("clock", "arc", "lirs")])
def test_clients_of_pools(make: Make, default: str, hot: str, log: str) -> None:
    server = with_pools(make, default, hot, log, shared_buffers="8MB")
    assert server.run(server.bin / "pgbench", "-i", "-q", "-s", "1").returncode == 0
    server.query(
        "ALTER TABLE pgbench_accounts SET (buffer_pool = 'hot')",
        "ALTER INDEX pgbench_accounts_pkey SET (buffer_pool = 'log')",
        "ALTER BUFFER POOL hot SET SIZE '3MB'",
        "ALTER BUFFER POOL log SET SIZE '1MB'",
        "SELECT pg_bufferpool_reset(), pg_stat_reset_bufferpools()",
    )
    path = server.directory / "clients.rec"
    server.query(BEGIN_POOLS.format(path))
    command = (server.bin / "pgbench", "-n", "-c", "8", "-j", "2", "-t", "150")
    bench = server.run(*command, "-b", "tpcb-like@3", "-b", "select-only@7", "postgres")
    assert bench.returncode == 0, bench.stdout
    server.query("ALTER BUFFER POOL hot SET SIZE '1500kB'")
    bench = server.run(*command, "-b", "tpcb-like@3", "-b", "select-only@7", "postgres")
    assert bench.returncode == 0, bench.stdout
    server.query(STOP)
    trace = open_trace(path)
    live = recorded_by_pool(trace)
    found = replayed_by_pool(trace)
    assert live["hot"][0] > 1000 and live["hot"][1] > 1000
    for name, (hits, _) in live.items():
        assert abs(found[name][0] - hits) <= TOLERANCE * hits
