"""A machine that is slow, or has little shared memory, for a server that is started on it."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import pytest

from server.preload import built

FIELDS = (
    "slow_process", "read_time", "write_time", "list_time", "lookup_time", "list_fails",
    "shared_memory", "tier_memory",
)  # fmt: skip


class Machine:
    """The machine of servers that are started meanwhile, by machine.c."""

    LAYOUT = struct.Struct("6I2Q")

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = built("machine", directory)
        path = directory / "machine"
        path.write_bytes(bytes(self.LAYOUT.size))
        path.chmod(0o644)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), self.LAYOUT.size)
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("TEST_MACHINE", str(path))

    def is_like(self, **values: int) -> None:
        """From now on; what is not named is as on any machine.

        Args:
            values: slow_process (0: all), read_time and write_time of a call (microseconds),
                list_time of a read of the list for a warm start (likewise), list_fails (1: such
                a read fails, if it is a large one), lookup_time of a host's name (milliseconds),
                shared_memory (bytes of a segment for a warm start), tier_memory (of an SSD
                tier's).
        """
        self._map[:] = self.LAYOUT.pack(*(values.get(field, 0) for field in FIELDS))
