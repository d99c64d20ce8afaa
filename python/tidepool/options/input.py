"""A trace to replay, with its counts once they are known."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from tidepool.options.values import GivenSize
from tidepool.simulation import count_pages
from tidepool.simulation.events import references
from tidepool.traces import Chunk, Trace, load
from tidepool.traces.wrapped import Watched

KEPT_EVENTS = 1 << 26  # a trace with more events is read again for each pass

Watch = Callable[[str, Trace], AbstractContextManager[Trace]]
"""Shows how far a trace is read while something is done: doing what, the trace."""


def unwatched(doing: str, trace: Trace) -> AbstractContextManager[Trace]:
    """Show nothing."""
    return nullcontext(trace)


class Input:
    """A trace, with the numbers that sizes and amounts may refer to."""

    def __init__(self, trace: Trace, watch: Watch = unwatched) -> None:
        self.trace = trace
        self._watch = watch
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

            with self._watch("counting", self.trace) as trace:
                pages = count_pages(Watched(trace, see))
            self._counted = pages, found
        return self._counted


class _TooLongError(Exception):
    """The trace has more events than are kept."""


def kept(trace: Trace, watch: Watch = unwatched) -> Trace:
    """Return the trace in memory if it is small, for it is read several times."""
    seen = 0

    def see(chunk: Chunk) -> None:
        nonlocal seen
        seen += len(chunk)
        if seen > KEPT_EVENTS:
            raise _TooLongError

    if trace.length is not None and trace.length > KEPT_EVENTS:
        return trace
    try:
        with watch("reading", trace) as read:
            return load(Watched(read, see))
    except _TooLongError:
        return trace
