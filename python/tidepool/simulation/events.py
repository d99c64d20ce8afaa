"""Handing a trace's chunks to the C layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi
from tidepool.traces.model import Chunk, Trace

_TYPES: dict[str, tuple[Any, str]] = {
    "page": (np.uint64, "const uint64_t *"),
    "kind": (np.uint8, "const uint8_t *"),
    "flags": (np.uint16, "const uint16_t *"),
    "time": (np.uint64, "const uint64_t *"),
    "backend": (np.uint32, "const uint32_t *"),
    "count": (np.uint32, "const uint32_t *"),
    "scan": (np.uint64, "const uint64_t *"),
    "size": (np.uint32, "const uint32_t *"),
    "low": (np.uint32, "const uint32_t *"),
    "speed": (np.float32, "const float *"),
    "pool": (np.uint8, "const uint8_t *"),
    "next_use": (np.uint64, "const uint64_t *"),
    "before": (np.uint64, "const uint64_t *"),
}


class Events:
    """A chunk as the C layer takes it: ``pointer`` is a tps_events *.

    Keeps the arrays that the pointers point into.  ``next_use`` (for OPT) and
    ``before`` (of a sample) are described in sim.h.
    """

    def __init__(
        self,
        chunk: Chunk,
        position: int,
        next_use: NDArray[np.uint64] | None = None,
        before: NDArray[np.uint64] | None = None,
    ) -> None:
        self.pointer = ffi.new("tps_events *")
        self.pointer.n = len(chunk)
        self.pointer.position = position
        self._arrays: list[Any] = []
        extra = {"next_use": next_use, "before": before}
        for name, (dtype, c_type) in _TYPES.items():
            column = extra[name] if name in extra else getattr(chunk, name)
            if column is None:
                continue
            array = np.ascontiguousarray(column, dtype=dtype)
            self._arrays.append(array)
            setattr(self.pointer, name, ffi.cast(c_type, array.ctypes.data))
        if chunk.bitmaps:
            bitmaps = ffi.new("tps_bitmap[]", len(chunk.bitmaps))
            for i, row in enumerate(sorted(chunk.bitmaps)):
                data = ffi.from_buffer(chunk.bitmaps[row])
                self._arrays.append(data)
                bitmaps[i].event, bitmaps[i].bits, bitmaps[i].bytes = row, data, len(data)
            self._arrays.append(bitmaps)
            self.pointer.bitmaps, self.pointer.n_bitmaps = bitmaps, len(bitmaps)


def positioned(trace: Trace) -> Iterator[tuple[int, Chunk]]:
    """Yield the chunks of a trace, each with the position of its first event."""
    position = 0
    for chunk in trace.chunks():
        if len(chunk):
            yield position, chunk
        position += len(chunk)


def references(chunk: Chunk) -> int:
    """Return how many of the events are references to pages."""
    if chunk.kind is None:
        return len(chunk)
    return int(np.count_nonzero(chunk.kind <= 1))
