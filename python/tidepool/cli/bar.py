"""Progress bars for long work, on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tidepool.traces.model import Chunk, Trace

Advance = Callable[[int], None]


class Watched(Trace):
    """A trace that reports each of its chunks once it has been used."""

    def __init__(self, trace: Trace, see: Callable[[Chunk], None]) -> None:
        self._trace = trace
        self._see = see
        self.name = trace.name
        self.relations = trace.relations
        self.length = trace.length
        self.page_size = trace.page_size
        self.recorded = trace.recorded

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events."""
        for chunk in self._trace.chunks():
            yield chunk
            self._see(chunk)


@contextmanager
def bar(doing: str, total: int | None) -> Iterator[Advance]:
    """Show a bar for some work, and leave nothing behind on the screen.

    Yields a function to call, from any thread, with the number of steps done.
    ``total`` is None if unknown.  Print nothing meanwhile.
    """
    if not sys.stderr.isatty():
        yield lambda steps: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def watched(doing: str, trace: Trace) -> Iterator[Trace]:
    """Show a bar of how far a trace has been read; yields the trace to read."""
    with bar(f"{doing} {trace.name}", trace.length) as advance:
        yield Watched(trace, lambda chunk: advance(len(chunk)))
