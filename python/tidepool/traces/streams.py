"""Streams of events: cut, and interleaved by time.

A stream is an iterator of chunks that are not empty, each in order of time,
none beginning before the one before it.  Chunks of one stream may overlap in
time (a transaction may outlast the batch that it was generated in);
``interleave`` puts the events of any number of streams in order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from tidepool.traces.columns import join, take
from tidepool.traces.model import Chunk

SORT_ROWS = 1 << 16  # events that interleave gathers before it sorts; no influence on the order

Numbered = tuple[int, Chunk]  # a chunk and the number of its stream


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

    Of events at the same time, those of the stream named earlier come first,
    and those of one stream in the order in which they were in it: how the
    streams are cut into chunks has no influence.  Memory: a few chunks of
    each stream.
    """
    waiting: list[Numbered] = []
    count, limit = 0, SORT_ROWS
    for numbered in heapq.merge(*(_numbered(i, s) for i, s in enumerate(streams)), key=_begins):
        if count >= limit:
            ready, waiting = _split(waiting, _begins(numbered))
            if ready:
                yield _in_order(ready)
            count = sum(len(chunk) for _, chunk in waiting)
            limit = 2 * count + SORT_ROWS  # so that an event is looked at but a few times
        waiting.append(numbered)
        count += len(numbered[1])
    if waiting:
        yield _in_order(waiting)


def _numbered(number: int, stream: Iterator[Chunk]) -> Iterator[Numbered]:
    for chunk in stream:
        yield number, chunk


def _begins(numbered: Numbered) -> int:
    time = numbered[1].time
    assert time is not None
    return int(time[0])


def _split(waiting: list[Numbered], horizon: int) -> tuple[list[Numbered], list[Numbered]]:
    """Return the waiting events before the horizon, which nothing can precede now, and the rest."""
    ready, rest = [], []
    for number, chunk in waiting:
        assert chunk.time is not None
        end = int(np.searchsorted(chunk.time, np.uint64(horizon)))
        if end > 0:
            ready.append((number, take(chunk, slice(end))))
        if end < len(chunk):
            rest.append((number, take(chunk, slice(end, None))))
    return ready, rest


def _in_order(chunks: list[Numbered]) -> Chunk:
    by_stream = [chunk for _, chunk in sorted(chunks, key=lambda numbered: numbered[0])]
    joined = join(by_stream, 0)
    assert joined.time is not None
    return take(joined, np.argsort(joined.time, kind="stable"))
