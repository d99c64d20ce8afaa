"""A progress bar for a trace that is read, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tidepool.traces import Chunk, Trace


class _Watched(Trace):
    """A trace that reports how far it has been read."""

    def __init__(self, trace: Trace, bar: Progress, task: TaskID) -> None:
        self._trace = trace
        self._bar = bar
        self._task = task
        self.name = trace.name
        self.relations = trace.relations
        self.length = trace.length
        self.page_size = trace.page_size

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events."""
        for chunk in self._trace.chunks():
            yield chunk
            self._bar.advance(self._task, len(chunk))


@contextmanager
def progress(trace: Trace, doing: str) -> Iterator[Trace]:
    """Show how far the trace is read; without a terminal, do nothing."""
    if not sys.stderr.isatty():
        yield trace
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} events"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Watched(trace, bar, bar.add_task(f"{doing} {trace.name}", total=trace.length))
