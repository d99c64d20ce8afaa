"""What readers of all formats share, and writers."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from tidepool.errors import TraceError
from tidepool.traces.formats.input_file import COMPRESSIONS, Source, trace_errors
from tidepool.traces.model import Chunk, Trace


def strip_compression(path: str) -> str:
    """Return the name without the extensions of compressions."""
    while True:
        stem, extension = os.path.splitext(path)
        if not stem or extension.lower() not in (c.extension for c in COMPRESSIONS):
            return path
        path = stem


class FileTrace(Trace):
    """A trace in a file; ``path`` is its name in messages."""

    format: str

    def __init__(self, source: Source) -> None:
        self.source = source
        self.path = source.path
        self.name = os.path.splitext(os.path.basename(strip_compression(source.path)))[0]

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events; an empty trace is a damaged one."""
        empty = True
        with trace_errors(self.path):
            for chunk in self._read():
                empty = False
                yield chunk
        if empty:
            raise TraceError(f"{self.path}: the trace is empty")

    @abstractmethod
    def _read(self) -> Iterator[Chunk]:
        """Yield the events in chunks of at least one row."""


class NotHeldError(TraceError):
    """A format cannot hold what a trace has; the message does not name the file."""


def check_pages(chunk: Chunk, largest: int) -> None:
    """Raise NotHeldError if a page is above the largest that a format holds."""
    wrong = chunk.page > np.uint64(largest)
    if wrong.any():
        raise NotHeldError(
            f"page {chunk.page[wrong.argmax()]} is above the format's largest, {largest}",
            "Renumber the pages (--renumber).",
        )
