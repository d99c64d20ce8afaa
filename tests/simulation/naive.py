"""Replay in plain Python: the caches as their papers put them, the counting as it is defined.

Nothing is shared with the C code or with the models of the single operations:
a cache here takes a whole reference at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulation.generated import Event
from tidepool.traces import Flag, Kind

NEVER = 2**64


class Cache:
    """Pages resident in ``frames`` frames.

    ``hit`` is told only of references that count, unless ``counts_all``;
    ``load`` returns the pages that went to make room, or the page itself if it
    is refused.
    """

    counts_all = False

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.position = 0  # of the event being replayed
        self.time = 0  # its time

    def __contains__(self, page: int) -> bool:
        raise NotImplementedError

    def hit(self, page: int, event: Event) -> None: ...

    def load(self, page: int, event: Event) -> list[int]:
        raise NotImplementedError

    def forget(self, page: int) -> None:
        raise NotImplementedError

    def resize(self, frames: int) -> list[int]:
        raise NotImplementedError

    def frame_of(self, page: int) -> int:
        """Where it lies, if that matters."""
        return 0

    def pin(self, page: int) -> None: ...

    def unpin(self, page: int) -> None: ...


class LRU(Cache):
    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.stack: list[int] = []

    def __contains__(self, page: int) -> bool:
        return page in self.stack

    def hit(self, page: int, event: Event) -> None:
        self.stack.remove(page)
        self.stack.insert(0, page)

    def load(self, page: int, event: Event) -> list[int]:
        gone = [self.stack.pop()] if len(self.stack) == self.frames else []
        self.stack.insert(0, page)
        return gone

    def forget(self, page: int) -> None:
        self.stack.remove(page)

    def resize(self, frames: int) -> list[int]:
        gone = self.stack[frames:]
        self.stack, self.frames = self.stack[:frames], frames
        return gone


class Clock(Cache):
    """Positions around a dial; a hand; a count at each position, up to ``max_usage``."""

    counts_all = True

    def __init__(self, frames: int, max_usage: int = 5, initial: int = 1) -> None:
        super().__init__(frames)
        self.dial: list[int | None] = [None] * frames
        self.usage = [0] * frames
        self.empty = list(range(frames))  # next to be filled first
        self.hand = 0
        self.max_usage, self.initial = max_usage, initial

    def __contains__(self, page: int) -> bool:
        return page in self.dial

    def hit(self, page: int, event: Event) -> None:
        at = self.dial.index(page)
        limit = 1 if event.flags & Flag.VACUUM else self.max_usage
        if self.usage[at] < limit:
            self.usage[at] += 1

    def load(self, page: int, event: Event) -> list[int]:
        gone: list[int] = []
        if not self.empty:
            while self.usage[self.hand] > 0:
                self.usage[self.hand] -= 1
                self.hand = (self.hand + 1) % self.frames
            victim = self.dial[self.hand]
            assert victim is not None
            gone = [victim]
            self.empty = [self.hand]
            self.hand = (self.hand + 1) % self.frames
        at = self.empty.pop(0)
        self.dial[at], self.usage[at] = page, self.initial
        return gone

    def frame_of(self, page: int) -> int:
        return self.dial.index(page)

    def forget(self, page: int) -> None:
        at = self.frame_of(page)
        self.dial[at], self.usage[at] = None, 0
        self.empty.insert(0, at)


class ARC(Cache):
    """Figure 4 of the paper, in one step; most recent first."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.t1: list[int] = []
        self.t2: list[int] = []
        self.b1: list[int] = []
        self.b2: list[int] = []
        self.p = 0.0

    def __contains__(self, page: int) -> bool:
        return page in self.t1 or page in self.t2

    def hit(self, page: int, event: Event) -> None:
        (self.t1 if page in self.t1 else self.t2).remove(page)
        self.t2.insert(0, page)

    def load(self, page: int, event: Event) -> list[int]:
        counts = not event.flags & (Flag.CORRELATED | Flag.VACUUM)
        remembered_1, remembered_2 = page in self.b1, page in self.b2
        if counts and remembered_1:
            self.p = min(self.p + max(1, len(self.b2) / len(self.b1)), self.frames)
        if counts and remembered_2:
            self.p = max(self.p - max(1, len(self.b1) / len(self.b2)), 0)
        gone = []
        if len(self.t1) + len(self.t2) == self.frames:
            gone = [self.replace(counts and remembered_2)]
        for ghosts in (self.b1, self.b2):
            if page in ghosts:
                ghosts.remove(page)
        known = counts and (remembered_1 or remembered_2)
        (self.t2 if known else self.t1).insert(0, page)
        self.trim()
        return gone

    def replace(self, in_b2: bool) -> int:
        t1 = len(self.t1)
        if not self.t2 or (t1 > 0 and (t1 > self.p or (in_b2 and t1 == self.p))):
            self.b1.insert(0, self.t1.pop())
            return self.b1[0]
        self.b2.insert(0, self.t2.pop())
        return self.b2[0]

    def trim(self) -> None:
        while len(self.t1) + len(self.b1) > self.frames and self.b1:
            self.b1.pop()
        while len(self.t1) + len(self.t2) + len(self.b1) + len(self.b2) > 2 * self.frames:
            (self.b2 or self.b1).pop()

    def forget(self, page: int) -> None:
        (self.t1 if page in self.t1 else self.t2).remove(page)


class OPT(Cache):
    """Looks through the rest of the trace for each page, each time."""

    counts_all = True

    def __init__(self, frames: int, events: Sequence[Event], bypass: bool = False) -> None:
        super().__init__(frames)
        self.events, self.bypass = events, bypass
        self.pages: set[int] = set()

    def __contains__(self, page: int) -> bool:
        return page in self.pages

    def next_use(self, page: int) -> int:
        """Of the page as it is now: once forgotten, it is as good as never used again."""
        for i in range(self.position + 1, len(self.events)):
            event = self.events[i]
            if event.is_reference and event.page == page:
                return i
            if forgets(event, page):
                return NEVER
        return NEVER

    def load(self, page: int, event: Event) -> list[int]:
        gone = []
        if len(self.pages) == self.frames:
            victim = max(self.pages, key=self.next_use)
            if self.bypass and self.next_use(page) >= self.next_use(victim):
                return [page]
            gone = [victim]
            self.pages.remove(victim)
        self.pages.add(page)
        return gone

    def forget(self, page: int) -> None:
        self.pages.remove(page)


def forgets(event: Event, page: int) -> bool:
    """Whether the page ceases to exist at this event."""
    if event.kind != Kind.FORGET or page >> 32 != event.page >> 32:
        return False
    return page >= event.page and (event.count == 0 or page < event.page + event.count)


@dataclass
class Counts:
    requests: int = 0
    misses: int = 0
    refused: int = 0
    correlated: int = 0
    write_backs: int = 0
    forgotten: int = 0
    series: list[int] = field(default_factory=list)  # misses of each interval
    relations: dict[int, tuple[int, int]] = field(default_factory=dict)  # requests, misses


def replay(
    cache: Cache,
    events: Sequence[Event],
    warmup: int = 0,
    interval: int = 0,
    window: int = 0,
    resize: Sequence[tuple[int, int]] = (),
) -> Counts:
    """Replay the events, counting what a Result counts.

    A page that is written but refused is written to the disk at once.
    """
    counts = Counts()
    dirty: set[int] = set()
    last: dict[int, tuple[int, int]] = {}
    requests: Counter[int] = Counter()
    misses: Counter[int] = Counter()
    done = interval_misses = 0
    for now, event in enumerate(events):
        time = now if event.time is None else event.time
        cache.position, cache.time = now, time
        if event.kind == Kind.FORGET:
            gone = sorted(p for p in {e.page for e in events} if p in cache and forgets(event, p))
            if event.count == 0:  # the caches are searched for the pages, not the reverse
                gone.sort(key=cache.frame_of)
            for page in gone:
                cache.forget(page)
                dirty.discard(page)
            counts.forgotten += len(gone) if done >= warmup else 0
        elif event.page in cache:
            match event.kind:
                case Kind.PINNED:
                    cache.pin(event.page)
                case Kind.UNPINNED:
                    cache.unpin(event.page)
                case Kind.DIRTIED:
                    dirty.add(event.page)
        if not event.is_reference:
            continue
        for at, frames in resize:
            if at == done:
                gone = cache.resize(frames)
                counts.write_backs += len(dirty & set(gone)) if done >= warmup else 0
                dirty -= set(gone)
        page, counted = event.page, done >= warmup
        previous = last.get(event.backend)
        if window and previous and previous[0] == page and time - previous[1] <= window:
            event = event._replace(flags=event.flags | Flag.CORRELATED)
        last[event.backend] = (page, time)
        miss = page not in cache
        if miss:
            gone = cache.load(page, event)
            counts.refused += counted and page in gone
            counts.write_backs += len(dirty & set(gone)) if counted else 0
            dirty -= {*gone, page}
        else:
            repeats = event.flags & Flag.CORRELATED and not isinstance(cache, OPT)
            counts.correlated += counted and bool(repeats)
            if cache.counts_all or not event.flags & (Flag.CORRELATED | Flag.VACUUM):
                cache.hit(page, event)
        if event.kind == Kind.WRITE and page in cache:
            dirty.add(page)
        elif event.kind == Kind.WRITE:
            counts.write_backs += counted
        done += 1
        counts.requests += counted
        counts.misses += counted and miss
        requests[page >> 32] += counted
        misses[page >> 32] += counted and miss
        if interval:
            interval_misses += miss
            if done % interval == 0:
                counts.series.append(interval_misses)
                interval_misses = 0
    if interval and done % interval:
        counts.series.append(interval_misses)
    counts.relations = {relation: (requests[relation], misses[relation]) for relation in requests}
    return counts
