"""How much is written to the SSD, at most."""

from __future__ import annotations

import time

import pytest

from server.load import wait_for
from server.ssd import Start, check, fill, read_all, settle, stat
from tidepool.server import Instance

DAY = "bufferpool__ssd_write_budget_per_day"
SECOND = "bufferpool__ssd_write_budget"


def set_budget(instance: Instance, name: str, value: str) -> None:
    """Set it, and wait until the tier goes by it."""
    instance.query(f"ALTER SYSTEM SET bufferpool.{name} = '{value}'", "SELECT pg_reload_conf()")
    wait_for("the setting is in force", lambda: instance.query(f"SHOW bufferpool.{name}") == value)
    time.sleep(1.5)  # the writer follows settings once a second


def price(instance: Instance) -> float:
    return float(instance.query("SELECT write_price FROM pg_stat_ssd_tier"))


def day(instance: Instance) -> int:
    """MB written in the last 24 hours."""
    return int(stat(instance, "day_write_bytes")) >> 20


@pytest.mark.parametrize("policy", ["page_temperature", "lru"])
def test_per_day(start: Start, policy: str) -> None:
    """No more than the day's budget is written, by pages that are read or written."""
    instance = start(4096, bufferpool__ssd_policy=policy, **{DAY: "4MB"}, checkpoint_timeout="1h")
    fill(instance)
    for i in range(3):
        read_all(instance)
        settle(instance)
        instance.query(f"UPDATE filled SET text = '{i}' WHERE id % 10 = 0", "CHECKPOINT")
    writes, refused = stat(instance, "writes", "refused_budget")
    assert 200 < writes <= 512
    assert refused > 500
    assert price(instance) > 0
    assert day(instance) <= 4
    set_budget(instance, "ssd_write_budget_per_day", "0")
    assert price(instance) == 0
    read_all(instance)
    settle(instance)
    assert stat(instance, "writes") > 900
    check(instance)


def test_the_day_survives_restarts(start: Start) -> None:
    """A stop, clean or not, does not make it another day."""
    instance = start(4096, bufferpool__ssd_policy="lru", **{DAY: "4MB"})
    fill(instance)
    read_all(instance)
    settle(instance)
    before = stat(instance, "day_write_bytes")
    assert before > 2 << 20
    for mode in ("fast", "immediate"):
        instance.stop(mode)
        instance.start()
        assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
        assert before <= stat(instance, "day_write_bytes") <= 4 << 20
        assert price(instance) > 0
        read_all(instance)
        settle(instance)
        assert stat(instance, "day_write_bytes") <= 4 << 20
    check(instance)


def test_per_second(start: Start) -> None:
    """No more than the rate is written, and as long as it lasts it is used."""
    instance = start(4096, bufferpool__ssd_policy="lru", **{SECOND: "0.1MB"})
    begin = time.monotonic()
    fill(instance)
    for _ in range(20):
        read_all(instance)
    settle(instance)
    seconds = time.monotonic() - begin
    writes = stat(instance, "writes")
    assert writes <= 12.8 * (seconds + 10) + 1
    assert writes > 60
    assert stat(instance, "refused_budget") > 100
    set_budget(instance, "ssd_write_budget", "100MB")
    wait_for("the purse has filled at the new rate", lambda: price(instance) == 0)
    read_all(instance)
    settle(instance)
    assert stat(instance, "writes") > 900
    check(instance)


def test_hot_pages_come_in(start: Start) -> None:
    """What is read again and again is worth the price when other pages are not."""
    instance = start(4096, bufferpool__ssd_policy="lru", **{DAY: "6MB"})
    fill(instance)
    instance.query("CREATE EXTENSION pg_buffercache")
    read_all(instance)  # 1,000 pages: the budget is for 768
    settle(instance)
    assert price(instance) > 0
    hot = "SET enable_seqscan = off; SELECT count(text) FROM filled WHERE id IN (19990, 19000)"
    evict = "SELECT pg_buffercache_evict_relation('filled')"
    for _ in range(60):
        instance.query(evict, hot)
    settle(instance)
    before = stat(instance, "hits")
    instance.query(evict, hot)
    assert stat(instance, "hits") >= before + 2
    check(instance)


def test_kept_pages_are_not_asked(start: Start) -> None:
    instance = start(4096, bufferpool__ssd_policy="tac", **{DAY: "1MB"})
    fill(instance)
    instance.query("ALTER TABLE filled SET (ssd_tier = keep)")
    read_all(instance)
    settle(instance)
    assert stat(instance, "kept_pages") > 900
    assert day(instance) >= 7
    check(instance)
