"""No write is lost, none is made twice: what is dirty is written below once, or dirty still.

A page is dirty from the write that finds it clean to the write below that
cleans it.  In between, further writes are absorbed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from simulation import naive, naive_ssd
from simulation.generated import PAGES, Event, chunk_of
from simulation.naive_ssd import IO
from simulation.test_ssd import BY_PAGE, DISK, SSD, TAC, naive_tier
from tidepool import parse_policy, policies
from tidepool._sim import lib
from tidepool.simulation import Options, Ssd, parse_ssd_policy
from tidepool.simulation.replay import Replay
from tidepool.traces import Chunk, Flag, Kind

ONLINE = [policy.name for policy in policies() if policy.handle is not None]
OFFLINE = ["opt", "opt:bypass=on"]
LENGTH = 200  # events
WALKS = 30  # for each policy


class Memory:
    """A replay, and a record of what it reads and writes below."""

    def __init__(self, policy: str, frames: int, batch: int = 1) -> None:
        self.spec, self.frames = parse_policy(policy), frames
        self.replay = Replay(self.spec, frames, options=Options(batch=batch))
        self.record = self.replay.attach(Ssd(parse_ssd_policy("opt"), 1))
        self.position = 0

    @property
    def is_opt(self) -> bool:
        return self.spec.policy.handle is None

    @property
    def write_backs(self) -> int:
        return int(self.replay.totals().write_backs)

    def feed(self, events: Sequence[Event]) -> list[IO]:
        """Returns what that has read and written."""
        next_use = None
        if self.is_opt:
            opt = naive.OPT(self.frames, events)
            next_use = np.zeros(len(events), dtype=np.uint64)
            for opt.position, event in enumerate(events):
                next_use[opt.position] = min(opt.next_use(event.page), naive.NEVER - 1)
        self.replay.feed(self.position, chunk_of(events), next_use)
        self.position += len(events)
        return stream(self.record.recorded()[0])

    def drain(self) -> int:
        """Empty the memory; returns the pages that this writes back."""
        before = self.write_backs
        if self.is_opt:
            # pages that will be needed, of which there are none among those resident
            for i in range(self.frames):
                page, next_use = 2**40 + i, np.array([self.position + 1], dtype=np.uint64)
                self.replay.feed(self.position, chunk_of([Event(page)]), next_use)
                self.position += 1
        else:
            lib.tps_replay_resize(self.replay._replay, 0, self.position)
        return self.write_backs - before


def stream(chunk: Chunk) -> list[IO]:
    assert chunk.kind is not None
    assert chunk.flags is not None
    assert chunk.count is not None
    columns = (chunk.kind, chunk.page, chunk.flags, chunk.count)
    return [IO(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


class Ledger:
    """What became of each write."""

    def __init__(self) -> None:
        self.dirty: set[int] = set()
        self.count: Counter[str] = Counter()

    def write(self, page: int) -> None:
        self.count["written"] += 1
        self.count["absorbed"] += page in self.dirty
        self.dirty.add(page)

    def write_below(self, page: int) -> None:
        assert page in self.dirty, "written below, though it was clean"
        self.dirty.remove(page)
        self.count["below"] += 1

    def forget(self, event: Event) -> None:
        gone = {page for page in self.dirty if naive.forgets(event, page)}
        self.count["forgotten"] += len(gone)
        self.dirty -= gone

    def balance(self) -> None:
        """Nothing but what the ledger has noted can be the rest."""
        count = self.count
        spent = count["below"] + count["absorbed"] + count["forgotten"] + len(self.dirty)
        assert count["written"] == spent


def account(events: Sequence[Event], below: Sequence[IO]) -> Ledger:
    """Follow a memory's writes through what it has read and written.

    A reference has missed if what is next is a read of its page: before a
    later one could read it, another page would have to be read or forgotten.
    A miss writes one page at most: the victim, or if it is refused itself.
    """
    ledger = Ledger()
    at = 0
    for event in events:
        if event.kind == Kind.FORGET:
            assert below[at] == IO(Kind.FORGET, event.page, 0, event.count)
            at += 1
            ledger.forget(event)
        if not event.is_reference:
            continue
        refused = False
        if at < len(below) and below[at][:2] == (Kind.READ, event.page):
            assert event.page not in ledger.dirty, "dirty, and not there any more"
            at += 1
            if at < len(below) and below[at].kind == Kind.WRITE:
                refused = below[at].page == event.page
                if refused:
                    assert event.kind == Kind.WRITE
                    ledger.write(event.page)
                ledger.write_below(below[at].page)
                at += 1
        if event.kind == Kind.WRITE and not refused:
            ledger.write(event.page)
    assert at == len(below), "read or written for no reference"
    return ledger


def walk(random: Random) -> list[Event]:
    """References, two in five of them writes, and now and then pages that cease to exist."""
    flags = [0, 0, 0, Flag.CORRELATED, Flag.VACUUM]
    kinds = [Kind.READ] * 58 + [Kind.WRITE] * 40 + [Kind.FORGET] * 2
    events = []
    for kind in random.choices(kinds, k=LENGTH):
        page = PAGES[int(len(PAGES) * random.random() ** 2)]
        count = random.randrange(4) if kind == Kind.FORGET else 0
        flag = 0 if kind == Kind.FORGET else random.choice(flags)
        events.append(Event(page, kind, flag, backend=random.randrange(3), count=count))
    return events


def test_walks_get_everywhere() -> None:
    """So that there is something to be lost, or made twice."""
    memory = Memory("lru", 5)
    ledger = account(events := walk(Random(1)), memory.feed(events))
    least = {"written": 50, "absorbed": 10, "below": 20, "forgotten": 2}
    assert all(ledger.count[name] >= count for name, count in least.items()), ledger.count


@pytest.mark.parametrize("policy", [*ONLINE, *OFFLINE])
def test_each_write_is_made_once_or_still_to_be_made(policy: str) -> None:
    for seed in range(WALKS):
        random = Random(seed)
        events = walk(random)
        memory = Memory(policy, random.randint(1, len(PAGES)))
        ledger = account(events, memory.feed(events))
        ledger.balance()
        assert memory.write_backs == ledger.count["below"]
        assert memory.drain() == len(ledger.dirty)


@pytest.mark.parametrize("policy", ["lru", "2q", "clock", "keep", "tac"])
def test_queues_lose_no_write(policy: str) -> None:
    for seed in range(WALKS):
        random = Random(seed)
        events = walk(random)
        memory = Memory(policy, random.randint(1, len(PAGES)), batch=random.randint(2, 8))
        ledger = account(events, memory.feed(events))
        assert memory.write_backs == ledger.count["below"]
        assert memory.drain() == len(ledger.dirty)


def test_writes_of_pages_that_are_refused() -> None:
    writes = [Event(page, Kind.WRITE) for page in (2, 3, 1)]
    events = [Event(1), writes[0], Event(1), writes[1], writes[2]]
    for policy in ("keep", "opt:bypass=on"):
        memory = Memory(policy, 1)
        below = memory.feed(events)
        assert [io.page for io in below if io.kind == Kind.WRITE] == [2, 3]
        assert memory.write_backs == 2
        assert memory.drain() == 1


# ---- with an SSD ----


class Disk:
    """Follows the writes that a tier gets on to the disk."""

    def __init__(self, tier: naive_ssd.Tier) -> None:
        self.tier, self.ledger = tier, Ledger()
        write_disk = tier.write_disk

        def noted(page: int) -> None:
            self.ledger.write_below(page)
            write_disk(page)

        tier.write_disk = noted  # type: ignore[method-assign]

    def follow(self, stream: Sequence[IO]) -> None:
        assert self.tier.frames is not None
        for self.tier.frames.model.now, io in enumerate(stream):
            if io.kind == Kind.WRITE:
                self.ledger.write(io.page)
            elif io.kind == Kind.FORGET:
                self.ledger.forget(Event(io.page, Kind.FORGET, count=io.count))
            self.tier.feed(io, PAGES)
            assert self.ledger.dirty == self.tier.dirty


TIERS = {name: name for name in ONLINE} | {"tac": TAC, "page_temperature": BY_PAGE}


@pytest.mark.parametrize("write_back", [False, True])
@pytest.mark.parametrize("policy", TIERS)
def test_each_write_reaches_the_disk_once_or_is_dirty_still(policy: str, write_back: bool) -> None:
    """Through the naive tier, page by page; the tier itself makes as many writes of each kind."""
    spec = parse_ssd_policy(TIERS[policy])
    flushed = 0
    for seed in range(WALKS):
        random = Random(seed)
        events = walk(random)
        memory = random.choice(["lru", "keep", "page_temperature", *OFFLINE])
        above = Memory(memory, random.randint(1, 4))
        ssd = Ssd(spec, random.randint(1, 10), DISK, SSD, write_back, random.randrange(4))
        tier = above.replay.attach(ssd)
        below = above.feed(events)
        disk = Disk(naive_tier(ssd, below))
        disk.follow(below)
        disk.ledger.balance()
        assert disk.ledger.count["written"] == above.write_backs
        assert write_back or not disk.ledger.dirty
        assert tier.check() == []
        ours, theirs = tier.result(), disk.tier.counts
        assert ours.disk_writes == disk.ledger.count["below"]
        assert ours.flushed == theirs.flushed
        assert ours.ssd_writes == theirs.ssd_writes
        flushed += ours.flushed
    assert flushed > 0 or not write_back


@pytest.mark.parametrize("policy", ["none", "opt", "opt:by=time"])
@pytest.mark.parametrize("memory", ["lru", "keep", *OFFLINE])
def test_tiers_that_write_through_write_it_all(policy: str, memory: str) -> None:
    for seed in range(WALKS):
        random = Random(seed)
        above = Memory(memory, random.randint(1, 4))
        tier = above.replay.attach(Ssd(parse_ssd_policy(policy), 5, DISK, SSD))
        above.feed(walk(random))
        assert tier.result().disk_writes == above.write_backs > 0
