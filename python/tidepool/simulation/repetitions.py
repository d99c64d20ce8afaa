"""References that repeat their backend's previous one, flagged before a replay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tidepool._sim import ffi, lib
from tidepool.simulation.events import Events
from tidepool.traces.model import Chunk


class Repetitions:
    """Flags repetitions within a window (microseconds) in a trace's chunks, in order."""

    def __init__(self, window: int) -> None:
        self._repetitions = None
        if window == 0:
            return
        repetitions = lib.tps_repetitions_new(window)
        if repetitions == ffi.NULL:
            raise MemoryError("no memory to find repetitions")
        self._repetitions = ffi.gc(repetitions, lib.tps_repetitions_free)

    def flagged(self, chunk: Chunk, position: int) -> Chunk:
        """Return the trace's next chunk, whose first event is number ``position``."""
        if self._repetitions is None:
            return chunk
        flags = np.empty(len(chunk), dtype=np.uint16)
        array = ffi.cast("uint16_t *", flags.ctypes.data)
        lib.tps_repetitions_feed(self._repetitions, Events(chunk, position).pointer, array)
        return replace(chunk, flags=flags)
