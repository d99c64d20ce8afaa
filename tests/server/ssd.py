"""Servers with an SSD tier, for tests."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.load import wait_for
from tidepool.server import Instance

# as the SSD paper's devices: what has been measured here would be the system's cache
COSTS = {
    "bufferpool__ssd_read_time": "80",
    "bufferpool__disk_random_read_time": "12000",
    "bufferpool__disk_sequential_read_time": "160",
}
METHODS = ("sync", "worker", "io_uring")
ROWS = 20_000  # of table filled: 1,000 pages

Start = Callable[..., Instance]


def ssd_directory() -> Path:
    """A directory that the server's account can write to."""
    directory = Path(tempfile.mkdtemp(prefix="tidepool-ssd-", dir="/dev/shm"))
    directory.chmod(0o777)
    return directory


def with_tier(make: Callable[..., Instance], ssd: Path, pages: int, **settings: str) -> Instance:
    """A server with a tier on this SSD, which compares each page with the disk's."""
    given = {
        "bufferpool__ssd_path": str(ssd),
        "bufferpool__ssd_size": str(pages),
        "bufferpool__ssd_verify": "on",
        # so that no page is dropped, however busy the machine is
        "bufferpool__ssd_write_buffers": "4000",
        "io_method": "worker",
        **COSTS,
        **settings,
    }
    instance = make(**given)
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    return instance


def fill(instance: Instance, rows: int = ROWS) -> None:
    """Table filled: 20 rows a page, an index, and wide values in its TOAST table."""
    instance.query(
        "CREATE TABLE filled (id int PRIMARY KEY, text text, wide text);"
        "ALTER TABLE filled ALTER text SET STORAGE PLAIN, ALTER wide SET STORAGE EXTERNAL;"
        "INSERT INTO filled SELECT i, repeat(md5(i::text), 11),"
        "    CASE WHEN i % 200 = 0 THEN repeat(md5(i::text), 100) END"
        f"    FROM generate_series(1, {rows}) AS i",
        "VACUUM (FREEZE) filled",
        "CHECKPOINT",
    )


def stat(instance: Instance, *columns: str) -> Any:
    """Columns of pg_stat_ssd_tier: one value, or a tuple of them."""
    row = instance.query(f"SELECT {', '.join(columns)} FROM pg_stat_ssd_tier").split("|")
    values = tuple(int(value) if value.lstrip("-").isdigit() else value for value in row)
    return values[0] if len(values) == 1 else values


def settle(instance: Instance) -> None:
    """Wait until the writer has nothing to write.

    What came is then written, dropped or failed, as a rule; but a page can also be
    invalidated on its way, or the counters were reset.
    """
    before: tuple[int, ...] = ()
    same = 0

    def settled() -> bool:
        nonlocal before, same
        now = stat(instance, "admissions", "updates", "writes", "dropped", "failed")
        same = same + 1 if now == before else 0
        before = now
        time.sleep(0.15)
        return same >= (1 if sum(now[:2]) <= sum(now[2:]) else 5)

    wait_for("no page comes to the SSD", settled)


def read_all(instance: Instance) -> str:
    """Read the table, its index and its TOAST table; a digest of what they hold."""
    return instance.query(
        "SET max_parallel_workers_per_gather = 0;"
        "SELECT count(*), sum(id), sum(hashtextextended(text || coalesce(wide, ''), 0))"
        "    FROM filled;"
        "SET enable_seqscan = off; SELECT count(*) FROM filled WHERE id > 0"
    )


def check(instance: Instance) -> None:
    """The directory is sound and nothing went wrong."""
    assert instance.query("SELECT * FROM pg_ssd_tier_check()") == ""
    assert stat(instance, "status") == "on"
    assert stat(instance, "read_errors", "bad_pages", "write_errors") == (0, 0, 0)


def log(instance: Instance) -> str:
    """What the server has logged."""
    return instance.log.read_text()


def refused(instance: Instance, query: str, user: str = "postgres") -> str:
    """The error of a query that fails."""
    run = instance.run(instance.bin / "psql", "-XAtq", "-U", user, "-c", query)
    assert run.returncode != 0
    return run.stdout
