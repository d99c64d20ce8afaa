"""The traces of a command line: opened, checked, kept in memory if small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import click

from tidepool.amounts import printable
from tidepool.cli.bar import watched
from tidepool.cli.failures import Failures
from tidepool.cli.options import Reading
from tidepool.errors import TraceError
from tidepool.options import Input, kept
from tidepool.simulation.events import references
from tidepool.traces import Trace, open_trace
from tidepool.traces.formats import FileTrace


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
            found = Input(kept(trace, watched) if keep else _sendable(trace), watched)
        if found is not None:
            yield found


def _sendable(trace: Trace) -> Trace:
    if isinstance(trace, FileTrace) and trace.source.spool is not None:
        raise TraceError(
            f"{trace.path}: the workers of a cluster cannot read a pipe",
            "Write the trace to a file that they can read.",
        )
    return trace


def warn_of_flaws(path: str, trace: Trace) -> None:
    """Warn on standard error of what a server's recording lacks."""
    flaws = list(trace.recorded.flaws()) if trace.recorded is not None else []
    if flaws:
        click.echo(f"tidepool: warning: {path}: {printable('; '.join(flaws))}", err=True)


def open_file(path: str, reading: Reading) -> FileTrace:
    """Open a trace as it is to be read, and warn of what it lacks."""
    trace = open_trace(path, reading.format, reading.columns, reading.keys)
    warn_of_flaws(path, trace)
    return trace


def _open(path: str, reading: Reading) -> Trace:
    trace = open_file(path, reading)
    for chunk in trace.chunks():
        if references(chunk):
            return trace
    raise TraceError(f"{path}: the trace has no references to pages")
