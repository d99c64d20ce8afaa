"""Transactions: from their statements to the events of their backends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tidepool.generators.storage import Btree, Pages
from tidepool.traces.draws import Integers, Random
from tidepool.traces.model import Chunk, Flag, Kind
from tidepool.traces.streams import interleave

BUSY = 0.5  # of its time a backend is in a transaction: some queue, none falls behind for good


def ordinals(counts: Integers) -> Integers:
    """Return 0 … n - 1 for each n of ``counts``, one after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


@dataclass(frozen=True, slots=True)
class Transactions:
    """Some transactions, in the order in which they arrive, and their references."""

    sizes: Integers  # references of each transaction
    page: Pages  # of the first transaction's references, then the second's …
    kind: NDArray[np.uint8]
    flags: NDArray[np.uint16]


@dataclass
class Statements:
    """The statements of a batch of transactions, each given for all transactions at once.

    Each statement has a ``place``: the transaction's number and a step of it,
    see ``place()``.  References come in the order of their places; at the same
    place, in the order in which they were given.
    """

    STEPS = 128  # of a transaction, at most

    transactions: int
    _places: list[Integers] = field(default_factory=list)
    _pages: list[Pages] = field(default_factory=list)
    _kinds: list[NDArray[np.uint8]] = field(default_factory=list)
    _flags: list[NDArray[np.uint16]] = field(default_factory=list)

    def place(self, transaction: Integers, step: Integers | int = 0) -> Integers:
        """Return the places of these steps of these transactions."""
        return transaction * self.STEPS + step

    def touch(
        self, place: Integers, page: Pages, kind: Kind = Kind.READ, flags: int = Flag.INDEX
    ) -> None:
        """Reference pages."""
        self._places.append(place)
        self._pages.append(page)
        self._kinds.append(np.full(len(page), kind, np.uint8))
        self._flags.append(np.full(len(page), flags, np.uint16))

    def descend(
        self, place: Integers, index: Btree, leaf: Integers, under: Integers | None = None
    ) -> None:
        """Go from the root of an index to leaves."""
        for page in index.path(leaf, under):
            self.touch(place, page)

    def insert(self, place: Integers, page: Pages) -> None:
        """Put new rows into pages of a table."""
        self.touch(place, page, Kind.WRITE, 0)

    def enter(
        self, place: Integers, index: Btree, leaf: Integers, under: Integers | None = None
    ) -> None:
        """Put entries of new rows into leaves of an index."""
        *above, last = index.path(leaf, under)
        for page in above:
            self.touch(place, page, Kind.READ, 0)
        self.touch(place, last, Kind.WRITE, 0)

    def gather(self) -> Transactions:
        """Return the transactions."""
        places = np.concatenate(self._places)
        order = np.argsort(places, kind="stable")
        return Transactions(
            np.bincount(places // self.STEPS, minlength=self.transactions),
            np.concatenate(self._pages)[order],
            np.concatenate(self._kinds)[order],
            np.concatenate(self._flags)[order],
        )


def run(
    batches: Iterable[Transactions],
    *,
    rng: Random,
    backends: int,
    rate: float,
    repeats: int = 0,
) -> Iterator[Chunk]:
    """Let backends 1 … ``backends`` carry out transactions; yield what happens, in order.

    Transactions arrive so that there are ``rate`` references a second in the
    mean, and are dealt to the backends in turn.  A backend begins a
    transaction when it has arrived and the one before is done, and makes its
    references at even distances.  ``repeats``: how often each reference is
    repeated at once.  A reference to the page that the transaction
    referenced just before is flagged CORRELATED.
    """
    return interleave(_carried_out(batches, rng, backends, rate, repeats))


def _carried_out(
    batches: Iterable[Transactions], rng: Random, backends: int, rate: float, repeats: int
) -> Iterator[Chunk]:
    step = backends * BUSY * 1e6 / rate  # microseconds between references of a transaction
    now = 0.0  # when the batch begins to arrive
    free = np.zeros(backends)  # when each backend is done with the batch before
    for batch in batches:
        sizes = batch.sizes * (1 + repeats)
        duration = sizes.sum() * 1e6 / rate
        arrival = now + (np.arange(len(sizes)) + rng.random(len(sizes))) * (duration / len(sizes))
        begin, free = _begin(arrival, sizes.astype(np.float64) * step, free)
        now += duration

        transaction = np.repeat(np.arange(len(sizes)), sizes)
        ordinal = ordinals(sizes)
        time = (begin[transaction] + ordinal * step).astype(np.uint64)
        page = np.repeat(batch.page, 1 + repeats)
        flags = np.repeat(batch.flags, 1 + repeats)
        again = (page[1:] == page[:-1]) & (ordinal[1:] > 0)
        flags[1:][again] |= np.uint16(Flag.CORRELATED)

        order = np.argsort(time, kind="stable")
        yield Chunk(
            page=page[order],
            kind=np.repeat(batch.kind, 1 + repeats)[order],
            flags=flags[order],
            time=time[order],
            backend=(transaction[order] % backends + 1).astype(np.uint32),
        )


def _begin(
    arrival: NDArray[np.float64], service: NDArray[np.float64], free: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when transactions begin, dealt in turn to the backends, and when each is free again.

    A transaction begins at max(its arrival, end of the one before): Lindley's
    recursion, solved for a whole batch by a running maximum.
    """
    backends = len(free)
    rounds = -(-len(arrival) // backends)
    padding = (0, rounds * backends - len(arrival))
    arrivals = np.pad(arrival, padding, mode="edge").reshape(rounds, backends)
    services = np.pad(service, padding).reshape(rounds, backends)
    arrivals[0] = np.maximum(arrivals[0], free)
    before = np.cumsum(services, axis=0) - services
    begin = before + np.maximum.accumulate(arrivals - before, axis=0)
    return begin.ravel()[: len(arrival)], begin[-1] + services[-1]
