"""Traces, whatever they are given as."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from tidepool.errors import TraceError
from tidepool.options.arguments import columns_of
from tidepool.simulation.events import references
from tidepool.traces import InMemoryTrace, Trace, open_trace
from tidepool.traces.columns import DTYPES
from tidepool.traces.wrapped import Renamed

READING = ("format", "columns", "keys")

TraceLike = Any
"""A trace: a Trace (of a generator, say), the name of a file or a pipe ("-": standard input), a
file that is open for reading, or page numbers: a numpy array, a pyarrow array, a column or a whole
DataFrame with columns named as a chunk's are, any iterable of integers."""


def traces_of(
    given: TraceLike | Iterable[TraceLike] | Mapping[str, TraceLike],
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    keys: str | None = None,
) -> list[Trace]:
    """Return the traces that one trace, several, or a map from names to traces are.

    ``format``, ``columns`` and ``keys`` are for files, as in open_trace.
    Raises TraceError for what is none, for a trace without references, and for
    ways of reading files if none is given.
    """
    reading = (format, columns_of(columns), keys)
    found: list[Trace]
    if isinstance(given, Mapping):
        _check_reading(reading, given.values())
        found = [
            Renamed(_trace(each, str(name), reading), str(name)) for name, each in given.items()
        ]
    else:
        items = _several(given)
        _check_reading(reading, items)
        found = [
            _trace(each, "pages" if len(items) == 1 else f"pages {i}", reading)
            for i, each in enumerate(items, 1)
        ]
    if not found:
        raise TraceError("no traces given")
    for trace in found:
        _check(trace)
    return _told_apart(found)


def _check_reading(reading: tuple[Any, Any, Any], given: Iterable[Any]) -> None:
    """Raise TraceError if it is told how to read files, and there are none."""
    if not isinstance(reading[0], (str, type(None))):
        raise TraceError(f"format is {reading[0]!r}", 'Use the name of a format, such as "csv".')
    ways = [way for way, value in zip(READING, reading, strict=True) if value is not None]
    if ways and not any(map(_is_file, given)):
        raise TraceError(
            f"{ways[0]} tells how to read a file, and no trace is one",
            f"Leave out {ways[0]}, or give the name of a file.",
        )


def _is_file(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike)) or hasattr(given, "read")


def _several(given: Any) -> list[Any]:
    """Return the traces of a list, unless it is a list of pages: one trace."""
    if _is_one(given) or not isinstance(given, Iterable):
        return [given]
    items = iter(given)
    first = next(items, None)
    if first is None:
        return []
    whole = chain([first], items)
    return [whole] if _is_page(first) else list(whole)


def _is_one(given: Any) -> bool:
    return (
        isinstance(given, (str, bytes, os.PathLike, Trace, np.ndarray))
        or hasattr(given, "read")
        or hasattr(given, "__array__")
        or hasattr(given, "columns")
    )


def _is_page(item: Any) -> bool:
    return isinstance(item, (int, float, np.number)) and not isinstance(item, bool)


def _trace(given: Any, name: str, reading: tuple[Any, Any, Any]) -> Trace:
    if isinstance(given, Trace):
        return given
    if _is_file(given):
        return open_trace(given, *reading)
    if hasattr(given, "columns"):
        return _from_frame(name, given)
    if hasattr(given, "to_numpy"):
        return InMemoryTrace.from_arrays(str(getattr(given, "name", None) or name), _array(given))
    if isinstance(given, np.ndarray) or hasattr(given, "__array__"):
        return InMemoryTrace.from_arrays(name, np.asarray(given))
    if isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)):
        return InMemoryTrace.from_arrays(name, list(given))
    raise TraceError(
        f"{given!r} is not a trace",
        "Give the name of a file, page numbers (an array, a column) or a Trace.",
    )


def _from_frame(name: str, frame: Any) -> Trace:
    # Arrow's columns are the columns themselves, pandas's their names
    columns = [str(column) for column in getattr(frame, "column_names", frame.columns)]
    if "page" not in columns:
        raise TraceError(
            'a table of events has no column "page"',
            f"Give one of its columns ({', '.join(columns[:20])}), or rename it.",
        )
    arrays = {column: _array(frame[column]) for column in columns}
    if unknown := [column for column in columns if column not in ("page", *DTYPES)]:
        raise TraceError(
            f'an event has no "{unknown[0]}"', f"Keep columns called page, {', '.join(DTYPES)}."
        )
    return InMemoryTrace.from_arrays(name, arrays.pop("page"), **arrays)


def _array(column: Any) -> Any:
    return np.asarray(column.to_numpy())


def _check(trace: Trace) -> None:
    if not any(references(chunk) for chunk in trace.chunks()):
        raise TraceError(f"{trace.name}: the trace has no references to pages")


def _told_apart(traces: list[Trace]) -> list[Trace]:
    """Return the traces; those with the same name are called by their paths, or numbered."""
    names = Counter(trace.name for trace in traces)
    found = []
    for i, trace in enumerate(traces, 1):
        if names[trace.name] > 1:
            path = getattr(trace, "path", None)
            trace = Renamed(trace, str(path) if path else f"{trace.name} ({i})")
        found.append(trace)
    return found
