"""A failing SSD costs speed, and nothing else: no query fails, no row is wrong."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

from server.conftest import Make
from server.ssd import (
    METHODS,
    check,
    fill,
    log,
    read_all,
    settle,
    stat,
    wait_until,
    with_tier,
)
from tidepool.errors import TidepoolError
from tidepool.server import Instance

KINDS = (
    "read_eio",
    "read_short",
    "read_flip",
    "read_shifted",
    "write_eio",
    "write_enospc",
    "write_lost",
    "write_torn",
)
SEEN = {kind: "read_errors" for kind in ("read_eio", "read_short")} | {
    kind: "write_errors" for kind in ("write_eio", "write_enospc")
}  # of the others: bad_pages
WANTED = 1000  # faults of each kind


class Faults:
    """The faults of an SSD: ssd_faults.c does them in a server that is started meanwhile."""

    LAYOUT = struct.Struct(f"QQ{len(KINDS)}I{len(KINDS)}I")

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = directory / "ssd_faults.so"
        source = Path(__file__).with_name("ssd_faults.c")
        subprocess.run(
            ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"],
            check=True,
        )
        self._path = directory / "faults"
        self._path.write_bytes(bytes(self.LAYOUT.size))
        self._path.chmod(0o666)
        with self._path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), self.LAYOUT.size)
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("SSD_FAULTS", str(self._path))

    def strike(self, **rates: float) -> None:
        """From now on calls fail so: shares of them by kind."""
        offset = 16
        for i, kind in enumerate(KINDS):
            value = int(65536 * rates.get(kind, 0))
            self._map[offset + 4 * i : offset + 4 * i + 4] = struct.pack("I", value)

    def seed(self, seed: int) -> None:
        """Begin another sequence of random numbers."""
        self._map[:16] = struct.pack("QQ", seed, 0)

    def done(self, kind: str) -> int:
        """Faults of this kind so far."""
        return int(self.LAYOUT.unpack(self._map)[2 + len(KINDS) + KINDS.index(kind)])


@pytest.fixture
def faults(ssd: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(ssd, monkeypatch)


class Enabler(threading.Thread):
    """Switches the tier on again whenever errors have switched it off."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(daemon=True)
        self._instance = instance
        self._over = threading.Event()
        self.times = 0

    def run(self) -> None:
        while not self._over.wait(0.02):
            if stat(self._instance, "status") == "off":
                self._instance.query("SELECT pg_ssd_tier_enable()")
                self.times += 1

    def end(self) -> None:
        self._over.set()
        self.join()


@pytest.mark.parametrize("checksums", ["on", "off"])
@pytest.mark.parametrize("kind", KINDS)
def test_faults(make: Make, ssd: Path, faults: Faults, kind: str, checksums: str) -> None:
    """A thousand faults of a kind, under reads and writes: each is noticed or overwritten."""
    faults.seed(KINDS.index(kind) + 1)
    instance = with_tier(make, ssd, 600, io_method="worker", bufferpool__ssd_policy="lru")
    if checksums == "off":
        instance.stop()
        instance.run(instance.bin / "pg_checksums", "--disable", "-N", "-D", instance.data)
        instance.start()
        assert instance.query("SHOW data_checksums") == "off"
        assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    fill(instance, 12_000)
    expected = read_all(instance)
    enabler = Enabler(instance)
    enabler.start()
    faults.strike(**{kind: 0.05})
    deadline = time.monotonic() + 240
    rounds = 0
    while faults.done(kind) < WANTED:
        assert time.monotonic() < deadline
        rounds += 1
        instance.query("UPDATE filled SET text = text WHERE id % 40 = 0")
        assert read_all(instance) == expected
        if rounds % 10 == 0:
            instance.query("VACUUM filled", "CHECKPOINT")
    faults.strike()
    enabler.end()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    for _ in range(2):
        assert read_all(instance) == expected
        settle(instance)
    assert instance.query("SELECT * FROM pg_ssd_tier_check()") == ""
    assert stat(instance, SEEN.get(kind, "bad_pages")) > WANTED / 10
    assert enabler.times > 10
    assert "PANIC" not in log(instance)
    assert "switched off after" in log(instance)


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
        wait_until(lambda: stat(instance, "status") == "off")
        assert stat(instance, "read_errors" if how == "truncated" else "bad_pages") > 0
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    instance.query("SELECT pg_stat_reset_ssd_tier()")
    for _ in range(2):
        assert read_all(instance) == expected
        settle(instance)
    assert stat(instance, "hits") > 500
    check(instance)


def test_full_device(make: Make, ssd: Path, faults: Faults) -> None:
    """Without room for the file there is no tier; with room there is."""
    instance = with_tier(make, ssd, 100)
    fill(instance, 2000)
    with pytest.raises(TidepoolError, match="permission denied"):
        instance.query("SET ROLE pg_monitor", "SELECT pg_ssd_tier_disable()")
    faults.strike(write_enospc=1.0)
    for _ in range(3):
        assert read_all(instance)
    wait_until(lambda: stat(instance, "status") == "off")
    faults.strike()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    read_all(instance)
    check_hits = stat(instance, "writes")
    assert check_hits > 0
