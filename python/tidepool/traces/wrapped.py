"""Traces that are another trace: watched as it is read, or by another name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidepool.traces.model import Chunk, Trace


class _Wrapped(Trace):
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.name = trace.name
        self.relations = trace.relations
        self.length = trace.length
        self.page_size = trace.page_size
        self.recorded = trace.recorded

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events."""
        return self._trace.chunks()


class Watched(_Wrapped):
    """A trace that reports each of its chunks once it has been used."""

    def __init__(self, trace: Trace, see: Callable[[Chunk], None]) -> None:
        super().__init__(trace)
        self._see = see

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events."""
        for chunk in super().chunks():
            yield chunk
            self._see(chunk)


class Renamed(_Wrapped):
    """A trace by another name; the caller's keeps its own."""

    def __init__(self, trace: Trace, name: str) -> None:
        super().__init__(trace)
        self.name = name
