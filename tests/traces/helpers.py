"""Traces to test with, and what it is to be equal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tidepool.traces import Chunk, InMemoryTrace, Kind, Trace
from tidepool.traces.columns import DTYPES, column, join

SEC = 1_000_000


def whole(trace: Trace) -> Chunk:
    """Return all events of a trace as one chunk."""
    return join(list(trace.chunks()), 0)


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    """Return the events, defaults made explicit."""
    chunk = whole(trace)
    columns = [column(chunk, name, 0).tolist() for name in DTYPES]
    return [
        (page, *rest, chunk.bitmaps.get(i))
        for i, (page, *rest) in enumerate(zip(chunk.page.tolist(), *columns, strict=True))
    ]


def pages(trace: Trace) -> list[int]:
    """Return the pages of all events."""
    return [page for chunk in trace.chunks() for page in chunk.page.tolist()]


def everything() -> InMemoryTrace:
    """Return a trace that uses every column, kind and flag."""
    return InMemoryTrace.from_arrays(
        "everything",
        page=[
            5 << 34 | 7,
            5 << 34 | 8,
            6 << 34,
            6 << 34 | 1,
            6 << 34,
            6 << 34 | 2 << 32 | 1,
            5 << 34 | 7,
            5 << 34 | 7,
            2**64 - 1,
        ],
        kind=[
            Kind.READ,
            Kind.WRITE,
            Kind.SCAN_BEGIN,
            Kind.READ,
            Kind.SCAN_ADVANCE,
            Kind.SCAN_END,
            Kind.PINNED,
            Kind.UNPINNED,
            Kind.FORGET,
        ],
        flags=[0x40, 0x02, 0x20, 0x10, 0, 0, 0, 0, 0x3FF],
        time=[10, 10, 11, 12, 2 * SEC, 2**63, 2**63, 2**63, 2**63 + 5],
        backend=[1, 2, 3, 3, 3, 3, 2, 3, 2**32 - 1],
        low=[0, 0, 3, 0, 0, 0, 0, 0, 2**32 - 1],
        scan=[0, 0, 2**64 - 1, 9, 9, 9, 0, 0, 0],
        count=[0, 0, 300, 0, 0, 0, 0, 0, 2**32 - 1],
        size=[0, 0, 2**32 - 1, 0, 0, 0, 0, 0, 0],
        speed=[0, 0, 1234.5, 0, 0, 0, 0, 0, 0],
        pool=[0, 1, 0, 66, 0, 0, 0, 0, 255],
        bitmaps={2: b"\x05\x80", 4: b""},
        relations={5: "orders", 6: 'a "name", with ünicode'},
    )


def plain(n: int = 1000, seed: int = 1) -> InMemoryTrace:
    """Return references to a few pages and nothing else."""
    rng = np.random.default_rng(seed)
    return InMemoryTrace.from_arrays("plain", rng.integers(0, 50, n))


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user who may not do everything, should the tests run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(0)


class Endless(Trace):
    """Many events, made as they are asked for."""

    def __init__(self, chunks: int, rows: int = 1 << 20, distinct: int = 1000) -> None:
        self.name = "endless"
        self.count = chunks
        self.rows = rows
        self.distinct = distinct
        self.length = chunks * rows

    def chunks(self) -> Iterator[Chunk]:
        rng = np.random.default_rng(3)
        for i in range(self.count):
            page = rng.integers(0, self.distinct, self.rows).astype(np.uint64)
            time = np.arange(i * self.rows, (i + 1) * self.rows, dtype=np.uint64) * np.uint64(7)
            yield Chunk(page=page, kind=(page % np.uint64(2)).astype(np.uint8), time=time)
