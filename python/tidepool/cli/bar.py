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

from tidepool.cli import interrupts
from tidepool.traces import Trace
from tidepool.traces.wrapped import Watched

Advance = Callable[[int], None]


@contextmanager
def bar(doing: str, total: int | None) -> Iterator[Advance]:
    """Show a bar for some work, and leave nothing behind on the screen.

    Yields a function to call, from any thread, with the number of steps done; it
    raises KeyboardInterrupt after an interrupt that was lost (interrupts.py).
    ``total`` is None if unknown.  Print nothing meanwhile.
    """
    if not sys.stderr.isatty():
        yield lambda steps: interrupts.check()
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

        def advance(steps: int) -> None:
            interrupts.check()
            progress.advance(task, steps)

        yield advance


@contextmanager
def watched(doing: str, trace: Trace) -> Iterator[Trace]:
    """Show a bar of how far a trace has been read; yields the trace to read."""
    with bar(f"{doing} {trace.name}", trace.length) as advance:
        yield Watched(trace, lambda chunk: advance(len(chunk)))
