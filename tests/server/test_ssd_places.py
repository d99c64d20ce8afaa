"""The SSD tier's file: where it can be, and that no two servers ever share it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from server.conftest import Make
from server.copies import catch_up, standby_of
from server.load import kill_server
from server.machine import Machine
from server.ssd import (
    check,
    fill,
    log,
    read_all,
    settle,
    ssd_directory,
    stat,
    with_tier,
)
from tidepool.server import Instance


def off(make: Make, path: Path | str, **settings: str) -> Instance:
    """A server whose tier cannot be used, and which runs all the same."""
    instance = make(bufferpool__ssd_path=str(path), bufferpool__ssd_size="100", **settings)
    assert instance.query("SELECT pg_ssd_tier_enable()") == "f"
    assert stat(instance, "status") == "off"
    fill(instance, 1000)
    assert instance.query("SELECT count(*) FROM filled") == "1000"
    return instance


def test_two_servers(make: Make, ssd: Path) -> None:
    """They never share a file."""
    first = with_tier(make, ssd, 100)
    second = off(make, ssd)
    assert "another server uses it" in log(second)
    first.stop()
    assert second.query("SELECT pg_ssd_tier_enable()") == "t"


def test_bad_places(make: Make, ssd: Path) -> None:
    """Clear messages, and no tier, where the file cannot or must not be."""
    assert "No such file or directory" in log(off(make, ssd / "missing"))
    assert "must be an absolute path" in log(off(make, "relative"))
    file = ssd / "file"
    file.write_text("")
    assert "Not a directory" in log(off(make, file))
    locked = ssd / "locked"
    locked.mkdir(mode=0o755)
    assert "Permission denied" in log(off(make, locked))
    link = ssd / "tidepool.ssd"
    victim = ssd / "victim"
    victim.write_text("precious")
    victim.chmod(0o666)
    link.symlink_to(victim)
    assert "Too many levels of symbolic links" in log(off(make, ssd))
    link.unlink()
    link.hardlink_to(victim)
    assert "others have access to it" in log(off(make, ssd))
    assert victim.read_text() == "precious"
    link.unlink()
    link.mkdir()
    assert "Is a directory" in log(off(make, ssd))


def test_no_memory(make: Make, ssd: Path, machine: Machine) -> None:
    """The server runs without a tier, also after a crash."""
    machine.is_like(tier_memory=256 << 20)
    instance = make(
        bufferpool__ssd_path=str(ssd),
        bufferpool__ssd_size="100",
        bufferpool__ssd_max_size="128GB",
    )
    assert "there is no SSD tier" in instance.log.read_text()
    for _ in range(2):
        assert instance.query("SELECT count(*) FROM pg_ssd_tier_relations") == "0"
        assert instance.query("SELECT count(*) FROM pg_ssd_tier_extents") == "0"
        assert instance.query("SELECT status FROM pg_stat_ssd_tier") in ("", "off")
        kill_server(instance)
        instance.start()


@pytest.mark.parametrize("name", ["tidepool.ssd.table", "tidepool.ssd.owner"])
def test_pipes_in_place_of_files(make: Make, ssd: Path, name: str) -> None:
    """Opening one for reading waits for who writes to it: nobody may wait."""
    instance = with_tier(make, ssd, 100)
    fill(instance, 1000)
    instance.stop()
    ssd.chmod(0o777)
    (ssd / name).unlink(missing_ok=True)
    os.mkfifo(ssd / name, 0o666)
    instance.start()
    assert instance.query("SELECT count(*) FROM filled") == "1000"
    (ssd / name).unlink(missing_ok=True)
    os.mkfifo(ssd / name, 0o666)
    instance.query("SELECT pg_bufferpool_reset()")
    assert instance.query("SELECT count(*) FROM filled") == "1000"


def test_a_directory_by_another_name(make: Make, ssd: Path) -> None:
    """The path may be a symbolic link to a directory: it is the operator's."""
    place = ssd / "place"
    place.mkdir()
    place.chmod(0o777)
    (ssd / "link").symlink_to(place)
    first = with_tier(make, ssd / "link", 100)
    assert (place / "tidepool.ssd").stat().st_size == 100 * 8192
    assert "another server uses it" in log(off(make, place))
    check(first)


@pytest.mark.parametrize("linked", [False, True])
def test_in_the_data_directory(make: Make, ssd: Path, linked: bool) -> None:
    """Backups would copy it."""
    instance = make()
    path = instance.data / "base"
    if linked:
        (ssd / "link").symlink_to(path)
        path = ssd / "link"
    instance.configure({"bufferpool.ssd_path": str(path), "bufferpool.ssd_size": "100"})
    instance.stop()
    instance.start()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "f"
    assert "it is in the data directory" in log(instance)


def test_standby(make: Make, ssd: Path) -> None:
    """A standby has a tier of its own, also after its promotion."""
    primary = with_tier(make, ssd, 2000, wal_level="replica", bufferpool__ssd_policy="lru")
    fill(primary)
    other = ssd_directory()
    try:
        with standby_of(primary, bufferpool__ssd_path=str(other)) as standby:
            assert standby.query("SELECT pg_ssd_tier_enable()") == "t"
            for round_ in range(3):
                primary.query(
                    f"UPDATE filled SET text = '{round_}' WHERE id % 20 = 0", "CHECKPOINT"
                )
                if round_ == 1:
                    primary.query("DELETE FROM filled WHERE id > 15000", "VACUUM filled")
                digest = read_all(primary)
                catch_up(standby, primary)
                for _ in range(2):
                    assert read_all(standby) == digest
                    settle(standby)
            assert stat(standby, "hits") > 500
            check(standby)
            standby.query("SELECT pg_promote()")
            standby.query("UPDATE filled SET text = 'mine' WHERE id % 30 = 0", "CHECKPOINT")
            digest = read_all(standby)
            assert read_all(standby) == digest
            check(standby)
    finally:
        shutil.rmtree(other)


def test_standby_on_the_same_ssd(make: Make, ssd: Path) -> None:
    """A standby with its primary's settings does without a tier; neither takes the other's."""
    primary = with_tier(make, ssd, 2000, wal_level="replica", bufferpool__ssd_policy="lru")
    fill(primary)
    digest = read_all(primary)
    settle(primary)
    with standby_of(primary) as standby:
        assert standby.query("SELECT pg_ssd_tier_enable()") == "f"
        assert stat(standby, "status") == "off"
        assert f'cannot use "{ssd}/tidepool.ssd" for the SSD tier: another server uses it' in log(
            standby
        )
        assert 'Give each server a directory of its own in "bufferpool.ssd_path".' in log(standby)
        for _ in range(2):
            assert read_all(standby) == digest
            assert read_all(primary) == digest
        check(primary)
        # the primary leaves pages and their table, which a server with the same system
        # identifier finds
        primary.stop()
        standby.stop()
        standby.start()
        assert standby.query("SELECT pg_ssd_tier_enable()") == "t"
        assert stat(standby, "used_pages") < 300
        for _ in range(2):
            assert read_all(standby) == digest
            settle(standby)
        check(standby)
        primary.start()
        assert primary.query("SELECT pg_ssd_tier_enable()") == "f"
        assert read_all(primary) == digest
        standby.stop()
        assert primary.query("SELECT pg_ssd_tier_enable()") == "t"
        assert read_all(primary) == digest
        check(primary)
