"""Traces in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidepool.errors import TraceError
from tidepool.traces.columns import DTYPES, resize
from tidepool.traces.model import PAGE_SIZE, Chunk, Kind, Trace
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

        Raises TraceError if a column has not one dimension, a value is not an
        integer in its column's range (speeds excepted), or no kind of event, or
        columns differ in length.  Of a kind, True means a write, as in a file.

        >>> InMemoryTrace.from_arrays("loop", [1, 2, 3, 1, 2, 3], kind=[0, 0, 1, 0, 0, 1])
        """
        if unknown := columns.keys() - DTYPES.keys():
            raise TraceError(
                f'an event has no "{min(unknown)}"', f"It has: page, {', '.join(DTYPES)}."
            )
        pages = _column("page", page, np.uint64)
        arrays: dict[str, Any] = {
            key: _column(key, values, DTYPES[key]) for key, values in columns.items()
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


def _column(name: str, given: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the values in their column's type; raise TraceError if one would change."""
    values = np.asarray(given)
    if values.ndim != 1:
        shape = f"has {values.ndim} dimensions" if values.ndim else "is a single value"
        raise TraceError(
            f'column "{name}" {shape}',
            "Give one value for each event, such as [5] or array.ravel().",
        )
    if values.dtype.kind == "f" and not isinstance(given, np.ndarray):
        values = np.asarray(given, object)  # numpy makes [0, 2**64 - 1] floats
    if values.dtype.kind == "b" and name == "kind":
        values = values.astype(np.uint8)
    if values.dtype.kind == "b":
        raise TraceError(
            f'column "{name}" is of booleans', "Give numbers: numpy.flatnonzero(mask) of a mask."
        )
    try:
        with np.errstate(invalid="ignore"):
            fraction = values % 1
    except TypeError:
        raise TraceError(
            f'column "{name}" is not of numbers',
            "Number the values first, as numpy.unique(values, return_inverse=True)[1] does.",
        ) from None
    if np.issubdtype(dtype, np.floating):
        return values.astype(dtype)
    largest = int(np.iinfo(dtype).max)
    if values.dtype.kind == "f":
        largest = min(largest, 2**53)  # above, not every integer is a double
    _check(name, values, fraction != 0, "not a whole number")
    _check(name, values, values < 0, "below 0")
    _check(name, values, values > largest, f"above {largest}")
    if name == "kind":
        hint = f"Kinds are 0 to {max(Kind)}: see tidepool.traces.Kind."
        _check(name, values, values > max(Kind), "no kind of event", hint)
    return values.astype(dtype)


def _check(name: str, values: NDArray[Any], wrong: Any, why: str, hint: str | None = None) -> None:
    """Raise TraceError for the first value that is wrong."""
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise TraceError(f'column "{name}", row {row}: {values[row]} is {why}', hint)


def load(trace: Trace) -> InMemoryTrace:
    """Read a trace into memory: 8 to 43 bytes an event, as it has columns."""
    if isinstance(trace, InMemoryTrace):
        return trace
    return InMemoryTrace(
        trace.name, trace.chunks(), trace.relations, trace.page_size, trace.recorded
    )
