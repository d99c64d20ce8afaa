"""Traces in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tidepool.errors import TraceError
from tidepool.traces.columns import DTYPES, resize
from tidepool.traces.model import PAGE_SIZE, Chunk, Trace
from tidepool.traces.provenance import Recorded


class InMemoryTrace(Trace):
    """A trace whose chunks are in memory, for repeated fast replays and for traces made by hand."""

    def __init__(
        self,
        name: str,
        chunks: Iterable[Chunk],
        relations: Mapping[int, str] | None = None,
        page_size: int = PAGE_SIZE,
        recorded: Recorded | None = None,
    ) -> None:
        self.name = name
        self.relations = dict(relations or {})
        self.page_size = page_size
        self.recorded = recorded
        self._chunks = tuple(resize(chunks))
        self.length: int = sum(map(len, self._chunks))

    @classmethod
    def from_arrays(
        cls,
        name: str,
        page: ArrayLike,
        relations: Mapping[int, str] | None = None,
        page_size: int = PAGE_SIZE,
        bitmaps: Mapping[int, bytes] | None = None,
        **columns: ArrayLike,
    ) -> InMemoryTrace:
        """Make a trace of columns of equal length, named as a chunk's are.

        >>> InMemoryTrace.from_arrays("loop", [1, 2, 3, 1, 2, 3], kind=[0, 0, 1, 0, 0, 1])
        """
        pages = np.asarray(page, np.uint64)
        arrays: dict[str, Any] = {
            key: np.asarray(values, DTYPES[key]) for key, values in columns.items()
        }
        for key, values in arrays.items():
            if values.shape != pages.shape:
                raise TraceError(
                    f'column "{key}" has {values.size} rows, column "page" {pages.size}'
                )
        return cls(
            name, [Chunk(page=pages, bitmaps=dict(bitmaps or {}), **arrays)], relations, page_size
        )

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events."""
        return iter(self._chunks)


def load(trace: Trace) -> InMemoryTrace:
    """Read a trace into memory: 8 to 43 bytes an event, as it has columns."""
    if isinstance(trace, InMemoryTrace):
        return trace
    return InMemoryTrace(
        trace.name, trace.chunks(), trace.relations, trace.page_size, trace.recorded
    )
