"""The SSD tier goes by what reads take, and leaves an SSD alone that is no faster."""

from __future__ import annotations

import time

from server.load import wait_for
from server.ssd import Start, fill, read_all, settle, stat


def test_useless_ssd(start: Start) -> None:
    """An SSD that is no faster than the disk is left alone."""
    instance = start(
        bufferpool__disk_random_read_time="50", bufferpool__disk_sequential_read_time="50"
    )
    fill(instance)
    read_all(instance)
    read_all(instance)
    hits, writes, passed_by, reads = stat(instance, "hits", "writes", "passed_by", "reads")
    assert (hits, writes) == (0, 0)
    assert passed_by == reads > 2000


def test_when_an_ssd_is_useful(start: Start) -> None:
    """Much faster than the disk, by a share and in microseconds; then somewhat faster."""
    instance = start(
        bufferpool__ssd_read_time="80",
        bufferpool__disk_random_read_time="110",
        bufferpool__disk_sequential_read_time="0",
    )
    fill(instance)

    def is_used() -> bool:
        instance.query("SELECT pg_stat_reset_ssd_tier()")
        read_all(instance)
        passed_by, reads = stat(instance, "passed_by", "reads")
        assert reads > 1000
        return bool(passed_by < reads / 2)  # if it is not, a read now and then is a trial

    def follows(ssd: int, disk: int, used: bool) -> None:
        """With these times it is used, or not."""
        instance.query(
            # first, so that the writer never goes by the new SSD beside the old disk
            f"ALTER SYSTEM SET bufferpool.disk_random_read_time = {disk}",
            f"ALTER SYSTEM SET bufferpool.ssd_read_time = {ssd}",
            "SELECT pg_reload_conf()",
        )
        time.sleep(0.5)  # nothing tells when the writer has gone by them
        wait_for(f"the SSD is used: {used}", lambda: is_used() == used)

    assert not is_used()
    follows(80, 130, used=True)
    assert is_used() and stat(instance, "passed_by") == 0
    follows(80, 110, used=True)
    follows(80, 95, used=False)
    follows(80, 110, used=False)
    follows(2, 20, used=False)
    follows(2, 30, used=True)
    follows(2, 14, used=True)
    follows(2, 11, used=False)


def test_scans_that_nobody_has_measured(start: Start) -> None:
    """They take no longer than random reads, whatever a disk's usually take."""
    instance = start(
        bufferpool__ssd_read_time="20",
        bufferpool__disk_random_read_time="25",
        bufferpool__disk_sequential_read_time="-1",
    )
    assert float(stat(instance, "disk_sequential_read_time")) <= 25
    instance.query("CREATE TABLE single (id int PRIMARY KEY, pad text)")
    instance.query("INSERT INTO single VALUES (1, 'x')", "CHECKPOINT")
    instance.query("SELECT pg_bufferpool_reset()", "SELECT * FROM single WHERE id = 1")
    assert stat(instance, "hits", "admissions") == (0, 0)
    assert float(stat(instance, "disk_sequential_read_time")) <= 25


def test_measured_times(start: Start) -> None:
    """Without settings the tier goes by what reads take."""
    instance = start(
        bufferpool__ssd_read_time="-1",
        bufferpool__disk_random_read_time="-1",
        bufferpool__disk_sequential_read_time="-1",
        bufferpool__ssd_policy="lru",
    )
    columns = "ssd_read_time, disk_random_read_time, disk_sequential_read_time"
    times = f"SELECT {columns} FROM pg_stat_ssd_tier"
    guesses = instance.query(times)
    fill(instance)
    read_all(instance)
    settle(instance)
    read_all(instance)
    assert instance.query(times) != guesses
    for value in instance.query(times).split("|")[1:]:
        assert 0 < float(value) < 100_000
