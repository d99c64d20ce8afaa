"""A failing SSD costs speed, and nothing else: no query fails, no row is wrong."""

from __future__ import annotations

import os
import random
import shutil
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from server.conftest import Make
from server.load import wait_for
from server.ssd import (
    METHODS,
    check,
    fill,
    log,
    read_all,
    settle,
    stat,
    with_tier,
)
from server.ssd_failing import HARMLESS, KINDS, SEEN, Background, Faults, kept_on, verify
from tidepool.errors import TidepoolError
from tidepool.server import Instance

WANTED = 1000  # faults of each kind
STRIKING = [kind for kind in KINDS if kind not in HARMLESS]
# all kinds, and those that reads by io_uring meet: it writes nothing to the SSD
STRUCK = [("worker", kind) for kind in STRIKING] + [
    ("io_uring", kind) for kind in STRIKING if not kind.startswith("write")
]
PAGE = 8192
DAMAGED_PAGES = 600


class ComesAndGoes(Background):
    """The device is gone for a moment, and back for a moment."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self._faults = faults

    def step(self) -> None:
        self._faults.strike(gone=1)
        self.rest(0.05)
        self._faults.strike()
        self.rest(0.1)


def without_checksums(instance: Instance) -> None:
    instance.stop()
    instance.run(instance.bin / "pg_checksums", "--disable", "-N", "-D", instance.data)
    instance.start()
    assert instance.query("SHOW data_checksums") == "off"
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"


def work(instance: Instance, expected: str, number: int) -> None:
    """Read and write the table, which has the same rows again and again."""
    instance.query("UPDATE filled SET text = text WHERE id % 40 = 0")
    assert read_all(instance) == expected
    if number % 10 == 0:
        instance.query("VACUUM filled", "CHECKPOINT")


def recovers(instance: Instance, expected: str) -> None:
    """All is sound, and the tier works again."""
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    for _ in range(2):
        assert read_all(instance) == expected
        settle(instance)
    verify(instance)
    assert "PANIC" not in log(instance)


@pytest.mark.parametrize("checksums", ["on", "off"])
@pytest.mark.parametrize(("method", "kind"), STRUCK)
def test_faults(
    make: Make, ssd: Path, faults: Faults, method: str, kind: str, checksums: str
) -> None:
    """A thousand faults of a kind, under reads and writes: each is noticed or overwritten.

    With io_uring only its reads fail, not those that verify copies, which are many
    more.  Nothing overwrites what a read has got: the tier counts an error for each.
    """
    faults.seed(KINDS.index(kind) + 1)
    in_ring = method == "io_uring"
    wanted_in_ring = 0
    if in_ring:
        faults.only_in_ring()
        # without the device, most calls that fail open the file or write
        wanted_in_ring = WANTED // 40 if kind == "gone" else WANTED
    instance = with_tier(make, ssd, 600, io_method=method, bufferpool__ssd_policy="lru")
    if checksums == "off":
        without_checksums(instance)
    fill(instance, 12_000)
    expected = read_all(instance)
    deadline = time.monotonic() + 240
    number = 0
    with kept_on(instance), ExitStack() as stack:
        if kind == "gone":
            stack.enter_context(ComesAndGoes(faults))
        else:
            # few reads are io_uring's: each has as many pages as have slots in a row
            faults.strike(**{kind: 0.2 if in_ring else 0.05})
        while faults.done(kind) < WANTED or faults.done(kind, in_ring=True) < wanted_in_ring:
            assert time.monotonic() < deadline
            number += 1
            work(instance, expected, number)
    faults.strike()
    recovers(instance, expected)
    noticed = stat(instance, SEEN.get(kind, "bad_pages"))
    if in_ring:
        # another slot may have the same page from before: then its bytes are right
        share = 0.99 if kind == "read_shifted" else 1
        assert noticed >= share * faults.done(kind, in_ring=True)
    # many are overwritten before they are read, or strike what verifies
    assert noticed > WANTED / 40
    assert log(instance).count("switched off after") > 10


class Vandal(Background):
    """Changes the tier's file behind the server's back.

    Attributes:
        done: how often.
    """

    def __init__(self, file: Path, seed: int) -> None:
        super().__init__()
        self._file = file
        self._random = random.Random(seed)
        self._old = file.read_bytes()
        self.done = 0

    def step(self) -> None:
        self.done += self.damage()
        self.rest(0.005)

    def damage(self) -> bool:
        """Do some, if there is something to damage; return whether there was."""
        raise NotImplementedError

    def _page(self, kind: str) -> None:
        """Flip a bit of a page, or put back what was there a while ago, or half of it."""
        at = self._random.randrange(DAMAGED_PAGES) * PAGE
        with self._file.open("r+b", buffering=0) as file:
            if kind == "flipped":
                at += self._random.randrange(PAGE)
                file.seek(at)
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ 1 << self._random.randrange(8)]))
            else:
                file.seek(at)
                file.write(self._old[at : at + PAGE // (2 if kind == "torn" else 1)])
        if self._random.random() < 0.02:
            self._old = self._file.read_bytes()


class DamagesPages(Vandal):
    """Flips bits, tears pages and puts stale ones back."""

    def damage(self) -> bool:
        self._page(self._random.choice(("flipped", "torn", "put back")))
        return True


class TakesFilesAway(Vandal):
    """Truncates the file, removes it, puts another in its place, lets nobody open it."""

    def damage(self) -> bool:
        how = self._random.choice(("truncated", "removed", "replaced", "another kind"))
        if not self._file.is_file():
            # a directory or nothing: the server makes the file when it is switched on again
            if self._file.is_dir():
                self._file.rmdir()
            return False
        if how == "truncated":
            os.truncate(self._file, self._random.randrange(DAMAGED_PAGES) * PAGE)
        elif how == "removed":
            self._file.unlink()
        elif how == "replaced":
            owner = self._file.stat()
            other = self._file.with_name("other")
            other.write_bytes(self._old)
            os.chown(other, owner.st_uid, owner.st_gid)
            other.chmod(0o600)
            other.rename(self._file)
        else:
            self._file.unlink()
            with suppress(FileExistsError):  # the server was faster
                self._file.mkdir()
        return True


@pytest.mark.parametrize("checksums", ["on", "off"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("vandal", [DamagesPages, TakesFilesAway])
def test_vandals(make: Make, ssd: Path, method: str, checksums: str, vandal: type[Vandal]) -> None:
    """A thousand damages of each mix, under reads and writes, with all I/O methods."""
    instance = with_tier(make, ssd, DAMAGED_PAGES, io_method=method, bufferpool__ssd_policy="lru")
    if checksums == "off":
        without_checksums(instance)
    fill(instance, 12_000)
    expected = read_all(instance)
    settle(instance)
    deadline = time.monotonic() + 240
    file = ssd / "tidepool.ssd"
    number = 0
    with kept_on(instance), vandal(file, seed=METHODS.index(method)) as damages:
        assert isinstance(damages, Vandal)
        while damages.done < WANTED:
            assert time.monotonic() < deadline
            number += 1
            work(instance, expected, number)
            if vandal is TakesFilesAway:  # or else who has the file open would keep it
                instance.query("SELECT pg_ssd_tier_disable()")
    if vandal is TakesFilesAway:
        instance.query("SELECT pg_ssd_tier_disable()")
        if file.is_file():
            file.unlink()
        if not file.is_dir():
            file.mkdir()
        assert instance.query("SELECT pg_ssd_tier_enable()") == "f"
        assert "cannot use" in log(instance)
        file.rmdir()
    recovers(instance, expected)
    if vandal is DamagesPages:
        assert stat(instance, "bad_pages") > 20


@pytest.mark.parametrize("method", METHODS)
def test_damaged_file(make: Make, ssd: Path, method: str) -> None:
    """Pages that change on the SSD behind the server's back are not believed."""
    instance = with_tier(make, ssd, 2000, io_method=method, bufferpool__ssd_policy="lru")
    fill(instance)
    expected = read_all(instance)
    settle(instance)
    with (ssd / "tidepool.ssd").open("r+b") as file:
        for slot in range(0, 2000, 400):
            file.seek(slot * 8192 + 4000)
            file.write(b"garbage")
    assert read_all(instance) == expected
    assert 0 < stat(instance, "bad_pages") <= 5
    assert stat(instance, "status") == "on"
    assert instance.query("SELECT * FROM pg_ssd_tier_check()") == ""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["truncated", "removed", "replaced", "swapped"])
def test_file_goes_away(make: Make, ssd: Path, method: str, how: str) -> None:
    """The file is truncated, removed or replaced in mid-run, and comes back."""
    instance = with_tier(make, ssd, 2000, io_method=method, bufferpool__ssd_policy="lru")
    fill(instance)
    expected = read_all(instance)
    settle(instance)
    file = ssd / "tidepool.ssd"
    if how == "truncated":
        os.truncate(file, 0)
    elif how == "removed":
        file.unlink()
    elif how == "replaced":
        file.rename(ssd / "moved")
        file.write_bytes(bytes(2000 * 8192))
        shutil.chown(file, "postgres") if os.geteuid() == 0 else None
        file.chmod(0o600)
    else:  # two pages change places
        with file.open("r+b") as pages:
            content = pages.read(8192 * 1000)
            pages.seek(0)
            pages.write(content[8192:] + content[:8192])
    for _ in range(12):
        assert read_all(instance) == expected
    if how in ("truncated", "swapped"):
        wait_for("the tier is off", lambda: stat(instance, "status") == "off")
        assert stat(instance, "read_errors" if how == "truncated" else "bad_pages") > 0
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    instance.query("SELECT pg_stat_reset_ssd_tier()")
    for _ in range(2):
        assert read_all(instance) == expected
        settle(instance)
    assert stat(instance, "hits") > 500
    check(instance)


def test_full_device(make: Make, ssd: Path, faults: Faults) -> None:
    """Where nothing can be written there is no tier; it is there again when there is room."""
    instance = with_tier(make, ssd, 100)
    fill(instance, 2000)
    with pytest.raises(TidepoolError, match="permission denied"):
        instance.query("SET ROLE pg_monitor", "SELECT pg_ssd_tier_disable()")
    faults.strike(write_enospc=1.0)
    for _ in range(3):
        assert read_all(instance)
    wait_for("the tier is off", lambda: stat(instance, "status") == "off")
    faults.strike()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    read_all(instance)
    check_hits = stat(instance, "writes")
    assert check_hits > 0


# a page for each of a thousand rows, by the index
AT_RANDOM = (
    "SELECT count(text) FROM generate_series(1, 1000) AS i,"
    " LATERAL (SELECT text FROM filled WHERE id = 1 + (hashint4(i) & 16383) OFFSET 0) AS found"
)


def resize(instance: Instance, pages: int) -> None:
    instance.query(f"ALTER SYSTEM SET bufferpool.ssd_size = {pages}", "SELECT pg_reload_conf()")


def test_no_room_for_the_file(make: Make, ssd: Path, faults: Faults) -> None:
    """A file that does not fit takes no room from others; the tier stays as large as it was."""
    instance = with_tier(make, ssd, 100, bufferpool__ssd_max_size="2000")
    fill(instance, 2000)
    faults.strike(no_space=1)
    resize(instance, 2000)
    wait_for("it says so", lambda: "No space left on device" in log(instance))
    assert 'lower "bufferpool.ssd_size"' in log(instance)
    assert (ssd / "tidepool.ssd").stat().st_size == 100 * PAGE
    assert stat(instance, "status", "pages") == ("on", 100)
    faults.strike()
    resize(instance, 1500)
    wait_for("there is room", lambda: stat(instance, "pages") == 1500)
    assert (ssd / "tidepool.ssd").stat().st_size == 1500 * PAGE
    # so if there has been none yet
    instance.query("SELECT pg_ssd_tier_disable()")
    wait_for("the places are free", lambda: stat(instance, "used_pages") == 0)
    (ssd / "tidepool.ssd").unlink()
    faults.strike(no_space=1)
    assert instance.query("SELECT pg_ssd_tier_enable()") == "f"
    assert (ssd / "tidepool.ssd").stat().st_size == 0


@pytest.mark.parametrize("method", METHODS)
def test_slow_ssd(make: Make, ssd: Path, faults: Faults, method: str) -> None:
    """An SSD that takes longer than the disk is found out by measuring, and left alone."""
    faults.strike(read_slow=1)
    instance = with_tier(
        make,
        ssd,
        300,  # of a thousand pages: the others are read from the disk
        io_method=method,
        bufferpool__ssd_policy="lru",
        bufferpool__ssd_read_time="-1",
        bufferpool__disk_random_read_time="-1",
        bufferpool__disk_sequential_read_time="-1",
        bufferpool__ssd_verify="off",
    )
    fill(instance)
    assert float(stat(instance, "ssd_read_time")) > 4000

    def is_left_alone() -> bool:
        instance.query("SELECT pg_stat_reset_ssd_tier()", AT_RANDOM)
        hits, passed_by, reads = stat(instance, "hits", "passed_by", "reads")
        return bool(passed_by > 0.9 * reads and hits < 0.05 * reads)

    wait_for("the disk has been measured", is_left_alone)


def test_a_writer_that_never_catches_up(make: Make, ssd: Path, faults: Faults) -> None:
    """It looks after all else meanwhile."""
    instance = with_tier(
        make, ssd, 900, bufferpool__ssd_policy="lru", bufferpool__ssd_write_buffers="500"
    )
    fill(instance)
    expected = read_all(instance)
    faults.strike(write_slow=1)

    class Reads(Background):
        def step(self) -> None:
            assert read_all(instance) == expected

    with Reads():
        wait_for("pages are dropped", lambda: stat(instance, "dropped") > 1000)
        resize(instance, 300)
        wait_for("the tier is smaller", lambda: stat(instance, "pages") == 300)
    faults.strike()
    settle(instance)
    check(instance)


# ---- the disk ----


def on_disk(instance: Instance) -> Path:
    return instance.data / instance.query("SELECT pg_relation_filepath('filled')")


def test_verification_stops_the_server(make: Make, ssd: Path) -> None:
    """A copy that differs from the disk's page is found; after that the tier begins empty."""
    instance = with_tier(
        make, ssd, 2000, bufferpool__ssd_policy="lru", restart_after_crash="on", autovacuum="off"
    )
    fill(instance)
    expected = read_all(instance)
    settle(instance)
    read_all(instance)
    assert stat(instance, "verified") > 500
    file = on_disk(instance)
    with file.open("r+b") as pages:
        pages.seek(100 * PAGE + 5000)
        byte = pages.read(1)
        pages.seek(100 * PAGE + 5000)
        pages.write(bytes([byte[0] ^ 1]))
    with pytest.raises(TidepoolError):
        for _ in range(3):  # the page may be in memory still
            read_all(instance)
    assert "copy of block 100 of" in log(instance)
    assert "differs from the disk's" in log(instance)
    with file.open("r+b") as pages:
        pages.seek(100 * PAGE + 5000)
        pages.write(byte)

    def is_back() -> bool:
        with suppress(TidepoolError):
            return instance.query("SELECT 1") == "1"
        return False

    wait_for("the server has restarted", is_back)
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    assert stat(instance, "used_pages") < 300  # of catalogs
    assert read_all(instance) == expected
    settle(instance)
    check(instance)


def test_verification_of_what_the_disk_has_lost(make: Make, ssd: Path) -> None:
    """A query fails because of the disk; the pages on the SSD can be let go of all the same."""
    instance = with_tier(make, ssd, 2000, bufferpool__ssd_policy="lru")
    fill(instance)
    expected = read_all(instance)
    settle(instance)
    file = on_disk(instance)
    content = file.read_bytes()
    os.truncate(file, 10 * PAGE)
    with pytest.raises(TidepoolError, match="could not read blocks"):
        for _ in range(3):
            instance.query(AT_RANDOM)
    with file.open("r+b") as pages:
        pages.write(content)
    instance.query("SELECT pg_ssd_tier_disable()")
    assert instance.query("SET statement_timeout = '20s'; SELECT pg_ssd_tier_enable()") == "t"
    assert read_all(instance) == expected
    check(instance)
