"""The background writer: what evictions meet is clean, whatever chooses the victims."""

from __future__ import annotations

from time import sleep

import pytest

from server.conftest import Make
from server.counters import stat
from server.load import wait_for
from tidepool.server import Instance

ROWS = 10_000
PER_PAGE = 8
READ = f"\\set id random(1, {ROWS})\nSELECT n FROM t WHERE id = :id;\n"
UPDATE = f"\\set id random(1, {ROWS})\nUPDATE t SET n = n + 1 WHERE id = :id;\n"
# updates a second; so few that the pool lasts for seconds, however late a round may be
RATE = 150
SECONDS = 3

# one of each kind: a list from its tail, lists that take turns, with reference
# counts, rings with a hand and with many, a queue with a hand, draws known in
# advance, block groups, sweeps for the coldest; and where the clock has to choose
KINDS = [
    *("lru", "arc", "s3fifo", "recycle", "osic", "sieve", "lean_evict", "pbm_pq"),
    *("pbm", "random"),
    "keep",
]
SWEEPS = ("pbm", "random")
# those that evict a page soon after it came in: rounds must be as soon
FAST = ["lirs", "w_tinylfu"]
LOOKS_PER_HOLD, LOOKS_PER_VICTIM, LEAST_VICTIMS = 64, 16, 64  # of cleaner.c


def fill(server: Instance) -> None:
    """A table of 1,250 pages and an index of 30, for 512 buffers; updates stay in their page."""
    server.query("CREATE TABLE t (id int, n int, pad text) WITH (fillfactor = 90)")
    server.query(f"INSERT INTO t SELECT i, 0, repeat('x', 800) FROM generate_series(1, {ROWS}) i")
    server.query("CREATE UNIQUE INDEX ON t (id)")
    server.query("VACUUM ANALYZE t")


def bench(server: Instance, text: str, *how_much: str) -> None:
    script = server.directory / "script.sql"
    script.write_text(text)
    run = server.run(server.bin / "pgbench", "-n", "-c", "2", *how_much, "-f", script)
    assert run.returncode == 0, run.stdout


def dirty_share(server: Instance, lru_maxpages: int) -> float:
    """Which part of the pages evicted by updates had to be written first."""
    server.query(f"ALTER SYSTEM SET bgwriter_lru_maxpages = {lru_maxpages}")
    server.query("SELECT pg_reload_conf()")
    before = stat(server, "evictions", "dirty_evictions")
    bench(server, UPDATE, "-R", str(RATE), "-T", str(SECONDS))
    after = stat(server, "evictions", "dirty_evictions")
    evictions, dirty = (late - early for early, late in zip(before, after, strict=True))
    assert evictions > RATE * SECONDS / 4
    return dirty / evictions


@pytest.mark.parametrize(
    ("algorithm", "delay"),
    [(kind, "10ms") for kind in KINDS] + [(fast, "200ms") for fast in FAST],
)
def test_evictions_meet_clean_pages(make: Make, algorithm: str, delay: str) -> None:
    server = make(
        algorithm,
        shared_buffers="4MB",
        synchronous_commit="off",
        bgwriter_delay=delay,
        bgwriter_lru_maxpages="0",
        checkpoint_timeout="1h",
    )
    fill(server)
    bench(server, UPDATE, "-t", "700")  # what the pool has is dirty now
    alone = dirty_share(server, 0)
    cleaned = stat(server, "cleaned")[0]
    helped = dirty_share(server, 1000)
    assert stat(server, "cleaned")[0] > cleaned
    assert alone > 0.5
    assert helped < alone / 2
    without_lock = algorithm in (*SWEEPS, "lean_evict", "keep")
    longest = stat(server, "cleaner_longest_hold")[0]
    assert longest == 0 if without_lock else 0 < longest <= LOOKS_PER_HOLD
    assert server.query("SELECT * FROM pg_bufferpool_check()") == ""


@pytest.mark.parametrize("algorithm", ["lru", "pbm"])
def test_where_nobody_writes_it_looks_at_little(make: Make, algorithm: str) -> None:
    server = make(algorithm, shared_buffers="4MB", bgwriter_delay="200ms")
    fill(server)
    server.query("CHECKPOINT")
    bench(server, READ, "-t", "2000")  # it learns so
    before = stat(server, "evictions", "cleaner_looks", "cleaner_rounds", "dirty_evictions")
    bench(server, READ, "-t", "20000")
    after = stat(server, "evictions", "cleaner_looks", "cleaner_rounds", "dirty_evictions")
    evictions, looks, rounds, dirty = (
        late - early for early, late in zip(before, after, strict=True)
    )
    assert dirty < evictions / 1000  # of the catalogs
    # each round looks for some victims all the same
    assert looks < evictions / 4 + rounds * 32 * LOOKS_PER_VICTIM


@pytest.mark.parametrize("algorithm", ["lru", "pbm"])
def test_a_round_does_not_go_by_the_size_of_the_pool(make: Make, algorithm: str) -> None:
    server = make(algorithm, shared_buffers="256MB", bgwriter_delay="10ms")
    fill(server)

    def looks_in_a_round() -> float:
        server.query("SELECT pg_stat_reset_bufferpools()")
        rounds = looks = 0
        while rounds < 3:
            sleep(0.1)
            rounds, looks = stat(server, "cleaner_rounds", "cleaner_looks")
        assert looks > 0
        return looks / rounds

    # the buffers that went to the table are expected to go to others for a while
    wait_for(
        "the background writer looks at few buffers",
        lambda: looks_in_a_round() <= LEAST_VICTIMS * LOOKS_PER_VICTIM + LOOKS_PER_HOLD,
        seconds=30,
    )
