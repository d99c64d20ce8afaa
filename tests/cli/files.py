"""Trace files for the tests of the command."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from simulation.generated import Event
from tidepool.traces import Kind

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
