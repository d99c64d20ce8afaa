"""Work on the columns of chunks: defaults made explicit, rows selected, chunks joined and split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.model import CHUNK_ROWS, Chunk, Kind

# The columns other than page.  All but time are 0 by default.
DTYPES: dict[str, Any] = {
    "kind": np.uint8,
    "flags": np.uint16,
    "time": np.uint64,
    "backend": np.uint32,
    "scan": np.uint64,
    "count": np.uint32,
    "size": np.uint32,
    "low": np.uint32,
    "speed": np.float32,
    "pool": np.uint8,
}

LAST_REFERENCE = Kind.WRITE  # kinds up to this one reference a page
BELOW = (  # memory
    Kind.PHYSICAL_READ,
    Kind.PHYSICAL_WRITE,
    Kind.SSD_HAS,
    Kind.SSD_LOST,
    Kind.SSD,
    Kind.SSD_BUSY,
    Kind.SSD_FREED,
    Kind.SSD_RELATION,
)
OF_POOLS = (Kind.POOL, Kind.MOVED, Kind.PAGE_MOVED)
OF_CHOICES = (Kind.CHOSEN, Kind.GIVEN_UP, Kind.LEFT)
OF_ONE_PAGE = (Kind.PINNED, Kind.UNPINNED, Kind.DIRTIED, Kind.WRITTEN, Kind.PAGE_MOVED)


def column(chunk: Chunk, name: str, position: int) -> NDArray[Any]:
    """Return a column of a chunk, its default made explicit.

    ``position`` is that of the chunk's first event in the trace.
    """
    values: NDArray[Any] | None = getattr(chunk, name)
    if values is not None:
        return values
    if name == "time":
        return np.arange(position, position + len(chunk), dtype=np.uint64)
    return np.zeros(len(chunk), DTYPES[name])


def take(chunk: Chunk, rows: slice | NDArray[Any]) -> Chunk:
    """Return these rows of a chunk: a slice, row numbers in any order, or a mask.

    A default time column stays one, and then means other times unless the
    rows are consecutive.
    """
    columns = {
        name: values[rows] for name in DTYPES if (values := getattr(chunk, name)) is not None
    }
    bitmaps = {}
    if chunk.bitmaps:
        taken = np.arange(len(chunk))[rows]
        for row in np.flatnonzero(np.isin(taken, list(chunk.bitmaps))).tolist():
            bitmaps[row] = chunk.bitmaps[int(taken[row])]
    return Chunk(page=chunk.page[rows], bitmaps=bitmaps, **columns)


def select(chunk: Chunk, rows: NDArray[np.bool_], position: int) -> Chunk:
    """Return the chunk's marked rows, with the times that they had."""
    return take(replace(chunk, time=column(chunk, "time", position)), rows)


def join(chunks: Sequence[Chunk], position: int) -> Chunk:
    """Return consecutive chunks as one; it has the columns that any of them has."""
    if len(chunks) == 1:
        return chunks[0]
    starts = np.cumsum([0, *map(len, chunks)]).tolist()
    columns = {
        name: np.concatenate(
            [
                column(chunk, name, position + start)
                for chunk, start in zip(chunks, starts, strict=False)
            ]
        )
        for name in DTYPES
        if any(getattr(chunk, name) is not None for chunk in chunks)
    }
    bitmaps = {
        start + row: bitmap
        for chunk, start in zip(chunks, starts, strict=False)
        for row, bitmap in chunk.bitmaps.items()
    }
    return Chunk(page=np.concatenate([chunk.page for chunk in chunks]), bitmaps=bitmaps, **columns)


def resize(chunks: Iterable[Chunk], rows: int = CHUNK_ROWS) -> Iterator[Chunk]:
    """Yield the same events in chunks of ``rows`` rows, the last one excepted."""
    waiting: list[Chunk] = []
    held = 0
    position = 0  # of the first event that waits
    for chunk in chunks:
        start = 0
        while held + len(chunk) - start >= rows:
            stop = start + rows - held
            yield join([*waiting, take(chunk, slice(start, stop))], position)
            waiting, held, start = [], 0, stop
            position += rows
        if start < len(chunk):
            waiting.append(take(chunk, slice(start, None)))
            held += len(chunk) - start
    if waiting:
        yield join(waiting, position)


def references(chunk: Chunk) -> NDArray[np.bool_]:
    """Return which rows reference a page."""
    if chunk.kind is None:
        return np.ones(len(chunk), np.bool_)
    return chunk.kind <= LAST_REFERENCE


def of_one_page(chunk: Chunk) -> NDArray[np.bool_]:
    """Return which rows concern a single page: references, and what happens to one."""
    rows = references(chunk)
    if chunk.kind is None:
        return rows
    return rows | np.isin(chunk.kind, OF_ONE_PAGE)


def below_memory(chunk: Chunk) -> NDArray[np.bool_]:
    """Return which rows are of what a server read and wrote below memory."""
    if chunk.kind is None:
        return np.zeros(len(chunk), np.bool_)
    return np.isin(chunk.kind, BELOW)


def only_as_recorded(chunk: Chunk) -> NDArray[np.bool_]:
    """Return which rows say nothing to other pools than the recorded server's.

    They are of what became of its pools, of its choices, and of what it read and
    wrote below memory.
    """
    if chunk.kind is None:
        return np.zeros(len(chunk), np.bool_)
    return np.isin(chunk.kind, (*OF_POOLS, *OF_CHOICES, *BELOW))
