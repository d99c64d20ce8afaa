"""The traces of a command line: opened, checked, kept in memory if small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import click

from tidepool.cli.bar import Watched, bar
from tidepool.cli.failures import Failures
from tidepool.cli.options import GivenSize, Reading
from tidepool.errors import TraceError
from tidepool.simulation import count_pages
from tidepool.simulation.events import references
from tidepool.traces import Chunk, Trace, load, open_trace
from tidepool.traces.formats import FileTrace

KEPT_EVENTS = 1 << 26  # a trace with more events is read again for each pass


class Input:
    """A trace to replay, with its counts once they are known."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._counted: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The trace's name, for people."""
        return self.trace.name

    def pages(self) -> int:
        """Return the number of distinct pages, counted when first asked for."""
        return self._count()[0]

    @property
    def known_pages(self) -> int | None:
        """The number of distinct pages, if they have been counted."""
        return None if self._counted is None else self._counted[0]

    def references(self) -> int:
        """Return the number of references, counted when first asked for."""
        return self._count()[1]

    def frames(self, size: GivenSize) -> int:
        """Return how many frames a size is for this trace."""
        return size.size.resolve(None if size.size.share is None else self.pages())

    def _count(self) -> tuple[int, int]:
        if self._counted is None:
            found = 0

            def see(chunk: Chunk) -> None:
                nonlocal found
                found += references(chunk)
                advance(len(chunk))

            with bar(f"counting {self.name}", self.trace.length) as advance:
                pages = count_pages(Watched(self.trace, see))
            self._counted = pages, found
        return self._counted


def open_traces(paths: Sequence[str], reading: Reading, failures: Failures) -> list[Trace]:
    """Open the traces, each once, and look into each as far as its first reference.

    Traces with the same name are called by their paths.  Those that cannot be
    read or have no references are reported and skipped.
    """
    traces: dict[str, Trace] = {}
    for path in dict.fromkeys(paths):
        with failures.reported():
            traces[path] = _open(path, reading)
    names = Counter(trace.name for trace in traces.values())
    for path, trace in traces.items():
        if names[trace.name] > 1:
            trace.name = path
    return list(traces.values())


def open_recordings(paths: Sequence[str]) -> list[Trace]:
    """Open a server's recordings, each once; what they lack is for the caller to say.

    Raises TidepoolError if one cannot be read.
    """
    return [open_trace(path) for path in dict.fromkeys(paths)]


def inputs(traces: Sequence[Trace], keep: bool, failures: Failures) -> Iterator[Input]:
    """Yield the traces in turn; with ``keep``, read small ones into memory.

    Damaged ones are reported and skipped.
    """
    for trace in traces:
        found = None
        with failures.reported():
            found = Input(_loaded(trace) if keep else _sendable(trace))
        if found is not None:
            yield found


def _sendable(trace: Trace) -> Trace:
    if isinstance(trace, FileTrace) and trace.source.spool is not None:
        raise TraceError(
            f"{trace.path}: the workers of a cluster cannot read a pipe",
            "Write the trace to a file that they can read.",
        )
    return trace


class _TooLongError(Exception):
    """The trace has more events than are kept."""


def _loaded(trace: Trace) -> Trace:
    seen = 0

    def see(chunk: Chunk) -> None:
        nonlocal seen
        seen += len(chunk)
        if seen > KEPT_EVENTS:
            raise _TooLongError
        advance(len(chunk))

    if trace.length is not None and trace.length > KEPT_EVENTS:
        return trace
    try:
        with bar(f"reading {trace.name}", trace.length) as advance:
            loaded = load(Watched(trace, see))
    except _TooLongError:
        return trace
    return loaded


def warn_of_flaws(path: str, trace: Trace) -> None:
    """Warn on standard error of what a server's recording lacks."""
    flaws = list(trace.recorded.flaws()) if trace.recorded is not None else []
    if flaws:
        click.echo(f"tidepool: warning: {path}: {'; '.join(flaws)}", err=True)


def _open(path: str, reading: Reading) -> Trace:
    trace = open_trace(path, reading.format, reading.columns, reading.keys)
    warn_of_flaws(path, trace)
    for chunk in trace.chunks():
        if references(chunk):
            return trace
    raise TraceError(f"{path}: the trace has no references to pages")
