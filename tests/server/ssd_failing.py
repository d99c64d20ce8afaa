"""An SSD that fails under a live server, and what keeps the tier on nevertheless."""

from __future__ import annotations

import mmap
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.preload import built
from tidepool.server import Instance

KINDS = (
    "read_eio",
    "read_short",
    "read_nothing",
    "read_flip",
    "read_shifted",
    "write_eio",
    "write_short",
    "write_enospc",
    "write_erofs",
    "write_lost",
    "write_torn",
    "no_space",
    "read_slow",
    "write_slow",
    "gone",
    "room_held",
    "disk_slow",
)
# that cost no page
HARMLESS = ("no_space", "read_slow", "write_slow", "room_held", "disk_slow")
# the counter that sees them; of the others: bad_pages
SEEN = dict.fromkeys(
    ("read_eio", "read_short", "read_nothing", "gone"), "read_errors"
) | dict.fromkeys(("write_eio", "write_short", "write_enospc", "write_erofs"), "write_errors")


class Faults:
    """The faults of an SSD: ssd_faults.c does them in a server that is started meanwhile."""

    LAYOUT = struct.Struct(f"QQ{3 * len(KINDS)}II")

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = built("ssd_faults", directory)
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

    def only_in_ring(self) -> None:
        """Of reads, only those by io_uring fail."""
        self._map[-4:] = struct.pack("I", 1)

    def seed(self, seed: int) -> None:
        """Begin another sequence of random numbers."""
        self._map[:16] = struct.pack("QQ", seed, 0)

    def done(self, kind: str, *, in_ring: bool = False) -> int:
        """Faults of this kind so far: all, or those of reads by io_uring."""
        counters = 2 + (2 if in_ring else 1) * len(KINDS)
        return int(self.LAYOUT.unpack(self._map)[counters + KINDS.index(kind)])


class Background(threading.Thread):
    """Does something again and again until a with statement ends, which raises its error."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._error: BaseException | None = None

    def step(self) -> None:
        raise NotImplementedError

    def rest(self, seconds: float) -> None:
        """Wait, unless it is over."""
        self._over.wait(seconds)

    def run(self) -> None:
        try:
            while not self._over.is_set():
                self.step()
        except BaseException as error:
            self._error = error

    def __enter__(self) -> Background:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()
        if self._error:
            raise self._error


@contextmanager
def kept_on(instance: Instance) -> Iterator[None]:
    """Meanwhile the tier is switched on again whenever errors have switched it off."""
    instance.query(
        """CREATE PROCEDURE keep_on() LANGUAGE plpgsql AS $$
        BEGIN
            LOOP
                IF (SELECT status FROM pg_stat_ssd_tier) = 'off' THEN
                    PERFORM pg_ssd_tier_enable();
                END IF;
                COMMIT;
                PERFORM pg_sleep(0.01);
            END LOOP;
        END $$"""
    )
    psql = threading.Thread(
        target=instance.run, args=(instance.bin / "psql", "-Xq", "-c", "CALL keep_on()")
    )
    psql.start()
    try:
        yield
    finally:
        instance.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'CALL keep_on%'"
        )
        psql.join()
        instance.query("DROP PROCEDURE keep_on")


def verify(instance: Instance) -> None:
    """The tier's directory, the table's pages and rows and its index agree."""
    assert instance.query("SELECT * FROM pg_ssd_tier_check()") == ""
    assert (
        instance.query(
            "CREATE EXTENSION IF NOT EXISTS amcheck",
            "SELECT * FROM verify_heapam('filled')",
            "SELECT bt_index_check('filled_pkey', true)",
        )
        == ""
    )
