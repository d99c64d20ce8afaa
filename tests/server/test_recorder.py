"""Recordings of a live server: what is in them, who may make them, how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from server.conftest import Make
from server.load import CHECKPOINTER, wait_for, wait_for_restart
from server.recordings import records
from server.test_pool import PAGES, fill, violations
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.traces import Chunk, Flag, Kind, Recorded, Trace, open_trace, write_trace
from tidepool.traces.columns import OF_CHOICES, column, join, references


def path_of(server: Instance, name: str = "a.rec") -> Path:
    return server.directory / name


def start(server: Instance, *, rate: float = 1.0, name: str = "a.rec", size: str = "") -> str:
    given = f", max_size => '{size}'" if size else ""
    return f"SELECT pg_bufferpool_trace_start('{path_of(server, name)}', {rate}{given});"


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
    assert 0 < time_[-1] - time_[0] < 60e6


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
    others = np.isin(kind, (Kind.PHYSICAL_READ, Kind.PHYSICAL_WRITE, *OF_CHOICES))
    of_page = kind[(chunk.page == number << 34) & ~others].tolist()
    assert of_page == [Kind.READ, Kind.PINNED, Kind.UNPINNED]  # of hundreds that met it
    pinned = set(chunk.page[kind == Kind.PINNED].tolist())
    assert pinned == set(chunk.page[kind == Kind.UNPINNED].tolist())


def test_which_process_it_was(make: Make) -> None:
    """The first record of each says so, and how many had its number before."""
    server = make("random", max_connections="10")
    fill(server)
    server.query(start(server))
    for id_ in range(30):
        server.query(f"SELECT pad FROM t WHERE id = {1 + id_}")
    server.query(STOP)
    chunk = whole(open_trace(path_of(server)))
    kind, backend, count = (column(chunk, name, 0) for name in ("kind", "backend", "count"))
    last: dict[int, int] = {}
    for row in np.flatnonzero(kind == Kind.PROCESS).tolist():
        number = int(backend[row])
        if number in last:
            assert count[row] == last[number] + 1
        last[number] = int(count[row])
    assert 0 < len(last) < (kind == Kind.PROCESS).sum() >= 30
    assert set(last) == set(backend.tolist())
    for number in last:
        assert kind[int((backend == number).argmax())] == Kind.PROCESS


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
        chunk = whole(trace)
        page = chunk.page[references(chunk)]
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
    assert len(chunk) == int(written)
    assert path_of(server).stat().st_size == int(size)
    assert dropped == "0"
    backends, counts = np.unique(column(chunk, "backend", 0), return_counts=True)
    assert sum(counts > 2000 * 3) == 4
    assert len(backends) >= 5


def test_a_full_ring_drops_and_counts(make: Make) -> None:
    server = make("lru", shared_buffers="16MB", bufferpool__trace_buffers="1")
    fill(server)
    record_scans = start(server) + "SELECT count(pad) FROM t;" * 20 + STOP
    out = server.query(record_scans)
    written, dropped = map(int, server.query(STATE.format("written, dropped")).split("|"))
    assert dropped > 0 and written + dropped > 0
    trace = open_trace(path_of(server))
    assert len(records(path_of(server))) == written
    assert written + dropped >= 20 * PAGES
    assert f"WARNING:  {dropped} events are missing from the recording" in out
    assert 'HINT:  Set "bufferpool.trace_buffers", which is 1, to a larger value' in out
    assert trace.recorded is not None and trace.recorded.dropped == dropped


def test_what_the_server_ran_is_in_the_file(make: Make) -> None:
    server = make("arc", shared_buffers="2MB", bufferpool__batch_threshold="16")
    out = server.query(start(server, rate=0.5), "SELECT version()", STOP)
    assert "WARNING" not in out
    version = out.split()[1]
    trace = open_trace(path_of(server))
    assert trace.page_size == 8192
    assert trace.recorded is not None and trace.recorded.read_times is not None
    measured = trace.recorded.read_times
    assert trace.recorded == Recorded(
        version, "arc", "", 1, 256, 64, 16, 0.5, dropped=0, scans=16, read_times=measured
    )
    assert measured.ssd.pages == 0  # it has none


# ---- who may, and where ----


def test_how_long_reads_took_is_in_the_file(make: Make) -> None:
    server = make("arc")
    fill(server)
    for timing in ("off", "on"):
        name = f"{timing}.rec"
        server.query(
            f"ALTER SYSTEM SET track_io_timing = {timing}",
            "SELECT pg_reload_conf(), pg_bufferpool_reset()",
            "SELECT pg_sleep(0.2)",
        )
        server.query(start(server, name=name))
        server.query("SELECT count(pad) FROM t")
        server.query("SELECT pg_stat_force_next_flush()", STOP)
        trace = open_trace(path_of(server, name))
        assert trace.recorded is not None
        if timing == "off":
            assert (trace.recorded.reads, trace.recorded.read_time) == (None, None)
            continue
        assert trace.recorded.reads is not None and trace.recorded.reads >= PAGES
        assert trace.recorded.read_time is not None
        assert 0.1 < trace.recorded.read_time / trace.recorded.reads < 1e5


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
    for user in ("watcher", "writer"):
        assert server.query(STATE.format("path"), user=user) == str(path_of(server))
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
    for size, message in (("63kB", "must be at least 64 kB"), ("-1GB", "at least"), ("x", "x")):
        with pytest.raises(TidepoolError, match=message):
            server.query(start(server, size=size))
    with pytest.raises(TidepoolError, match="path and sample rate must not be null"):
        server.query("SELECT pg_bufferpool_trace_start(NULL)")
    assert not path_of(server).exists()
    assert server.query(STATE.format("*")) == ""


def test_one_at_a_time(make: Make) -> None:
    server = make()
    with pytest.raises(TidepoolError, match="no recording is in progress"):
        server.query(STOP)
    server.query(start(server))
    with pytest.raises(TidepoolError, match="a recording is already in progress"):
        server.query(start(server, name="b.rec"))
    assert not path_of(server, "b.rec").exists()
    server.query(STOP)
    server.query(start(server, name="b.rec") + STOP)


def test_without_memory_or_workers(make: Make) -> None:
    server = make(bufferpool__trace_buffers="0")
    with pytest.raises(TidepoolError, match="no memory is reserved for recordings"):
        server.query(start(server))
    server = make(max_worker_processes="0")
    with pytest.raises(TidepoolError, match="no background worker is free to record"):
        server.query(start(server))
    assert not path_of(server).exists()
    with pytest.raises(TidepoolError, match="no background worker is free to record"):
        server.query(start(server))


@pytest.mark.parametrize("shared_buffers", ["16MB", "128MB"])
def test_memory_that_is_taken_unasked(make: Make, shared_buffers: str) -> None:
    server = make(
        shared_buffers=shared_buffers, max_connections="20", bufferpool__trace_buffers="-1"
    )
    events = int(server.query("SHOW bufferpool.trace_buffers"))
    assert events >= 64 and events & (events - 1) == 0
    taken, of_events, share = map(
        int,
        server.query(
            "SELECT sum(size), sum(size) FILTER (WHERE name ~ 'Events'),"
            " pg_size_bytes(current_setting('shared_buffers')) / 64"
            " FROM pg_shmem_allocations WHERE name ~ '^Buffer Pool Recorder'"
        ).split("|"),
    )
    assert share - of_events - 200 < taken <= share
    assert of_events % (32 * events) == 0
    server.query("SELECT pg_reload_conf()")
    server.query(start(server), STOP)
    assert server.query("SHOW bufferpool.trace_buffers") == str(events)
    assert "cannot be changed" not in server.log.read_text()


def test_memory_that_is_too_little(make: Make) -> None:
    for settings in ({}, {"shared_buffers": "128MB", "max_connections": "1000"}):
        server = make(bufferpool__trace_buffers="-1", **settings)
        assert server.query("SHOW bufferpool.trace_buffers") == "0"
        with pytest.raises(TidepoolError) as error:
            server.query(start(server))
        assert re.search(
            "no memory is reserved for recordings\n"
            'DETAIL:  "bufferpool.trace_buffers" is 0, because its share of "shared_buffers" would'
            " hold fewer than 64 events for each of \\d+ processes.\n"
            'HINT:  Set "bufferpool.trace_buffers" to 4096, which takes \\d+ MB',
            str(error.value),
        )
        assert server.query("SELECT count(*) FROM pg_stat_bufferpool_trace") == "0"
        server.stop()


def test_memory_that_is_asked_for(make: Make) -> None:
    server = make(bufferpool__trace_buffers="5000")
    assert server.query("SHOW bufferpool.trace_buffers") == "8192"
    server.query("SELECT pg_reload_conf()")
    server.query(start(server), STOP)
    assert "cannot be changed" not in server.log.read_text()


def test_the_recorder_is_seen(make: Make) -> None:
    server = make()
    server.query(start(server))
    asked = "application_name, query, wait_event_type, wait_event, pid, datname IS NULL"
    of_recorder = (
        f"SELECT {asked} FROM pg_stat_activity WHERE backend_type = 'buffer reference recorder'"
    )
    wait_for(
        "the recorder waits for references",
        lambda: "|Extension|BufferPoolRecorderMain|" in server.query(of_recorder),
    )
    name, query, _, _, pid, no_database = server.query(of_recorder).split("|")
    assert name == "pg_bufferpool"
    assert query == f'recording buffer references in file "{path_of(server)}"'
    assert no_database == "t"
    assert pid == server.query(STATE.format("pid"))
    # there is no query to cancel, and a database can be dropped
    assert server.query(f"SELECT pg_cancel_backend({pid})") == "t"
    server.query("CREATE DATABASE other", "DROP DATABASE other")
    assert server.query(STATE.format("pid")) == pid
    server.query(STOP)
    assert server.query(of_recorder) == ""


# ---- how it ends ----


def ended(server: Instance) -> str:
    """Wait for a recording that fails; return why."""
    wait_for("the recording has ended", lambda: server.query(STATE.format("pid")) == "")
    return server.query(STATE.format("error"))


def size_at_rest(path: Path) -> int:
    """The size of a file, once nobody has written to it for a moment."""
    before = -1
    while (size := path.stat().st_size) != before:
        before = size
        time.sleep(0.2)
    return size


def test_a_full_disk_ends_the_recording_only(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    server.query(start(server))
    pid = server.query(STATE.format("pid"))
    server.query("SELECT count(pad) FROM t")
    size = size_at_rest(path_of(server))
    # not a whole number of records, and no room for the end
    limit = server.run("prlimit", "--pid", pid, f"--fsize={size + 5}")
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
    assert len(records(path_of(server))) == written > 0
    assert trace.recorded is not None and trace.recorded.dropped == 0
    assert "could not write to file" in str(trace.recorded.error)
    assert size - 1000 < path_of(server).stat().st_size <= size + 5
    assert path_of(server).stat().st_size == int(server.query(STATE.format("bytes")))
    server.query(start(server, name="b.rec") + STOP)
    assert server.query(STATE.format("error IS NULL")) == "t"
    assert violations(server) == ""


def test_a_file_that_has_become_large_ends_the_recording(make: Make) -> None:
    server = make("lru", shared_buffers="16MB")
    fill(server)
    server.query(start(server, size="64kB"))
    assert server.query(STATE.format("max_size")) == "65536"
    for _ in range(5):
        server.query("SELECT count(pad) FROM t")
    message = f'file "{path_of(server)}" has reached its maximum size of 65536 bytes'
    assert ended(server) == message
    assert f"recording of buffer references has ended: {message}" in server.log.read_text()
    with pytest.raises(TidepoolError, match="The last one has ended: file"):
        server.query(STOP)
    size = path_of(server).stat().st_size
    assert 40_000 < size <= 65536
    assert server.query(STATE.format("bytes")) == str(size)
    trace = open_trace(path_of(server))
    assert len(records(path_of(server))) == int(server.query(STATE.format("written")))
    assert trace.recorded is not None and trace.recorded.error == message


def test_names_that_would_make_the_file_too_large(make: Make) -> None:
    server = make()
    server.query(
        "DO $$ BEGIN FOR i IN 1..700 LOOP EXECUTE"
        " format('CREATE TABLE %I ()', repeat('x', 58) || i); END LOOP; END $$"
    )
    out = server.query(start(server, size="64kB"), STOP)
    assert "WARNING:  the recording does not contain the names of relations" in out
    trace = open_trace(path_of(server))
    assert trace.recorded is not None and trace.recorded.dropped == 0
    assert trace.relations == {}
    server.query(start(server, name="b.rec", size="1MB"), "SELECT count(*) FROM pg_class", STOP)
    assert "pg_class" in open_trace(path_of(server, "b.rec")).relations.values()


def test_half_of_what_is_free_is_the_most(make: Make) -> None:
    server = make()
    server.query(start(server))
    disk = os.statvfs(server.directory)
    free = disk.f_bavail * disk.f_frsize
    assert free * 0.4 < int(server.query(STATE.format("max_size"))) < free * 0.6
    server.query(STOP)


def test_nothing_but_the_new_file_is_written(make: Make) -> None:
    """Whatever becomes of its name while it is recorded."""
    server = make()
    precious = server.directory / "precious"
    precious.write_text("precious")
    precious.chmod(0o666)
    for signaled in (False, True):
        server.query(start(server), "SELECT count(*) FROM pg_class")
        path_of(server).unlink()
        path_of(server).symlink_to(precious)
        if signaled:
            server.query(f"SELECT pg_terminate_backend(({STATE.format('pid')}))")
            ended(server)
        else:
            server.query(STOP)
        assert precious.read_text() == "precious"
        path_of(server).unlink()


# Takes pg_class from whoever waits for the advisory lock, and lets go of that one.
TAKE_PG_CLASS = (
    "SELECT pg_advisory_lock(1)",
    "DO $$ BEGIN"
    " WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
    " LOOP PERFORM pg_sleep(0.01); END LOOP; END $$",
    "BEGIN",
    "LOCK pg_class IN ACCESS EXCLUSIVE MODE",
    "SELECT pg_advisory_unlock(1)",
    "SELECT pg_sleep(1)",
)


def test_a_stop_that_is_canceled(make: Make) -> None:
    """The recording is over, without names."""
    server = make()
    server.query(start(server), "SELECT count(*) FROM pg_class")
    psql = f"{server.bin}/psql -h {server.directory} -U postgres -At".split()
    commands = [word for query in TAKE_PG_CLASS for word in ("-c", query)]
    with subprocess.Popen([*psql, *commands], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()  # it has the advisory lock
        with pytest.raises(TidepoolError, match="canceling statement due to statement timeout"):
            server.query("SELECT pg_advisory_lock(1)", "SET statement_timeout = '100ms'", STOP)
    assert ended(server) == ""
    trace = open_trace(path_of(server))
    assert len(whole(trace)) > 0 and trace.relations == {}
    assert trace.recorded is not None and trace.recorded.dropped == 0
    server.query(start(server, name="b.rec") + STOP)


def test_a_terminated_recorder(make: Make) -> None:
    server = make()
    server.query(start(server))
    os.kill(int(server.query(STATE.format("pid"))), signal.SIGTERM)
    assert ended(server) == "the recorder was terminated"
    trace = open_trace(path_of(server))
    assert len(whole(trace)) > 0
    assert trace.recorded is not None
    assert (trace.recorded.dropped, trace.recorded.error) == (0, "the recorder was terminated")
    server.query(start(server, name="b.rec") + STOP)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_stops(make: Make, mode: str) -> None:
    server = make()
    fill(server)
    server.query(start(server))
    server.query("SELECT count(pad) FROM t")
    time.sleep(0.2)
    server.stop(mode)
    trace = open_trace(path_of(server))
    assert len(whole(trace)) > PAGES
    assert trace.recorded is not None
    assert trace.recorded.dropped == (0 if mode == "fast" else None)
    server.start()
    assert server.query(STATE.format("*")) == ""
    server.query(start(server, name="b.rec") + STOP)


def test_the_server_crashes(make: Make) -> None:
    server = make()
    fill(server)
    server.query(start(server))
    server.query("SELECT count(pad) FROM t")
    time.sleep(0.2)
    checkpointer = server.query(CHECKPOINTER)
    os.kill(int(server.query(STATE.format("pid"))), signal.SIGKILL)
    wait_for_restart(server, checkpointer)
    server.query(start(server, name="b.rec") + STOP)
    assert len(whole(open_trace(path_of(server)))) > PAGES
