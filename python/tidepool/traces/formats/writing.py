"""Writing a trace to a file, with an account of what the format cannot hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from tidepool.errors import TraceError
from tidepool.traces.columns import references, select
from tidepool.traces.formats.base import NotHeldError
from tidepool.traces.formats.detection import format_of_name
from tidepool.traces.formats.input_file import COMPRESSIONS, Compression, trace_errors
from tidepool.traces.formats.output_file import STANDARD_OUTPUT, new_file
from tidepool.traces.formats.registry import WRITABLE, Format, find_format
from tidepool.traces.model import PAGE_SIZE, Chunk, Kind, Trace


@dataclass(frozen=True)
class Written:
    """What was written: how many events, and what of the trace was not, in words."""

    format: str
    events: int
    lost: tuple[str, ...]


def write_trace(trace: Trace, path: str | os.PathLike[str], format: str | None = None) -> Written:
    """Write a trace to a file and return what of it got lost; ``-`` is standard output.

    Without ``format`` the name's extension determines it (native, on standard output); a further
    .gz, .xz or .zst compresses.  After an error the file is what it was before.

    Raises TraceError if the format is unknown, the trace cannot be read, has
    nothing that the format holds, or the file cannot be written.
    """
    path = os.fspath(path)
    if format is None and path == STANDARD_OUTPUT:
        format = "native"
    into = find_format(format) if format is not None else format_of_name(path)
    if into is None:
        raise TraceError(
            f"{path}: the name does not tell the trace format",
            f"Name it: one of {', '.join(WRITABLE)}.",
        )
    if into.write is None:
        raise TraceError(
            f"traces of format {into.name} are only read", f"Write one of {', '.join(WRITABLE)}."
        )
    account = _Account(trace, into)
    with trace_errors(path), ExitStack() as stack:
        out = stack.enter_context(new_file(path))
        for compression in _compressions(path):
            out = stack.enter_context(compression.writer(out))
        try:
            into.write(trace, account.chunks(), out)
        except NotHeldError as error:
            raise TraceError(f"{path}: {error}", error.hint) from None
        if account.written == 0:
            nothing = (
                f"has nothing that the {into.name} format holds" if account.read else "is empty"
            )
            raise TraceError(f"{path}: not written, since the trace {nothing}")
    return Written(into.name, account.written, account.lost())


def _compressions(path: str) -> list[Compression]:
    """Return the compressions that the name asks for, outermost first."""
    wanted: list[Compression] = []
    while True:
        path, extension = os.path.splitext(path)
        found = next((c for c in COMPRESSIONS if c.extension == extension.lower()), None)
        if found is None:
            return wanted
        wanted.append(found)


_COLUMNS = {"flags": "flags", "backend": "backends", "scan": "scan ids", "pool": "pools"}


class _Account:
    """Hands a trace's events to a writer and counts what the format does not hold."""

    def __init__(self, trace: Trace, into: Format) -> None:
        self.trace = trace
        self.holds = into.holds
        self.read = 0
        self.written = 0
        self.events = 0  # other than references, left out
        self.writes = 0  # references that become reads
        self.columns: set[str] = set()

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events that the format holds."""
        for chunk in self.trace.chunks():
            kept = chunk
            if "events" not in self.holds and not (rows := references(chunk)).all():
                kept = select(chunk, rows, self.read)
                self.events += len(chunk) - len(kept)
            self.read += len(chunk)
            if len(kept) > 0:
                self._note(kept)
                self.written += len(kept)
                yield kept

    def _note(self, chunk: Chunk) -> None:
        if "writes" not in self.holds and chunk.kind is not None:
            self.writes += int(np.count_nonzero(chunk.kind == Kind.WRITE))
        if chunk.time is not None and "time" not in self.holds:
            if "seconds" not in self.holds:
                self.columns.add("times")
            elif (chunk.time % np.uint64(1_000_000)).any():
                self.columns.add("fractions of seconds")
        for name, words in _COLUMNS.items():
            values = getattr(chunk, name)
            if name not in self.holds and values is not None and values.any():
                self.columns.add(words)

    def lost(self) -> tuple[str, ...]:
        lost = []
        if self.events:
            lost.append(f"{self.events} scan, forget and pin events")
        if self.writes:
            lost.append(f"that {self.writes} references are writes")
        lost += sorted(self.columns)
        if "names" not in self.holds and self.trace.relations:
            lost.append("relation names")
        if "names" not in self.holds and self.trace.page_size != PAGE_SIZE:
            lost.append("the page size")
        return tuple(lost)
