"""Recordings carry scans: a replay predicts as the server did, or as it would have."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from server.conftest import Make
from server.scans.tables import BITMAP, BLOCKS, NO_INDEX, fill
from server.test_agreement import BEGIN, END, TOLERANCE, hits_of, record, replayed
from tidepool.errors import TidepoolError
from tidepool.policies import parse_policy
from tidepool.server import Instance
from tidepool.simulation import Cell, Options, simulate
from tidepool.traces import Chunk, Flag, InMemoryTrace, Kind, Trace, open_trace
from tidepool.traces.columns import OF_CHOICES, column, join

FRAMES = 512  # table t has 1,000 blocks
ORDERED = "SET enable_seqscan = off; SET enable_bitmapscan = off"
SETTINGS = {
    "shared_buffers": f"{8 * FRAMES}kB",
    "max_parallel_workers_per_gather": "0",
    "bufferpool.batch_size": "1",
    "bgwriter_lru_maxpages": "0",
}


def make_filled(make: Make, algorithm: str, **settings: str) -> Instance:
    given = {name.replace(".", "__"): value for name, value in (SETTINGS | settings).items()}
    server = make(algorithm, **given)
    fill(server)
    return server


def whole(trace: Trace) -> Chunk:
    return join(list(trace.chunks()), 0)


def of_kind(chunk: Chunk, kind: Kind) -> list[int]:
    rows: list[int] = np.flatnonzero(column(chunk, "kind", 0) == kind).tolist()
    return rows


def misses(trace: Trace, policy: str) -> int:
    ran = trace.recorded
    assert ran is not None and ran.dropped == 0
    cell = Cell(parse_policy(policy), ran.frames, ran.seed)
    (result,) = simulate([(trace, [cell])], Options(batch=ran.batch, scans=ran.scans))
    return result.misses


def check_ends(chunk: Chunk) -> set[int]:
    """Check that each scan that begins ends, by itself or with its process; return the scans."""
    scan, backend = column(chunk, "scan", 0), column(chunk, "backend", 0)
    begun = {int(scan[row]): int(backend[row]) for row in of_kind(chunk, Kind.SCAN_BEGIN)}
    ended = {int(scan[row]) for row in of_kind(chunk, Kind.SCAN_END)}
    gone = {int(backend[row]) for row in of_kind(chunk, Kind.SCAN_END) if scan[row] == 0}
    assert [id_ for id_ in begun if id_ not in ended and begun[id_] not in gone] == []
    return set(begun)


def check_reads(chunk: Chunk) -> None:
    """Check that each scan that begins ends, and has read something."""
    read = column(chunk, "scan", 0)[of_kind(chunk, Kind.READ)]
    assert check_ends(chunk) <= set(read.tolist())


# ---- one session ----


def scanning() -> Iterator[str]:
    """Scans of all kinds, some of them two at a time through cursors, and lookups."""
    rng = np.random.default_rng(1)
    for i in range(12):
        low = int(rng.integers(0, 7000))
        yield f"{NO_INDEX}; SELECT count(*) FROM t; RESET ALL"
        yield (
            f"{BITMAP}; SELECT count(pad) FROM t WHERE id BETWEEN {low} AND {low + 2500}; RESET ALL"
        )
        yield (
            f"{NO_INDEX}; BEGIN; DECLARE a CURSOR FOR SELECT * FROM t;"
            f" MOVE {1000 + 500 * i} FROM a; DECLARE b CURSOR FOR SELECT * FROM t;"
            " MOVE 3000 FROM b; MOVE 2500 FROM a; MOVE 6000 FROM b; COMMIT; RESET ALL"
        )
        yield f"{ORDERED}; SELECT count(pad) FROM t WHERE id > {low}"
        yield f"SELECT count(pad) FROM t WHERE id < {low + 2000}"
        for id_ in rng.integers(0, 10000, 20):
            yield f"SELECT count(pad) FROM t WHERE id = {id_}"
        yield "RESET ALL"
        yield f"UPDATE t SET pad = repeat('y', 750) WHERE id BETWEEN {low} AND {low + 30}"


@pytest.mark.parametrize("algorithm", ["pbm", "pbm_pq"])
def test_one_session(make: Make, algorithm: str) -> None:
    server = make_filled(make, algorithm)
    # scans before the recording leave nothing that a replay would have to know
    recording, hits, missed = record(server, scanning())
    trace = open_trace(recording)
    chunk = whole(trace)
    assert hits_of(trace) == hits
    assert missed > 3 * BLOCKS
    check_reads(chunk)
    flags = column(chunk, "flags", 0)[of_kind(chunk, Kind.SCAN_BEGIN)]
    kinds = Counter(int(f) & (Flag.SEQUENTIAL | Flag.BITMAP | Flag.INDEX) for f in flags)
    assert kinds[Flag.SEQUENTIAL] >= 36 and kinds[Flag.BITMAP] >= 12 and kinds[Flag.INDEX] >= 12
    assert replayed(trace) == (hits, missed)


def without_scans(trace: Trace) -> InMemoryTrace:
    chunk = whole(trace)
    kind = column(chunk, "kind", 0)
    rows = (kind < Kind.SCAN_BEGIN) | (kind > Kind.SCAN_END)
    cut = Chunk(
        page=chunk.page[rows],
        kind=kind[rows],
        flags=column(chunk, "flags", 0)[rows],
        time=column(chunk, "time", 0)[rows],
        backend=column(chunk, "backend", 0)[rows],
    )
    return InMemoryTrace("without scans", [cut], recorded=trace.recorded)


@pytest.mark.parametrize("library", [True, False])
def test_a_server_that_does_not_predict(make: Make, library: bool) -> None:
    """Its recordings say what prediction would have gained."""
    server = make_filled(
        make, "lru" if library else "clock", **{"bufferpool.max_scans": "-1" if library else "0"}
    )
    trace = open_trace(record(server, scanning())[0])
    check_reads(whole(trace))
    assert misses(trace, "pbm") < 0.97 * misses(without_scans(trace), "pbm")
    assert server.query("SELECT count(*) FROM pg_stat_scans") == "0"


def test_what_a_recording_does_not_change(make: Make) -> None:
    """A scan announced for the recording alone is read and synchronized as before."""
    server = make_filled(make, "clock", **{"shared_buffers": "1MB"})
    reads = (
        NO_INDEX,
        "SELECT pg_stat_reset_shared('io')",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE 5000 FROM c",
        "SELECT ctid FROM t LIMIT 1",
        "MOVE ALL FROM c; COMMIT",
        "SELECT pg_stat_force_next_flush()",
        "SELECT context, reads > 900 FROM pg_stat_io"
        " WHERE reads > 100 AND backend_type = 'client backend' ORDER BY 1",
    )
    before = server.query(*reads)
    path = server.directory / "a.rec"
    server.query(f"SELECT pg_bufferpool_trace_start('{path}')")
    assert server.query(*reads) == before
    server.query("SELECT pg_bufferpool_trace_stop()")
    assert "bulkread|t" in before
    check_reads(whole(open_trace(path)))


@pytest.mark.parametrize("access", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
def test_a_scan_older_than_the_recording(make: Make, access: str) -> None:
    """It begins in the recording with what it has still to read."""
    server = make_filled(make, "pbm")
    path = server.directory / "a.rec"
    server.query(
        f"{access}; SET synchronize_seqscans = off; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9500; MOVE 3000 FROM c;"
        f" SELECT pg_bufferpool_trace_start('{path}'); MOVE ALL FROM c; COMMIT",
        "SELECT pg_bufferpool_trace_stop()",
    )
    chunk = whole(open_trace(path))
    check_reads(chunk)
    (row,) = of_kind(chunk, Kind.SCAN_BEGIN)
    block = int(chunk.page[row]) & 0xFFFFFFFF
    if access == BITMAP:
        assert int(column(chunk, "flags", 0)[row]) & Flag.BITMAP and 256 <= block <= 320
    else:
        assert 292 <= block <= 310
        assert int(column(chunk, "count", 0)[row]) == BLOCKS - block


# ---- trails ----


def test_marks_of_index_scans(make: Make) -> None:
    """Index scans without blocks advance from mark to mark; who trails whom is found again."""
    server = make_filled(make, "pbm", **{"bufferpool.max_scans": "512"})
    server.query(
        "CREATE TABLE u AS SELECT i, hashint4(i) AS h, repeat('x', 500) AS pad"
        " FROM generate_series(1, 20000) i",
        "CREATE INDEX ON u (h)",
        "VACUUM ANALYZE u",
    )
    path = server.directory / "a.rec"
    trailing = (
        f"{ORDERED}; BEGIN; DECLARE a CURSOR FOR SELECT * FROM u WHERE h > 0 ORDER BY h;"
        " DECLARE b CURSOR FOR SELECT * FROM u WHERE h > 0 ORDER BY h;"
        + "MOVE 300 FROM a; MOVE 300 FROM b; " * 25
        + "COMMIT"
    )
    server.query(BEGIN.format(path), trailing, END)
    trace = open_trace(path)
    assert trace.recorded is not None and trace.recorded.scans == 512
    chunk = whole(trace)
    check_reads(chunk)
    count, size = column(chunk, "count", 0), column(chunk, "size", 0)
    one, two = (row for row in of_kind(chunk, Kind.SCAN_BEGIN) if count[row] == 0)
    assert size[one] == size[two] != 0
    scan = column(chunk, "scan", 0)
    marks = [
        [(int(chunk.page[row]), int(count[row])) for row in advances if scan[row] == scan[begun]]
        for begun in (one, two)
        for advances in [of_kind(chunk, Kind.SCAN_ADVANCE)]
    ]
    assert marks[0] == marks[1]
    assert len(marks[0]) > 200 and all(offset > 0 for _, offset in marks[0])
    assert replayed(trace)[0] == hits_of(trace)
    assert misses(trace, "pbm") < misses(trace, "pbm:index_scans=off")


# ---- many at once ----


def check_choices(chunk: Chunk) -> Counter[str]:
    """Check that each choice has one end, and the page left before another came; count the ends."""
    kind, flags, backend = (column(chunk, name, 0) for name in ("kind", "flags", "backend"))
    hit, given_up = (flags & Flag.HIT) > 0, kind == Kind.GIVEN_UP
    chosen: dict[int, Kind] = {}
    ends: Counter[str] = Counter()
    of_interest = np.isin(kind, OF_CHOICES) | ((kind <= Kind.WRITE) & ~hit)
    for row in np.flatnonzero(of_interest).tolist():
        number = int(backend[row])
        if kind[row] == Kind.CHOSEN and flags[row] & Flag.IN_USE:
            assert number not in chosen
            ends["in use"] += 1
        elif kind[row] == Kind.CHOSEN:
            assert number not in chosen
            chosen[number] = Kind.CHOSEN
        elif kind[row] == Kind.LEFT:
            assert chosen[number] == Kind.CHOSEN
            chosen[number] = Kind.LEFT
        elif given_up[row]:
            freed = bool(flags[row] & Flag.FREED)
            assert chosen.pop(number) == (Kind.LEFT if freed else Kind.CHOSEN)
            ends["freed" if freed else "kept"] += 1
        elif number in chosen:
            assert chosen.pop(number) == Kind.LEFT
            ends["taken"] += 1
        else:
            ends["free"] += 1
    assert chosen == {}
    return ends


def test_clients(make: Make) -> None:
    """Concurrent scans that meet, parallel ones, and some that are cancelled."""
    server = make_filled(make, "pbm", max_parallel_workers_per_gather="2")
    path = server.directory / "a.rec"
    server.query(BEGIN.format(path))

    def client(number: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(10):
            low = int(rng.integers(0, 7000))
            server.query(f"{NO_INDEX}; SELECT count(pad) FROM t")
            server.query(
                f"{BITMAP}; SELECT count(pad) FROM t WHERE id BETWEEN {low} AND {low + 2500}"
            )
            server.query(
                "SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;"
                f" SET parallel_tuple_cost = 0; {NO_INDEX}; SELECT count(pad) FROM t"
            )
            for end in ("SELECT 1 / 0", "SELECT pg_terminate_backend(pg_backend_pid())"):
                with pytest.raises(TidepoolError):
                    server.query(
                        f"BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE {low} FROM c; {end}"
                    )

    threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.query(END)
    trace = open_trace(path)
    chunk = whole(trace)
    check_ends(chunk)
    ends = check_choices(chunk)
    assert ends["taken"] > 10 * FRAMES and ends["freed"] > 0
    # what was freed is taken without a choice
    assert ends["free"] <= FRAMES + ends["freed"]
    flags = column(chunk, "flags", 0)[of_kind(chunk, Kind.SCAN_BEGIN)]
    assert np.count_nonzero(flags & Flag.COMPANION) > 0
    hits = hits_of(trace)
    assert abs(replayed(trace)[0] - hits) <= TOLERANCE * hits
