"""Streams of events: cut, joined, and interleaved by time.

A stream is an iterator of chunks that are not empty, each in order of time,
none beginning before the one before it.  Chunks of one stream may overlap in
time (a transaction may outlast the batch that it was generated in);
``interleave`` puts the events of any number of streams in order.

Either all chunks of a stream have times or none has.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from tidepool.traces import model
from tidepool.traces.columns import join, take
from tidepool.traces.model import Chunk

SORT_ROWS = 1 << 16  # events that interleave gathers before it sorts


def rechunk(stream: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the same events CHUNK_ROWS at a time; the last chunk may be shorter."""
    gathered: list[Chunk] = []
    missing = model.CHUNK_ROWS
    for chunk in stream:
        while len(chunk) >= missing:
            yield join([*gathered, take(chunk, slice(missing))], 0)
            chunk = take(chunk, slice(missing, None))
            gathered, missing = [], model.CHUNK_ROWS
        if len(chunk):
            gathered.append(chunk)
            missing -= len(chunk)
    if gathered:
        yield join(gathered, 0)


def cut(stream: Iterator[Chunk], length: int) -> Iterator[Chunk]:
    """Yield the first ``length`` events."""
    for chunk in stream:
        if len(chunk) >= length:
            if length:
                yield take(chunk, slice(length))
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
        yield _in_order(join(waiting, 0))


def _begins(chunk: Chunk) -> int:
    assert chunk.time is not None
    return int(chunk.time[0])


def _in_order(chunk: Chunk) -> Chunk:
    assert chunk.time is not None
    return take(chunk, np.argsort(chunk.time, kind="stable"))


def _settle(waiting: list[Chunk], horizon: int) -> tuple[Chunk, Chunk]:
    """Return the waiting events before the horizon, which nothing can precede now, and the rest."""
    chunk = _in_order(join(waiting, 0))
    assert chunk.time is not None
    end = int(np.searchsorted(chunk.time, np.uint64(horizon)))
    return take(chunk, slice(end)), take(chunk, slice(end, None))
