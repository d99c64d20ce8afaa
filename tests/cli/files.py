"""Trace files for the tests of the command, and a reader of them where there is none yet."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import tidepool.traces
from simulation.generated import Event, EventTrace
from tidepool.errors import TraceError
from tidepool.traces import Kind, Trace

FIELDS = ("page", "kind", "flags", "time", "backend", "count")


def write_csv(path: Path, events: Sequence[Event]) -> Path:
    """Write a trace as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for i, event in enumerate(events):
            time = i if event.time is None else event.time
            kind = Kind(event.kind).name.lower()
            writer.writerow((event.page, kind, event.flags, time, event.backend, event.count))
    return path


def open_trace(
    path: str, format: str | None = None, columns: Mapping[str, str] | None = None
) -> Trace:
    """Read what write_csv wrote."""
    try:
        with open(path, newline="") as file:
            rows = list(csv.reader(file))[1:]
        events = [
            Event(int(p), Kind[k.upper()], int(f), int(t), int(b), int(n))
            for p, k, f, t, b, n in rows
        ]
    except (ValueError, KeyError):
        raise TraceError(f"{path}: not a trace") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    if not events:
        raise TraceError(f"{path}: the trace is empty")
    return EventTrace(events, name=Path(path).stem, cuts=range(0, len(events), 5000))


def load(trace: Trace) -> Trace:
    """Read all of a trace, and return one like it."""
    list(trace.chunks())
    return trace


def install() -> None:
    """Provide the functions that are not there."""
    for name, function in (("open_trace", open_trace), ("load", load)):
        if not hasattr(tidepool.traces, name):
            setattr(tidepool.traces, name, function)
