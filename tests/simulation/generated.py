"""Traces for the tests: made of events, cut into chunks anywhere, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from tidepool.traces import Chunk, Flag, Kind, Trace, page_number


class Event(NamedTuple):
    """One event, as plain numbers."""

    page: int
    kind: int = Kind.READ
    flags: int = 0
    time: int | None = None  # None, of all events or of none: the position
    backend: int = 0
    count: int = 0

    @property
    def is_reference(self) -> bool:
        return self.kind <= Kind.WRITE


_TYPES = {
    "page": np.uint64,
    "kind": np.uint8,
    "flags": np.uint16,
    "time": np.uint64,
    "backend": np.uint32,
    "count": np.uint32,
}


def chunk_of(events: Sequence[Event], bare: bool = False) -> Chunk:
    """A chunk of these events; ``bare``: without the columns that are zero throughout."""
    columns: dict[str, Any] = {}
    for name, dtype in _TYPES.items():
        values = [getattr(event, name) for event in events]
        if None not in values and (name in ("page", "time") or not bare or any(values)):
            columns[name] = np.array(values, dtype=dtype)
    return Chunk(**columns)


@dataclass
class EventTrace(Trace):
    """A trace of these events, cut before each of the positions in ``cuts``."""

    events: Sequence[Event]
    cuts: Sequence[int] = ()
    name: str = "generated"
    bare: bool = False
    relations: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        self.length = len(self.events)

    def chunks(self) -> Iterator[Chunk]:
        bounds = [0, *sorted(self.cuts), len(self.events)]
        for start, end in pairwise(bounds):
            yield chunk_of(self.events[start:end], self.bare)

    def __reduce__(self) -> tuple[Any, ...]:
        return EventTrace, (self.events, self.cuts, self.name, self.bare, dict(self.relations))


@dataclass
class PageTrace(Trace):
    """A trace of reads of these pages, in chunks of ``rows``."""

    pages: Any
    name: str = "pages"
    rows: int = 1000
    relations: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pages = np.asarray(self.pages, dtype=np.uint64)
        self.length = len(self.pages)

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, len(self.pages), self.rows):
            yield Chunk(self.pages[start : start + self.rows])


def zipf(pages: int, references: int, seed: int = 1, skew: float = 1.0) -> PageTrace:
    """Independent references, the i-th page's probability proportional to 1 / i**skew."""
    weights = 1 / np.arange(1, pages + 1) ** skew
    generator = np.random.default_rng(seed)
    drawn = generator.choice(pages, size=references, p=weights / weights.sum())
    return PageTrace(generator.permutation(pages)[drawn], name=f"zipf-{skew:g}")


def looping(pages: int, references: int) -> PageTrace:
    """The pages in order, again and again."""
    return PageTrace(np.arange(references) % pages, name="loop")


def phases(pages: int, references: int, seed: int = 1) -> PageTrace:
    """A small hot set that moves, and scans across everything."""
    generator = np.random.default_rng(seed)
    parts = []
    for phase in range(8):
        hot = generator.integers(0, pages // 10, references // 10) + phase * pages // 16
        parts += [hot, np.arange(phase * 7, phase * 7 + references // 40) % pages]
    return PageTrace(np.concatenate(parts), name="phases")


# ---- for Hypothesis ----

PAGES = [
    page_number(relation, block, fork)
    for relation, fork, block in [(0, 0, b) for b in range(9)]
    + [(1, 0, b) for b in range(4)]
    + [(1, 1, b) for b in (0, 1)]
]

_flags = st.sampled_from([0, 0, 0, 0, Flag.CORRELATED, Flag.VACUUM, Flag.SEQUENTIAL, Flag.HIT])
_page = st.sampled_from(PAGES) | st.sampled_from(PAGES[:4])
_kind = st.sampled_from([Kind.READ, Kind.READ, Kind.WRITE])
_backend = st.integers(0, 2)
_reference = st.tuples(_page, _kind, _flags, st.none(), _backend)
_plain_reference = st.tuples(_page)
_forget = st.tuples(
    _page, st.just(Kind.FORGET), st.just(0), st.none(), st.just(0), st.integers(0, 3)
)
_scan = st.tuples(_page, st.sampled_from([Kind.SCAN_BEGIN, Kind.SCAN_ADVANCE, Kind.SCAN_END]))


def _timed(events: list[Event], steps: list[int]) -> list[Event]:
    times = np.cumsum(steps[: len(events)]).tolist()
    return [event._replace(time=time) for event, time in zip(events, times, strict=True)]


@st.composite
def traces(draw: st.DrawFn, plain: bool = False, max_size: int = 120) -> EventTrace:
    """Traces of all kinds of events; ``plain``: of reads without circumstances and of forgets."""
    reference = _plain_reference if plain else _reference
    other = _forget if plain else st.one_of(_forget, _scan)
    events = [Event(*fields) for fields in draw(st.lists(reference, min_size=1, max_size=max_size))]
    place = st.integers(0, len(events))
    for at, fields in draw(st.lists(st.tuples(place, other), max_size=8)):
        events.insert(at, Event(*fields))
    if not plain:
        steps = st.lists(st.integers(0, 5), min_size=len(events), max_size=len(events))
        events = _timed(events, draw(steps))
    cuts = draw(st.lists(st.integers(0, len(events)), max_size=4))
    return EventTrace(events, tuple(cuts), bare=plain or draw(st.booleans()))
