"""Two tiers in plain Python, as docs/ssd-tier.md has them.  Nothing is shared with the C code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from reference import MODELS
from reference.base import REFUSED
from reference.extents import Extents
from reference.page_temperature import PageTemperature
from reference.tac import TAC
from simulation import naive
from simulation.generated import Event
from simulation.naive_budget import Budget
from tidepool._sim import lib
from tidepool.policies import PolicySpec
from tidepool.simulation import Device
from tidepool.traces import Flag, Kind

EVICTED = 18  # kind, of no trace: a clean page has left memory (sim/src/events.h)


class IO(NamedTuple):
    """What memory reads, writes or evicts, or a pool forgets."""

    kind: int
    page: int
    flags: int = 0
    count: int = 0


def reads_and_writes(
    cache: naive.Cache, events: Sequence[Event], evictions: bool = False
) -> Iterator[tuple[int, IO]]:
    """Yield what a cache reads and writes, each with the references before it.

    ``evictions``: and the clean pages that it evicts.
    """
    dirty: set[int] = set()
    done = 0
    for event in events:
        if event.kind == Kind.FORGET:
            yield done, IO(Kind.FORGET, event.page, 0, event.count)
            gone = sorted(p for p in {e.page for e in events} if p in cache)
            if event.count == 0:  # as in naive.replay
                gone.sort(key=cache.frame_of)
            for page in gone:
                if naive.forgets(event, page):
                    cache.forget(page)
                    dirty.discard(page)
        if not event.is_reference:
            continue
        if event.page in cache:
            if cache.counts_all or not event.flags & (Flag.CORRELATED | Flag.VACUUM):
                cache.hit(event.page, event)
        else:
            yield done, IO(Kind.READ, event.page, event.flags)
            for page in cache.load(event.page, event):
                if page in dirty:
                    dirty.remove(page)
                    yield done, IO(Kind.WRITE, page)
                elif evictions:
                    yield done, IO(EVICTED, page)
        if event.kind == Kind.WRITE and event.page in cache:
            dirty.add(event.page)
        elif event.kind == Kind.WRITE:
            yield done, IO(Kind.WRITE, event.page)
        done += 1


class Streams:
    """Positions, the one that was continued last first."""

    def __init__(self) -> None:
        self.positions: list[int] = []

    def access(self, page: int) -> bool:
        near = [p for p in self.positions if p >> 32 == page >> 32 and 0 <= page - p <= 32]
        if near:
            self.positions.remove(max(near))
        self.positions = [page, *self.positions][:64]
        return bool(near) and max(near) < page


class Frames:
    """Pages in frames under a model of a policy."""

    def __init__(self, spec: PolicySpec, frames: int, savings: tuple[float, float]) -> None:
        ghosts = lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array())
        self.model = MODELS[spec.policy.name](spec.params(), 0, ghosts, frames)
        if isinstance(self.model, (TAC, PageTemperature)):
            self.model.savings = savings
        for frame in range(frames):
            self.model.join(frame)

    def __contains__(self, page: int) -> bool:
        return page in self.model.page.values()

    def frame(self, page: int) -> int:
        return next(frame for frame, held in self.model.page.items() if held == page)

    def hit(self, page: int, io: IO) -> None:
        self.model.hit(self.frame(page), io.flags)

    def admit(
        self, page: int, io: IO, is_worth_it: Callable[[int | None], bool]
    ) -> list[int] | None:
        """Returns the pages that went to make room; ``None``: refused, or not worth it."""
        frame = self.model.victim(page, (), io.flags)
        if frame is None or frame == REFUSED:
            return None
        old = None if frame in self.model.free else self.model.page[frame]
        if not is_worth_it(old):
            return None
        gone = []
        if old is not None:
            gone = [old]
            self.model.evict(frame, io.flags)
        self.model.admit(frame, page, io.flags)
        return gone

    def forget(self, page: int) -> None:
        self.model.forget(self.frame(page))


@dataclass
class Counts:
    random_reads: int = 0
    sequential_reads: int = 0
    random_hits: int = 0
    sequential_hits: int = 0
    misjudged: int = 0
    refused: int = 0
    too_dear: int = 0
    random_writes: int = 0
    sequential_writes: int = 0
    ssd_writes: int = 0
    dropped: int = 0
    flushed: int = 0
    disk_read_time: float = 0
    ssd_read_time: float = 0
    disk_write_time: float = 0
    ssd_write_time: float = 0


@dataclass
class Tier:
    """An SSD under any online policy, between memory and the disk."""

    frames: Frames | None
    extents: Extents
    size: int
    disk: Device
    ssd: Device
    write_back: bool
    write_buffer: int
    at_eviction: bool
    counts: Counts = field(default_factory=Counts)
    reads: Streams = field(default_factory=Streams)
    writes: Streams = field(default_factory=Streams)
    waiting: list[int] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    clock: float = 0
    writer: float = 0  # when it was done with the last page
    budget: Budget = field(default_factory=lambda: Budget(0, 0))
    left_out: frozenset[int] = frozenset()  # relations

    def restart(self) -> None:
        for item in fields(self.counts):
            setattr(self.counts, item.name, 0)

    def spend(self, time: float) -> None:
        self.clock += time
        while self.waiting and self.writer + self.ssd.random_write <= self.clock:
            self.writer += self.ssd.random_write
            self.waiting.pop(0)
            self.write_ssd()

    def write_ssd(self) -> None:
        self.counts.ssd_writes += 1
        self.counts.ssd_write_time += self.ssd.random_write

    def write_disk(self, page: int) -> None:
        if self.writes.access(page):
            self.counts.sequential_writes += 1
            time = self.disk.sequential_write
        else:
            self.counts.random_writes += 1
            time = self.disk.random_write
        self.counts.disk_write_time += time
        self.spend(time)

    def read(self, page: int, sequential: bool, hit: bool) -> None:
        device = self.ssd if hit else self.disk
        if sequential:
            self.counts.sequential_reads += 1
            self.counts.sequential_hits += hit
            time = device.sequential_read
        else:
            self.counts.random_reads += 1
            self.counts.random_hits += hit
            time = device.random_read
        if hit:
            self.counts.ssd_read_time += time
        else:
            self.counts.disk_read_time += time
        self.spend(time)

    def send(self, page: int) -> None:
        """The page is to be written to the SSD, in its turn."""
        if self.write_buffer == 0:
            self.write_ssd()
            return
        if page in self.waiting:
            return
        if not self.waiting:
            self.writer = self.clock
        self.waiting.append(page)
        if len(self.waiting) > self.write_buffer:
            least = min(self.extents[p] for p in self.waiting)
            coldest = [p for p in self.waiting if self.extents[p] == least][-1]
            self.counts.dropped += 1
            self.forget(coldest)

    def forget(self, page: int) -> None:
        assert self.frames is not None
        self.frames.forget(page)
        if page in self.waiting:
            self.waiting.remove(page)
        self.dirty.discard(page)

    def worth(self, page: int) -> float:
        """What it saves to have the page."""
        assert self.frames is not None
        if isinstance(self.frames.model, PageTemperature):
            return self.frames.model.temperature(page)
        return self.extents[page]

    def is_worth_it(self, page: int, instead: int | None = None) -> bool:
        """Whether a write of the page gains its price."""
        price = self.budget.price()
        gain = self.worth(page) - (0 if instead is None else self.worth(instead))
        saving = self.extents.random_saving
        if price == 0 or (saving > 0 and gain >= price * saving):
            return True
        self.counts.too_dear += 1
        return False

    def admit(self, page: int, io: IO) -> bool:
        assert self.frames is not None
        if page >> 34 in self.left_out:
            return False
        dear = self.counts.too_dear
        gone = self.frames.admit(page, io, lambda old: self.is_worth_it(page, old))
        if gone is None:
            self.counts.refused += self.counts.too_dear == dear
            return False
        self.budget.spend()
        for victim in gone:
            if victim in self.dirty:
                self.dirty.remove(victim)
                self.flush(victim)
            if victim in self.waiting:
                self.waiting.remove(victim)
        return True

    def flush(self, page: int) -> None:
        self.counts.flushed += 1
        self.counts.ssd_read_time += self.ssd.random_read
        self.spend(self.ssd.random_read)
        self.write_disk(page)

    def feed(self, io: IO, pages: Sequence[int]) -> None:
        self.budget.advance(int(self.clock))
        if io.kind == Kind.READ:
            self.on_read(io)
        elif io.kind == Kind.WRITE:
            self.on_write(io)
        elif io.kind == EVICTED:
            if self.frames is not None and io.page not in self.frames:
                self.on_evicted(io)
        elif self.frames is not None:
            event = Event(io.page, Kind.FORGET, count=io.count)
            held = [page for page in pages if page in self.frames and naive.forgets(event, page)]
            for page in held if io.count else sorted(held, key=self.frames.frame):
                self.forget(page)

    def on_read(self, io: IO) -> None:
        sequential = self.reads.access(io.page)
        if self.frames is None or io.page >> 34 in self.left_out:
            self.read(io.page, sequential, False)
            return
        hit = io.page in self.frames
        self.counts.misjudged += self.extents.read(io.page) != sequential
        self.frames.model.read(io.page)
        if hit:
            self.frames.hit(io.page, io)
        self.read(io.page, sequential, hit)
        if not hit and not self.at_eviction and self.admit(io.page, io):
            self.send(io.page)

    def on_evicted(self, io: IO) -> None:
        """A page that is not on the SSD has left memory."""
        if self.at_eviction and self.admit(io.page, io):
            self.send(io.page)

    def on_write(self, io: IO) -> None:
        if self.frames is None or not self.write_back:
            self.write_disk(io.page)
            if self.frames is None:
                return
            if io.page not in self.frames:
                self.on_evicted(io)
                return
            if self.is_worth_it(io.page):
                self.budget.spend()
                self.send(io.page)
            else:
                self.forget(io.page)
            return
        if io.page not in self.frames and not self.admit(io.page, io):
            self.write_disk(io.page)
            return
        if io.page in self.waiting:
            self.waiting.remove(io.page)
        self.write_ssd()
        self.spend(self.ssd.random_write)
        self.dirty.add(io.page)
        if len(self.dirty) > self.size / 4:
            pages, self.dirty = sorted(self.dirty), set()
            for page in pages:
                self.flush(page)


@dataclass
class Optimal(Tier):
    """OPT with bypass on the SSD, that looks through what is to come each time."""

    by_time: bool = False
    stream: Sequence[IO] = ()
    at: int = 0
    held: set[int] = field(default_factory=set)

    def next_read(self, page: int) -> int:
        for i in range(self.at + 1, len(self.stream)):
            io = self.stream[i]
            if io.kind == Kind.READ and io.page == page:
                return i
            if io.kind == Kind.FORGET:
                event = Event(io.page, Kind.FORGET, count=io.count)
                if naive.forgets(event, page):
                    return naive.NEVER
        return naive.NEVER

    def worth(self, page: int) -> float:
        """What is kept is worth most: the next read, by its distance."""
        next_read = self.next_read(page)
        if next_read == naive.NEVER:
            return 0
        distance = next_read - self.at
        if not self.by_time:
            return 1 / distance
        streams = Streams()
        classes = [io.kind == Kind.READ and streams.access(io.page) for io in self.stream]
        if classes[next_read]:
            return max(0.0, self.disk.sequential_read - self.ssd.sequential_read) / distance
        return max(0.0, self.disk.random_read - self.ssd.random_read) / distance

    def feed(self, io: IO, pages: Sequence[int]) -> None:
        if io.kind == Kind.READ:
            sequential = self.reads.access(io.page)
            hit = io.page in self.held
            self.read(io.page, sequential, hit)
            if self.worth(io.page) == 0:
                self.held.discard(io.page)
                self.counts.refused += not hit
            elif not hit:
                self.take(io.page)
        elif io.kind == Kind.WRITE:
            self.write_disk(io.page)
            if io.page in self.held:
                self.write_ssd()
        elif io.kind == Kind.FORGET:
            event = Event(io.page, Kind.FORGET, count=io.count)
            self.held = {page for page in self.held if not naive.forgets(event, page)}
        self.at += 1

    def take(self, page: int) -> None:
        if len(self.held) == self.size:
            victim = min(self.held, key=self.worth)
            if self.worth(page) <= self.worth(victim):
                self.counts.refused += 1
                return
            self.held.remove(victim)
        self.held.add(page)
        self.write_ssd()
