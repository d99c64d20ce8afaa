"""The SSD tier goes by what reads take, and leaves an SSD alone that is no faster."""

from __future__ import annotations

import time

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
        assert passed_by == 0 or passed_by > 0.9 * reads  # a read now and then is a trial
        return bool(passed_by == 0)

    def with_times(ssd: int, disk: int) -> bool:
        """Whether it is used with these."""
        instance.query(
            f"ALTER SYSTEM SET bufferpool.ssd_read_time = {ssd}",
            f"ALTER SYSTEM SET bufferpool.disk_random_read_time = {disk}",
            "SELECT pg_reload_conf()",
        )
        time.sleep(0.5)  # the writer is woken, and nothing tells when it has them
        return is_used()

    assert not is_used()
    assert with_times(80, 130)
    assert with_times(80, 110)
    assert not with_times(80, 95)
    assert not with_times(80, 110)
    assert not with_times(2, 20)
    assert with_times(2, 30)
    assert with_times(2, 14)
    assert not with_times(2, 11)


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
