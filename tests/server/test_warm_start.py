"""Warm starts: the pages, their order and what the algorithm knew come back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from server.conftest import Make
from server.load import kill_server, wait_for
from server.machine import Machine
from server.pools import create, fill, violations
from server.sessions import Session
from server.warm import (
    FILE,
    GHOST,
    HEADER,
    HEADER_FIELDS,
    POOL,
    Page,
    contents,
    counted,
    file,
    is_complete,
    parse,
    restarted,
    stat,
    wait_until_warm,
    warm_server,
    warmed,
    with_checksums,
)
from tidepool.server import Instance, server_algorithms

Damage = Callable[[Path], None]


# ---- what comes back ----


def test_clean_restart(make: Make) -> None:
    server = warmed(make)
    before = contents(server)
    assert len(before) > 500
    server.stop()
    assert file(server).stat().st_mode & 0o777 == 0o600
    restarted(server)
    assert contents(server) >= before
    counts = counted(server)
    assert is_complete(counts)
    assert counts["read"] + counts["present"] == counts["wanted"]
    assert "warm start: read" in server.log.read_text()
    reads = int(
        server.query("SELECT sum(blks_read) FROM pg_stat_database WHERE datname='postgres'")
    )
    server.query("SELECT count(pad) FROM t")
    server.query("SELECT pg_stat_force_next_flush()")
    again = int(
        server.query("SELECT sum(blks_read) FROM pg_stat_database WHERE datname='postgres'")
    )
    assert again - reads < 10  # of catalogs


@pytest.mark.parametrize("algorithm", ["clock", "lru", "pbm"])
def test_reads_on_the_way(make: Make, algorithm: str) -> None:
    """Pages near each other are read together; those between them do not stay."""
    server = warm_server(make, algorithm, shared_buffers="64MB")  # for pins of 16 pages
    fill(server, "t", 2500)
    server.query("CHECKPOINT", "SELECT pg_bufferpool_reset()")
    lookups = [f"SELECT pad FROM t WHERE id = {i}" for i in range(1, 2000, 4)]
    server.query("SET enable_seqscan = off", *lookups)
    before = contents(server)
    server.stop()
    restarted(server)
    assert contents(server) >= before
    relation = server.query("SELECT pg_relation_filenode('t')")
    of_table = {page for page in contents(server) if page.split("|")[1:3] == [relation, "0"]}
    assert of_table <= before
    assert len(of_table) == len(lookups)
    operations, read = map(
        int,
        server.query(
            "SELECT sum(reads), trunc(sum(read_bytes) / 8192) FROM pg_stat_io"
            " WHERE backend_type = 'background worker'"
        ).split("|"),
    )
    assert read > 3 * len(lookups)
    assert operations < read / 5


def test_what_comes_first(make: Make) -> None:
    """The pages of a region that has many; all of them, since some are hot."""
    server = warm_server(
        make,
        "lru",
        bufferpool__warm_workers="1",
        bufferpool__warm_rate="1MB",
        shared_buffers="64MB",
    )
    fill(server, "t", 2500)
    relation = server.query("SELECT pg_relation_filenode('t')")
    server.query("CHECKPOINT", "SELECT pg_bufferpool_reset()")
    cold, alone, hot = range(1281, 1537, 2), range(1, 1024, 12), range(1282, 1537, 2)
    lookups = [f"SELECT pad FROM t WHERE id = {i}" for ids in (cold, alone, hot) for i in ids]
    server.query("SET enable_seqscan = off", *lookups)
    server.stop()
    server.start()
    shares: set[tuple[int, int]] = set()

    def look() -> bool:
        is_done = stat(server, "phase") == "done"
        blocks = [
            int(page.split("|")[3])
            for page in contents(server)
            if page.split("|")[1:3] == [relation, "0"]
        ]
        shares.add((sum(block >= 1280 for block in blocks), sum(block < 1024 for block in blocks)))
        return is_done

    wait_for("the warm start is done", look)
    assert max(shares) == (len(cold) + len(hot), len(alone))
    assert any(many > 0 for many, _ in shares if many < len(cold) + len(hot))  # it has looked
    assert all(many == len(cold) + len(hot) for many, few in shares if few > 0)


def name(page: Page) -> tuple[int, int, int]:
    return page.file, page.fork, page.block


def order(
    pages: list[Page], of_list: int, without: set[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """A list's pages of user tables from its head."""
    on = [page for page in pages if page.list == of_list and page.file >= 16384]
    on.sort(key=lambda page: page.position)
    return [name(page) for page in on if name(page) not in without]


@pytest.mark.parametrize("algorithm", ["lru", "arc", "car", "lirs", "rcrd", "osic"])
def test_algorithm_goes_on(make: Make, algorithm: str) -> None:
    """Order on the lists, counts, and ghosts are what they were."""
    server = warmed(make, algorithm, table=1500)
    server.query("SELECT sum(length(pad)) FROM t WHERE id % 7 = 0", "CHECKPOINT")
    server.query("SELECT pg_bufferpool_save_warm()")
    _, pools = parse(file(server).read_bytes())
    saved = next(pool for pool in pools if pool.name == "DEFAULT")
    assert (
        saved.algorithm == algorithm
        if algorithm != "rcrd"
        else saved.algorithm in ("rcrd", "lirs2")
    )
    server.stop("immediate")
    restarted(server)
    server.query("SELECT pg_bufferpool_save_warm()")
    _, pools = parse(file(server).read_bytes())
    again = next(pool for pool in pools if pool.name == "DEFAULT")

    # with its bit set, a page at the tail of a clock moves when the first miss finds it there
    marked = {name(page) for page in saved.pages if algorithm == "car" and page.count > 0}
    everywhere = {name(page) for page in again.pages}
    for of_list in {page.list for page in saved.pages}:
        old = order(saved.pages, of_list, marked)
        new = order(again.pages, of_list, marked)
        if algorithm != "osic":  # a ring's order is that of the buffers
            assert [page for page in old if page in set(new)] == [
                page for page in new if page in set(old)
            ]
        # there was no room for the coldest; those that are there are on their list
        assert len(set(old) & set(new)) >= 0.9 * len(set(old) & everywhere)
    assert len({name(page) for page in saved.pages} & everywhere) > 0.9 * len(saved.pages)
    kept_ghosts = {ghost[0] for ghost in again.ghosts} & {ghost[0] for ghost in saved.ghosts}
    # how many fit depends on what else has come in since the start
    assert bool(kept_ghosts) == bool(saved.ghosts)


def add_ghosts(path: Path, count: int) -> None:
    """Let the only pool on a list remember as many more pages, which are none."""
    data = path.read_bytes()
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    fields = list(POOL.unpack_from(data, HEADER.size))
    assert header["pools"] == 1
    at = header["relations_at"]
    ghosts = b"".join(GHOST.pack(key * 0x9E3779B97F4A7C15 % 2**64, 0, 1, b"\0\0\0")
                      for key in range(1, count + 1))  # fmt: skip
    fields[-2] += count
    header["relations_at"] += len(ghosts)
    heads = HEADER.pack(*header.values()) + POOL.pack(*fields)
    path.write_bytes(with_checksums(heads + data[len(heads) : at] + ghosts + data[at:]))


def test_reset_while_ghosts_are_recalled(make: Make, machine: Machine) -> None:
    """They are of another life then."""
    server = warm_server(make, "arc")
    server.stop()
    add_ghosts(file(server), 100_000)
    machine.is_like(list_time=100_000)  # till the session begins
    server.start()
    resets = Session(
        server,
        "DO $$ BEGIN WHILE (SELECT phase FROM pg_stat_progress_bufferpool_warm) <> 'done' LOOP"
        " BEGIN PERFORM pg_bufferpool_reset(); EXCEPTION WHEN object_in_use THEN END;"
        " END LOOP; END $$",
    )
    assert resets.result() == ""
    wait_until_warm(server)
    assert violations(server) == []


def test_stock_replacement(make: Make) -> None:
    """Usage counts are the clock's order."""
    server = warmed(make, "clock")
    query = (
        "SELECT relblocknumber, usagecount FROM pg_bufferpool_buffers"
        " WHERE relfilenode = pg_relation_filenode('t') AND relforknumber = 0 ORDER BY 1"
    )
    before = server.query(query)
    server.stop()
    restarted(server)
    assert server.query(query) == before


@pytest.mark.parametrize("algorithm", server_algorithms())
def test_every_algorithm(make: Make, algorithm: str) -> None:
    """Another query beside it, and nothing is wrong with the algorithm's state."""
    server = warmed(make, algorithm, table=1500)
    server.stop()
    server.start()
    server.query("SELECT count(pad) FROM t WHERE id % 3 = 0")
    wait_until_warm(server)
    assert is_complete(counted(server))
    assert violations(server) == []
    server.query("SELECT count(pad) FROM t", "UPDATE t SET pad = 'x' WHERE id % 5 = 0")
    assert violations(server) == []


# ---- how it stopped ----


@pytest.mark.parametrize("how", ["killed", "immediate"])
def test_crash(make: Make, how: str) -> None:
    """The list of a moment before serves, after recovery."""
    server = warmed(make, bufferpool__warm_save_interval="1")
    before = contents(server)
    wait_for("a list is saved", lambda: int(stat(server, "saves")) >= 2)
    kill_server(server) if how == "killed" else server.stop("immediate")
    restarted(server)
    assert len(contents(server) & before) > 0.95 * len(before)


def test_crash_of_a_backend(make: Make) -> None:
    """The server begins anew by itself, and is warm again."""
    server = warmed(make)
    before = contents(server)
    server.query("SELECT pg_bufferpool_save_warm()")
    victim = Session(server, "SELECT pg_sleep(600)")
    pid = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    wait_for("a session sleeps", lambda: server.query(pid) != "")
    os.kill(int(server.query(pid)), 9)
    victim.result()
    wait_for("the server is back", lambda: answers_warm(server))
    assert len(contents(server) & before) > 0.95 * len(before)
    assert violations(server) == []


def answers_warm(server: Instance) -> bool:
    return (
        server.run(
            server.bin / "psql", "-XAtc", "SELECT phase FROM pg_stat_progress_bufferpool_warm"
        )
        .stdout.strip()
        .endswith("done")
    )


def test_list_of_a_server_that_has_just_started(make: Make) -> None:
    """Ended before it had read the list, it leaves the list alone."""
    server = warmed(make)
    server.stop()
    old = file(server).read_bytes()
    server.configure({"bufferpool.warm_rate": "8"})  # a page a second
    server.start()
    wait_for("pages are read", lambda: stat(server, "phase") == "reading pages")
    assert server.query("SELECT pg_bufferpool_save_warm() IS NULL") == "t"
    server.stop()
    assert file(server).read_bytes() == old
    assert not (server.data / f"{FILE}.tmp").exists()
    server.start()
    assert int(server.query("SELECT pg_bufferpool_save_warm(force => true)")) > 0
    assert file(server).read_bytes() != old


# ---- what has changed meanwhile ----


@pytest.mark.parametrize("buffers", ["2MB", "16MB"])
def test_another_size(make: Make, buffers: str) -> None:
    """Of a smaller server, the hottest pages."""
    server = warmed(make, "arc", table=900)
    before = contents(server)
    server.stop()
    server.configure({"shared_buffers": buffers})
    restarted(server)
    now = contents(server)
    if buffers == "16MB":
        assert now >= before
        return
    _, pools = parse(file(server).read_bytes())
    hottest = pools[0].pages[:150]
    t = int(server.query("SELECT pg_relation_filenode('t')"))
    there = {line.split("|", 1)[1] for line in now}
    hot = [f"{p.file}|{p.fork}|{p.block}" for p in hottest if p.file == t]
    assert sum(page in there for page in hot) > 0.8 * len(hot) > 0


def test_another_algorithm(make: Make) -> None:
    """The order alone is used: the hottest pages are evicted last."""
    server = warmed(make, "arc", table=500)
    before = contents(server)
    server.stop()
    server.configure({"bufferpool.algorithm": "lru"})
    restarted(server)
    assert contents(server) >= before
    t = server.query("SELECT pg_relation_filenode('t')")
    rank = (
        "SELECT avg(rank) FROM pg_bufferpool_lists()"
        f" WHERE relfilenode = {t} AND relforknumber = 0 AND relblocknumber BETWEEN"
    )
    assert float(server.query(f"{rank} 40 AND 78")) < float(server.query(f"{rank} 400 AND 480"))


def test_named_pools(make: Make) -> None:
    """Pages return to the pools that had them; those of a pool that is gone to DEFAULT."""
    server = warm_server(make, "lru")
    create(server, "hot", "lirs", "2MB")
    create(server, "gone", "arc", "1MB")
    fill(server, "in_hot", 150, ", buffer_pool = hot")
    fill(server, "in_gone", 60, ", buffer_pool = gone")
    fill(server, "elsewhere", 200)
    server.query(*(f"SELECT count(pad) FROM {t}" for t in ("in_hot", "in_gone", "elsewhere")))
    before = contents(server)
    server.stop()
    saved = file(server).read_bytes()
    restarted(server)
    assert contents(server) >= before
    server.query("DROP BUFFER POOL gone CASCADE")
    server.stop("immediate")
    file(server).write_bytes(saved)
    restarted(server)
    moved = {f"DEFAULT{line[4:]}" if line.startswith("gone") else line for line in before}
    assert len(contents(server) & moved) > 0.95 * len(moved)


def test_gone(make: Make) -> None:
    """Dropped, truncated and rewritten tables, and a dropped database."""
    server = warmed(make)
    server.query("CREATE DATABASE other")
    for name in ("dropped", "cut", "rewritten"):
        fill(server, name, 60)
    server.query("CREATE TABLE there (id int)", "INSERT INTO there SELECT generate_series(1, 9000)",
                 database="other")  # fmt: skip
    server.query("SELECT pg_bufferpool_save_warm()")
    saved = file(server).read_bytes()
    server.query("DROP TABLE dropped", "DELETE FROM cut WHERE id > 10", "VACUUM cut")
    server.query("VACUUM FULL rewritten")
    server.query("DROP DATABASE other")
    server.stop()
    file(server).write_bytes(saved)
    restarted(server)
    counts = counted(server)
    assert is_complete(counts)
    assert counts["gone"] > 100
    assert counts["left"] > 0  # of the database
    assert server.query("SELECT count(*) FROM cut") == "10"


def test_unlogged_and_temporary(make: Make) -> None:
    server = warmed(make, table=100)
    server.query("CREATE UNLOGGED TABLE u AS SELECT generate_series(1, 20000) i", "CHECKPOINT")
    server.query("SELECT count(*) FROM u")
    server.stop()
    restarted(server)
    assert any("|" in line for line in contents(server))
    server.query("UPDATE u SET i = i + 1", "CHECKPOINT")
    assert server.query("SELECT count(*) FROM u") == "20000"


def test_database_without_connections(make: Make) -> None:
    server = warmed(make, table=100)
    server.query("CREATE DATABASE closed")
    server.query("CREATE TABLE c AS SELECT generate_series(1, 9000) i", database="closed")
    server.query("ALTER DATABASE closed ALLOW_CONNECTIONS false")
    server.stop()
    restarted(server)
    counts = counted(server)
    assert is_complete(counts) and counts["left"] > 30
    assert "closed" not in server.log.read_text()


# ---- files that are of no use ----


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def with_header(path: Path, **changes: int) -> None:
    data = path.read_bytes()
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True)) | changes
    path.write_bytes(with_checksums(HEADER.pack(*header.values()) + data[HEADER.size :]))


def foreign(path: Path) -> None:
    with_header(path, system=12345)


def newer(path: Path) -> None:
    with_header(path, version=2)


def sizes_that_lie(path: Path) -> None:
    """With the right checksums."""
    data = bytearray(path.read_bytes())
    data[HEADER.size + 464 : HEADER.size + 468] = b"\xff\xff\xff\x7f"  # pages
    path.write_bytes(with_checksums(bytes(data)))


def relations_that_are_not_there(path: Path) -> None:
    data = bytearray(path.read_bytes())
    _, pools = parse(bytes(data))
    first = HEADER.size + 1112 * len(pools)
    data[first : first + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(with_checksums(bytes(data)))


def link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        flip,
        cut,
        empty,
        foreign,
        newer,
        sizes_that_lie,
        relations_that_are_not_there,
        link,
        directory,
    ],
)
def test_damaged_file(make: Make, damage: Damage) -> None:
    """A warning, and the server starts cold."""
    server = warmed(make, table=100)
    server.stop()
    damage(file(server))
    server.log.unlink()
    restarted(server)
    assert counted(server)["wanted"] == 0
    assert f'"{FILE}"' in server.log.read_text()
    if damage is not directory:
        assert int(server.query("SELECT pg_bufferpool_save_warm()")) > 0
        parse(file(server).read_bytes())


def test_golden_file(make: Make) -> None:
    """A file of version 1, as this server wrote it, is read as it was."""
    golden = Path(__file__).with_name("warm-1.golden").read_bytes()
    header, pools = parse(golden)
    assert header["version"] == 1
    assert [(pool.name, pool.algorithm, len(pool.pages), len(pool.ghosts)) for pool in pools] == [
        ("DEFAULT", "arc", 3, 1)
    ]
    page = pools[0].pages[0]
    assert (page.tablespace, page.database, page.file, page.fork, page.block) == (
        1663,
        5,
        16384,
        0,
        7,
    )
    assert (page.list, page.position, page.count, page.mark, page.permanent) == (2, 0, 1, 0, True)
    assert pools[0].ghosts == [(0x0123456789ABCDEF, 42, 2, b"\x01\x02\x03")]
    server = warm_server(make, "arc")
    server.stop()
    mine = parse(file(server).read_bytes())[0]["system"]
    path = file(server)
    path.write_bytes(golden)
    with_header(path, system=int(str(mine)))
    restarted(server)
    assert counted(server) == {
        "wanted": 3, "read": 0, "present": 0, "gone": 3, "no_room": 0, "left": 0,
    }  # fmt: skip
    assert stat(server, "ghosts_recalled") == "1"


def test_full_disk(make: Make) -> None:
    """The old list survives, and the next save that succeeds takes its place."""
    server = warmed(make)
    server.query("SELECT pg_bufferpool_save_warm()")
    old = file(server).read_bytes()
    pid = stat(server, "pid")
    server.run("prlimit", "--pid", pid, "--fsize=8192:").check_returncode()
    server.query("ALTER SYSTEM SET bufferpool.warm_save_interval = 1", "SELECT pg_reload_conf()")
    wait_for("saving fails", lambda: int(stat(server, "failed_saves")) > 0)
    assert stat(server, "pid") == pid
    assert file(server).read_bytes() == old
    server.run("prlimit", "--pid", pid, "--fsize=unlimited:").check_returncode()
    wait_for("a list is saved", lambda: file(server).read_bytes() != old)
    parse(file(server).read_bytes())
