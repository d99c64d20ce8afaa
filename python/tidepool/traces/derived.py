"""Traces made from others as they are read: a sample of the pages, pages renumbered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.errors import TraceError
from tidepool.traces.columns import below_memory, of_one_page, references, select
from tidepool.traces.model import Chunk, Trace
from tidepool.traces.page_table import PageTable


class SampledTrace(Trace):
    """See sample_trace()."""

    def __init__(self, trace: Trace, rate: float, seed: int) -> None:
        self._trace = trace
        self.name = f"{trace.name} {rate * 100:g}%"
        self.relations = trace.relations
        self.page_size = trace.page_size
        self.rate = rate
        self.seed = seed

    def chunks(self) -> Iterator[Chunk]:
        """Yield the sampled events."""
        position = 0
        for chunk in self._trace.chunks():
            rows = in_sample(chunk.page, self.rate, self.seed) | ~of_one_page(chunk)
            rows &= ~below_memory(chunk)
            if rows.any():
                yield select(chunk, rows, position)
            position += len(chunk)


def in_sample(pages: NDArray[np.uint64], rate: float, seed: int) -> NDArray[np.bool_]:
    """Return which pages are in the sample of this rate, as tps_sample (sim.h) chooses them.

    The sample of a lower rate is part of that of a higher one; samples of
    different seeds have nothing to do with each other.
    """
    if rate >= 1:
        return np.ones(len(pages), np.bool_)
    pages = np.ascontiguousarray(pages, np.uint64)
    events = ffi.new("tps_events *")
    events.n = len(pages)
    events.page = ffi.from_buffer("uint64_t *", pages)
    chosen = np.empty(len(pages), np.uint32)
    threshold = min(int(rate * 2.0**64), 2**64 - 1)
    array = ffi.from_buffer("uint32_t *", chosen)
    n = lib.tps_sample(events, seed, threshold, 0, array, ffi.NULL)
    rows = np.zeros(len(pages), np.bool_)
    rows[chosen[:n]] = True
    return rows


def sample_trace(trace: Trace, rate: float, seed: int = 0) -> Trace:
    """Return the references (and pins) of a fraction ``rate`` of the trace's pages, by a hash.

    Spatial sampling as in SHARDS (Waldspurger et al., FAST 2015): a cache of
    rate times the size sees about the miss ratio of the whole trace.  Times
    stay, and so do scan and forget events, whose ranges are not of single
    pages.  What is read and written below memory is left out: it is not that of
    a smaller cache.

    Raises TraceError unless the rate is above 0 and at most 1.
    """
    if not 0 < rate <= 1:
        raise TraceError(
            f"a sampling rate of {rate:g} is not possible", "Use more than 0 and at most 1."
        )
    return SampledTrace(trace, rate, seed)


class RenumberedTrace(Trace):
    """The references of a trace, its pages numbered from 0 in the order of their first reference.

    For programs that keep a table by page number.  Other events are left
    out: consecutive pages do not stay consecutive.  16 bytes of
    memory a page.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.name = trace.name
        self.page_size = trace.page_size

    def chunks(self) -> Iterator[Chunk]:
        """Yield the renumbered references."""
        numbers = PageTable()
        position = 0
        for chunk in self._trace.chunks():
            kept = select(chunk, references(chunk), position)
            if chunk.time is None and len(kept) == len(chunk):
                kept = replace(kept, time=None)
            position += len(chunk)
            if len(kept) > 0:
                yield replace(kept, page=self._renumber(kept.page, numbers))

    @staticmethod
    def _renumber(pages: NDArray[np.uint64], numbers: PageTable) -> NDArray[np.uint64]:
        distinct, first, inverse = np.unique(pages, return_index=True, return_inverse=True)
        values = numbers.get(distinct, -1)
        new = np.flatnonzero(values < 0)
        values[new[np.argsort(first[new])]] = np.arange(len(numbers), len(numbers) + len(new))
        numbers.put(distinct, values)
        return values[inverse].astype(np.uint64)
