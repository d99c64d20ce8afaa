"""What is known of a tier's reads and writes only afterwards: for OPT, and for a bound.

A tier's stream is a chunk of the reads, writes and forgets that a cache makes
(sim.h: tps_replay_io), whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.simulation.devices import Device
from tidepool.simulation.events import Events
from tidepool.traces.model import Chunk, Kind


def next_reads(chunk: Chunk) -> NDArray[np.uint64]:
    """Return for each event of a tier's whole stream where its page is read next, or 2**64 - 1.

    A write ends nothing and is not waited for, so it is passed over.
    """
    assert chunk.kind is not None
    kind = np.where(chunk.kind == Kind.WRITE, Kind.SCAN_ADVANCE, chunk.kind).astype(np.uint8)
    events = Events(Chunk(page=chunk.page, kind=kind, count=chunk.count), 0)
    next_use = np.empty(len(chunk), dtype=np.uint64)
    future = lib.tps_future_new()
    if future == ffi.NULL:
        raise MemoryError("no memory to look ahead")
    future = ffi.gc(future, lib.tps_future_free)
    array = ffi.cast("uint64_t *", next_use.ctypes.data)
    if not lib.tps_future_feed(future, events.pointer, array):
        raise MemoryError("no memory to look ahead")
    return next_use


def sequential_reads(chunk: Chunk) -> NDArray[np.uint8]:
    """Return which reads of a tier's whole stream are sequential (1) by the device."""
    classes = ffi.gc(lib.tps_classes_new(), lib.tps_classes_free)
    sequential = np.empty(len(chunk), dtype=np.uint8)
    array = ffi.cast("uint8_t *", sequential.ctypes.data)
    lib.tps_classes_feed(classes, Events(chunk, 0).pointer, array)
    return sequential


_COLUMNS = {"page": np.uint64, "kind": np.uint8, "flags": np.uint16, "count": np.uint32}


def copied(events: Any) -> Chunk:
    """Return a copy of a tps_events that has all of these columns."""
    columns: dict[str, Any] = {
        name: np.frombuffer(
            ffi.buffer(getattr(events, name), events.n * np.dtype(dtype).itemsize), dtype=dtype
        ).copy()
        if events.n
        else np.empty(0, dtype=dtype)
        for name, dtype in _COLUMNS.items()
    }
    return Chunk(**columns)


def joined(chunks: list[Chunk]) -> Chunk:
    """Return one chunk of copies."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in _COLUMNS
    }
    return Chunk(**columns)


def part_of(chunk: Chunk, part: slice) -> Chunk:
    """Return these rows of a copy."""
    columns: dict[str, Any] = {name: getattr(chunk, name)[part] for name in _COLUMNS}
    return Chunk(**columns)


def least_time(
    stream: Chunk, frames: int, disk: Device, device: Device, counted_from: int = 0
) -> float:
    """Return seconds that no policy on a write-through SSD of so many frames can stay under.

    To serve a read, a page must have been in a frame since its previous
    read.  The sum of these intervals is at most frames times the length of
    the stream; the bound takes those that save most for their length, as if
    they fitted together without gaps (the relaxation of D. S. Berger,
    N. Beckmann, M. Harchol-Balter: Practical bounds on optimal caching with
    variable object sizes, POMACS 2018).  Writes to the SSD count nothing.
    ``counted_from``: the event with which counting begins.
    """
    assert stream.kind is not None
    position = np.arange(len(stream))
    reads = (stream.kind == Kind.READ) & (position >= counted_from)
    sequential = sequential_reads(stream) == 1
    from_disk = np.where(sequential, disk.sequential_read, disk.random_read)
    from_ssd = np.where(sequential, device.sequential_read, device.random_read)

    end = next_reads(stream)
    begin = np.flatnonzero((stream.kind == Kind.READ) & (end < len(stream)) & (end >= counted_from))
    end = end[begin].astype(np.int64)
    saving = (from_disk - from_ssd)[end]
    length = end - np.maximum(begin, counted_from)
    # an interval that begins before the counted part may cost nothing of it
    order = np.argsort(-saving / np.maximum(length, 0.5), kind="stable")
    saving, length = saving[order], length[order]
    room = frames * float(len(stream) - counted_from)
    used = np.minimum(np.cumsum(length), room)
    share = np.diff(used, prepend=0) / np.maximum(length, 1)
    share[length == 0] = 1
    saved = float((np.maximum(saving, 0) * share).sum())
    return (float(from_disk[reads].sum()) - saved + _write_time(stream, disk, counted_from)) / 1e6


def _write_time(stream: Chunk, disk: Device, counted_from: int) -> float:
    """Return the microseconds of the writes to the disk."""
    assert stream.kind is not None
    writes = np.flatnonzero(stream.kind == Kind.WRITE)
    # (the device classifies writes as it does reads)
    sequential = sequential_reads(Chunk(page=stream.page[writes]))[writes >= counted_from] == 1
    return float(np.where(sequential, disk.sequential_write, disk.random_write).sum())
