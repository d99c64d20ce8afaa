"""The next use of each event's page, for OPT: in memory, or in a temporary file if too large."""

from __future__ import annotations

import os
import tempfile
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError
from tidepool.simulation.events import Events
from tidepool.traces.model import Chunk

FIRST_ROOM = 1 << 20  # events: 8 MiB
IN_MEMORY_EVENTS = 1 << 26  # 512 MiB; beyond, a temporary file of 8 bytes an event


class Future:
    """Next uses for a sequence of chunks; a context manager, since it may hold a file.

    Feed it all chunks in order, then ask for those of each.
    """

    def __init__(self, in_memory_events: int = IN_MEMORY_EVENTS) -> None:
        future = lib.tps_future_new()
        if future == ffi.NULL:
            raise MemoryError("no memory to look ahead")
        self._future = ffi.gc(future, lib.tps_future_free)
        self._in_memory = in_memory_events
        self._file: tempfile._TemporaryFileWrapper[bytes] | None = None
        self._next_use: NDArray[np.uint64] = np.empty(FIRST_ROOM, dtype=np.uint64)
        self._events = 0

    def __enter__(self) -> Future:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._next_use = np.empty(0, dtype=np.uint64)
        if self._file is not None:
            self._file.close()

    def feed(self, chunk: Chunk) -> None:
        """Look at the next chunk of the trace."""
        while len(self._next_use) < self._events + len(chunk):
            self._grow()
        events = Events(chunk, self._events)
        array = ffi.cast("uint64_t *", self._next_use.ctypes.data)
        if not lib.tps_future_feed(self._future, events.pointer, array):
            raise MemoryError("no memory to look ahead")
        self._events += len(chunk)

    def next_use(self, position: int, events: int) -> NDArray[np.uint64]:
        """Return the next uses of this many events from this position on."""
        return self._next_use[position : position + events]

    def _grow(self) -> None:
        room = 2 * len(self._next_use)
        if room <= self._in_memory:
            larger = np.empty(room, dtype=np.uint64)
            larger[: self._events] = self._next_use[: self._events]
            self._next_use = larger
            return
        previous = self._next_use
        first = self._file is None
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(prefix="tidepool-future-")  # noqa: SIM115
        _reserve(self._file.fileno(), room * 8)
        self._next_use = np.memmap(self._file.name, dtype=np.uint64, mode="r+", shape=(room,))
        if first:
            self._next_use[: self._events] = previous[: self._events]


def _reserve(file: int, size: int) -> None:
    """Extend a file; raise TidepoolError if the disk has no room for it.

    Without the reservation a full disk would be a signal, when the mapping
    is written to.
    """
    try:
        os.truncate(file, size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
    except OSError as error:
        raise TidepoolError(
            f"cannot keep the look-ahead of OPT in {tempfile.gettempdir()}: {error.strerror}",
            f"Set TMPDIR to a directory with {size / 2**30:.0f} GB free.",
        ) from error
