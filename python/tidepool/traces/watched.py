"""A trace that somebody watches as it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidepool.traces.model import Chunk, Trace


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
