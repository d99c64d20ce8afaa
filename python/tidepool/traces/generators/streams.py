"""Streams of events: cut, joined, and interleaved by time.

A stream is an iterator of chunks that are not empty, each in order of time,
none beginning before the one before it.  Chunks of one stream may overlap in
time (a transaction may outlast the batch that it was generated in);
``interleave`` puts the events of any number of streams in order.

The chunks here carry no bitmaps.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.traces import model
from tidepool.traces.model import Chunk

COLUMNS: dict[str, Any] = {
    "page": np.uint64,
    "kind": np.uint8,
    "flags": np.uint16,
    "time": np.uint64,
    "backend": np.uint32,
    "scan": np.uint64,
    "count": np.uint32,
    "size": np.uint32,
    "speed": np.float32,
}

SORT_ROWS = 1 << 16  # events that interleave gathers before it sorts


def rows(chunk: Chunk, which: slice | NDArray[np.int64]) -> Chunk:
    """Return these rows of a chunk."""
    columns: dict[str, Any] = {name: getattr(chunk, name) for name in COLUMNS}
    taken: dict[str, Any] = {n: None if c is None else c[which] for n, c in columns.items()}
    return Chunk(**taken)


def concatenate(chunks: Sequence[Chunk]) -> Chunk:
    """Return one chunk of all the rows.  Either all chunks have times or none has."""
    if len(chunks) == 1:
        return chunks[0]
    joined: dict[str, Any] = {}
    for name, dtype in COLUMNS.items():
        columns = [getattr(chunk, name) for chunk in chunks]
        if any(column is not None for column in columns):
            # the default of every column but time is zero
            joined[name] = np.concatenate(
                [
                    np.zeros(len(chunk), dtype) if column is None else column
                    for chunk, column in zip(chunks, columns, strict=True)
                ]
            )
    return Chunk(**joined)


def rechunk(stream: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the same events CHUNK_ROWS at a time; the last chunk may be shorter."""
    gathered: list[Chunk] = []
    missing = model.CHUNK_ROWS
    for chunk in stream:
        while len(chunk) >= missing:
            yield concatenate([*gathered, rows(chunk, slice(missing))])
            chunk = rows(chunk, slice(missing, None))
            gathered, missing = [], model.CHUNK_ROWS
        if len(chunk):
            gathered.append(chunk)
            missing -= len(chunk)
    if gathered:
        yield concatenate(gathered)


def cut(stream: Iterator[Chunk], length: int) -> Iterator[Chunk]:
    """Yield the first ``length`` events."""
    for chunk in stream:
        if len(chunk) >= length:
            if length:
                yield rows(chunk, slice(length))
            return
        length -= len(chunk)
        yield chunk


def interleave(*streams: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the events of all streams in order of time; every chunk must have times.

    Of events at the same time, those in the chunk that began earlier come
    first, then those of the stream named earlier; events of one backend that
    come in order in a stream stay in it.  Memory: a few chunks of each stream.
    """
    waiting: list[Chunk] = []
    count, limit = 0, SORT_ROWS
    for chunk in heapq.merge(*streams, key=_begins):
        if count >= limit:
            settled, rest = _settle(waiting, _begins(chunk))
            if len(settled):
                yield settled
            waiting, count = [rest], len(rest)
            limit = 2 * count + SORT_ROWS  # so that an event is sorted but a few times
        waiting.append(chunk)
        count += len(chunk)
    if waiting:
        yield _in_order(concatenate(waiting))


def _begins(chunk: Chunk) -> int:
    assert chunk.time is not None
    return int(chunk.time[0])


def _in_order(chunk: Chunk) -> Chunk:
    assert chunk.time is not None
    return rows(chunk, np.argsort(chunk.time, kind="stable"))


def _settle(waiting: list[Chunk], horizon: int) -> tuple[Chunk, Chunk]:
    """Return the waiting events before the horizon, which nothing can precede now, and the rest."""
    chunk = _in_order(concatenate(waiting))
    assert chunk.time is not None
    end = int(np.searchsorted(chunk.time, np.uint64(horizon)))
    return rows(chunk, slice(end)), rows(chunk, slice(end, None))
