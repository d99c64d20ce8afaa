"""Recordings of a live server: what is in them, who may make them, how they end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from server.conftest import Make
from server.test_pool import PAGES, fill, violations
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.traces import Chunk, Flag, Kind, Trace, open_trace, write_trace
from tidepool.traces.columns import column, join


def path_of(server: Instance, name: str = "a.rec") -> Path:
    return server.directory / name


def start(server: Instance, *, rate: float = 1.0, name: str = "a.rec") -> str:
    return f"SELECT pg_bufferpool_trace_start('{path_of(server, name)}', {rate});"


STOP = "SELECT pg_bufferpool_trace_stop();"
STATE = "SELECT {} FROM pg_stat_bufferpool_trace"


def whole(trace: Trace) -> Chunk:
    return join(list(trace.chunks()), 0)


# ---- what is in them ----


def test_what_is_recorded_of_a_reference(make: Make, tmp_path: Path) -> None:
    server = make("clock")  # under which nobody else notes hits
    fill(server)
    server.query(
        start(server)
        + "CREATE TABLE u (pad text) WITH (autovacuum_enabled = off);"
        + "INSERT INTO u SELECT repeat('x', 900) FROM generate_series(1, 80);"
        + "SELECT count(pad) FROM t;"
    )
    server.query("VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t")
    server.query(STOP)
    write_trace(open_trace(path_of(server)), tmp_path / "t.parquet")
    trace = open_trace(tmp_path / "t.parquet")
    numbers = {name: number for number, name in trace.relations.items()}
    chunk = whole(trace)
    relation, fork = chunk.page >> 34, chunk.page >> 32 & 3
    kind, flags, time_ = (column(chunk, name, 0) for name in ("kind", "flags", "time"))
    new = (relation == numbers["public.u"]) & (fork == 0) & (kind == Kind.WRITE)
    assert sorted((chunk.page[new] & 0xFFFFFFFF).tolist()) == list(range(10))
    assert not (flags[new] & Flag.HIT).any()
    of_t = (relation == numbers["public.t"]) & (fork == 0)
    assert len(set(chunk.page[of_t & ((flags & Flag.SEQUENTIAL) != 0)].tolist())) == PAGES
    assert len(set(chunk.page[of_t & ((flags & Flag.VACUUM) != 0)].tolist())) == PAGES
    assert len(set(column(chunk, "backend", 0).tolist())) >= 2
    assert 0 < time_[-1] < 60e6


def test_pages_that_cease_to_exist(make: Make) -> None:
    server = make("lru")
    fill(server)
    server.query("CREATE TABLE gone AS SELECT 1 AS id")
    server.query(start(server) + "SELECT count(*) FROM gone; SELECT count(*) FROM t")
    server.query("DELETE FROM t WHERE id > 10")
    server.query("VACUUM t")
    server.query("DROP TABLE gone")
    server.query(STOP)
    trace = open_trace(path_of(server))
    numbers = {name: number for number, name in trace.relations.items()}
    chunk = whole(trace)
    forgotten = chunk.page[column(chunk, "kind", 0) == Kind.FORGET]
    cut = [
        page & 0xFFFFFFFF for page in forgotten.tolist() if page >> 32 == numbers["public.t"] << 2
    ]
    assert len(cut) == 1 and 0 < cut[0] <= 10
    dropped = set((forgotten >> 34).tolist()) - set(numbers.values())
    assert len(dropped) == 1  # it has no name any more
    assert (forgotten >> 34 == dropped.pop()).sum() == 4  # forks


@pytest.mark.parametrize("algorithm", ["clock", "lru"])
def test_pages_that_searches_for_a_victim_meet_pinned(make: Make, algorithm: str) -> None:
    server = make(algorithm)
    fill(server)
    lookups = [f"SELECT count(pad) FROM t WHERE id = {id_}" for id_ in range(2, PAGES + 1)]
    server.query(
        "SET enable_bitmapscan = off",
        start(server),
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT pad FROM t WHERE id = 1",
        "FETCH c",  # its index page and its page stay pinned
        *lookups * 2,
        "COMMIT",
        *lookups,
        STOP,
    )
    trace = open_trace(path_of(server))
    number = next(n for n, name in trace.relations.items() if name == "public.t")
    chunk = whole(trace)
    kind = column(chunk, "kind", 0)
    of_page = kind[chunk.page == number << 34].tolist()
    assert of_page == [Kind.READ, Kind.PINNED, Kind.UNPINNED]  # of hundreds that met it
    pinned = set(chunk.page[kind == Kind.PINNED].tolist())
    assert pinned == set(chunk.page[kind == Kind.UNPINNED].tolist())


def test_sample_is_by_page(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    scan = "SET enable_indexscan = off;" + "SELECT count(pad) FROM t;" * 5
    server.query(start(server, rate=0.25) + scan + STOP)
    server.query(start(server, name="all.rec") + scan + STOP)
    some, every = (open_trace(path_of(server, name)) for name in ("a.rec", "all.rec"))
    chosen = {}
    for trace in (some, every):
        number = next(n for n, name in trace.relations.items() if name == "public.t")
        page = whole(trace).page
        chosen[trace] = (page[page >> 32 == number << 2] & 0xFFFFFFFF).tolist()
    assert PAGES * 0.15 < len(set(chosen[some])) < PAGES * 0.35
    of_chosen = [block for block in chosen[every] if block in set(chosen[some])]
    assert chosen[some] == of_chosen  # all references to the chosen pages


def test_many_at_once(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    server.query("SELECT pg_stat_reset_bufferpools();" + start(server))
    script = server.directory / "script.sql"
    script.write_text(f"\\set id random(1, {PAGES})\nSELECT count(pad) FROM t WHERE id = :id;\n")
    bench = server.run(server.bin / "pgbench", "-n", "-c", "4", "-t", "2000", "-f", script)
    assert bench.returncode == 0, bench.stdout
    server.query(STOP)
    written, dropped, size = server.query(STATE.format("written, dropped, bytes")).split("|")
    chunk = whole(open_trace(path_of(server)))
    assert len(chunk) == int(written) and int(size) == 32 * (len(chunk) + 1)
    assert dropped == "0"
    backends, counts = np.unique(column(chunk, "backend", 0), return_counts=True)
    assert sum(counts > 2000 * 3) == 4
    assert len(backends) >= 5


def test_a_full_ring_drops_and_counts(make: Make) -> None:
    server = make("lru", shared_buffers="16MB", bufferpool__trace_buffers="1")
    fill(server)
    record_scans = start(server) + "SELECT count(pad) FROM t;" * 20 + STOP
    server.query(record_scans)
    written, dropped = map(int, server.query(STATE.format("written, dropped")).split("|"))
    assert dropped > 0 and written + dropped > 0
    assert len(whole(open_trace(path_of(server)))) == written
    assert written + dropped >= 20 * PAGES


# ---- who may, and where ----


def test_who_may_record(make: Make) -> None:
    server = make()
    server.query(
        "CREATE ROLE writer LOGIN; CREATE ROLE watcher LOGIN; CREATE ROLE nosy LOGIN;"
        "GRANT pg_write_server_files TO writer; GRANT pg_monitor TO watcher"
    )
    denied = "permission denied to record buffer references"
    for user in ("watcher", "nosy"):
        with pytest.raises(TidepoolError, match=denied):
            server.query(start(server), user=user)
        with pytest.raises(TidepoolError, match=denied):
            server.query(STOP, user=user)
    assert not path_of(server).exists()
    server.query(start(server), user="writer")
    assert server.query(STATE.format("path"), user="watcher") == str(path_of(server))
    with pytest.raises(TidepoolError, match="permission denied"):
        server.query(STATE.format("path"), user="nosy")
    server.query(STOP, user="writer")


def test_paths_and_rates_that_cannot_be(make: Make) -> None:
    server = make()
    (server.directory / "there").write_text("precious")
    for path, message in (
        ("a.rec", 'path "a.rec" is not absolute'),
        (server.directory / "there", "File exists"),
        ("/dev/full", "File exists"),
        (server.directory / "no" / "a.rec", "No such file or directory"),
        ("/proc/a.rec", "could not create file"),
    ):
        with pytest.raises(TidepoolError, match=message):
            server.query(f"SELECT pg_bufferpool_trace_start('{path}')")
    assert (server.directory / "there").read_text() == "precious"
    for rate in ("0", "1.01", "-1", "'NaN'"):
        with pytest.raises(TidepoolError, match="sample rate must be above 0 and at most 1"):
            server.query(f"SELECT pg_bufferpool_trace_start('{path_of(server)}', {rate})")
    assert not path_of(server).exists()
    assert server.query(STATE.format("*")) == ""


def test_one_at_a_time(make: Make) -> None:
    server = make()
    with pytest.raises(TidepoolError, match="no recording is under way"):
        server.query(STOP)
    server.query(start(server))
    with pytest.raises(TidepoolError, match="a recording is under way"):
        server.query(start(server, name="b.rec"))
    assert not path_of(server, "b.rec").exists()
    server.query(STOP)
    server.query(start(server, name="b.rec") + STOP)


def test_without_memory_or_workers(make: Make) -> None:
    server = make(bufferpool__trace_buffers="0")
    with pytest.raises(TidepoolError, match="there is no memory to record in"):
        server.query(start(server))
    server = make(max_worker_processes="0")
    with pytest.raises(TidepoolError, match="no background worker is free to record"):
        server.query(start(server))
    assert not path_of(server).exists()
    with pytest.raises(TidepoolError, match="no background worker is free to record"):
        server.query(start(server))


# ---- how it ends ----


def ended(server: Instance) -> str:
    """Wait for a recording that fails; return why."""
    for _ in range(100):
        pid, error = server.query(STATE.format("pid, error")).split("|")
        if pid == "":
            return error
        time.sleep(0.1)
    raise AssertionError("the recording goes on")


def test_a_full_disk_ends_the_recording_only(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    server.query(start(server))
    pid = server.query(STATE.format("pid"))
    size = 32 * 1000 + 5  # not a whole number of records
    limit = server.run("prlimit", "--pid", pid, f"--fsize={size}")
    assert limit.returncode == 0, limit.stdout
    for _ in range(5):
        assert server.query("SELECT count(*) FROM t") == str(PAGES)
        server.query("SELECT count(pad) FROM t")
    assert "could not write to file" in ended(server)
    assert "recording of buffer references has ended: could not write" in server.log.read_text()
    assert "PANIC" not in server.log.read_text()
    with pytest.raises(TidepoolError, match="The last one has ended: could not write to file"):
        server.query(STOP)
    trace = open_trace(path_of(server))
    written = int(server.query(STATE.format("written")))
    assert trace.length == written > 0
    assert path_of(server).stat().st_size == 32 * (written + 1)
    server.query(start(server, name="b.rec") + STOP)
    assert server.query(STATE.format("error IS NULL")) == "t"
    assert violations(server) == ""


def test_names_that_cannot_be_written(make: Make) -> None:
    server = make()
    server.query(start(server))
    server.query("SELECT count(*) FROM pg_class")
    time.sleep(0.1)
    path_of(server).unlink()
    out = server.query(STOP)
    assert f'WARNING:  could not write relation names to file "{path_of(server)}"' in out
    server.query(start(server) + STOP)


def test_a_terminated_recorder(make: Make) -> None:
    server = make()
    server.query(start(server))
    os.kill(int(server.query(STATE.format("pid"))), signal.SIGTERM)
    assert ended(server) == "the recorder was terminated"
    assert len(whole(open_trace(path_of(server)))) > 0
    server.query(start(server, name="b.rec") + STOP)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_stops(make: Make, mode: str) -> None:
    server = make()
    fill(server)
    server.query(start(server))
    server.query("SELECT count(pad) FROM t")
    time.sleep(0.2)
    server.stop(mode)
    assert len(whole(open_trace(path_of(server)))) > PAGES
    server.start()
    assert server.query(STATE.format("*")) == ""
    server.query(start(server, name="b.rec") + STOP)


def test_the_server_crashes(make: Make) -> None:
    server = make()
    fill(server)
    server.query(start(server))
    server.query("SELECT count(pad) FROM t")
    time.sleep(0.2)
    os.kill(int(server.query(STATE.format("pid"))), signal.SIGKILL)
    for _ in range(100):
        time.sleep(0.1)
        try:
            server.query(start(server, name="b.rec") + STOP)
            break
        except TidepoolError:
            path_of(server, "b.rec").unlink(missing_ok=True)
    else:
        pytest.fail("the server did not come back")
    assert len(whole(open_trace(path_of(server)))) > PAGES
