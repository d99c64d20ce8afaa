"""Every policy against its naive model: random operations, equal states throughout.

Twice: long walks, which get deep into the states, and sequences that
Hypothesis searches and shrinks.  The operations are references (some writes,
some correlated, some VACUUM's), scans, pins, pages that cease to exist,
proposals not carried out, evictions not followed by an admission or undone,
misses under way while others are served, frames that join and leave, moves of the
state in memory, looks ahead of evictions; and scans that run beside, through
some of which references are made.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import MODELS
from reference.base import CORRELATED, REFUSED, VACUUM, WRITE, Model
from reference.registries import Registries, Shape
from tidepool import PolicySpec, Pool, parse_policy, policies
from tidepool._sim import lib

CAPACITY = 16
PAGES = 25  # at most
OFFSETS = [0, 1, 64, 127]  # of pages in a block group

# Parameters beside the defaults that the models are run with.
VARIANTS: dict[str, list[str]] = {
    "clock": ["max_usage=1", "max_usage=2,initial=0"],
    "2q": ["kin=0.5,kout=1", "kin=0.1,kout=0.2", "kin=1,kout=3"],
    "mq": [
        "queues=1",
        "queues=2,lifetime=3",
        "queues=3,lifetime=1,qout=0.5",
        "qout=0",
        "queues=4,lifetime=6,qout=1.5",
    ],
    "s3fifo": ["small=0.5,ghost=2", "ghost=0", "small=0,ghost=0.5"],
    "clock2q_plus": ["small=0.5,ghost=2", "small=0.7,window=1", "ghost=0,window=0"],
    "slru": ["protected=0.5", "protected=0", "protected=1"],
    "jam": ["max_usage=7"],
    "osic": ["partitions=3", "partitions=16"],
    "watt": [
        "history=1",
        "sample=2,epoch=1,history=0.4",
        "k_read=2,k_write=0,history=2,dampening=1",
        "k_read=5,k_write=2,write_cost=0.5,dampening=0,sample=3",
    ],
    "hyperbolic": ["sample=3"],
    "lean_evict": ["cooling=0.5"],
    "w_tinylfu": ["window=0.3,protected=0.5"],
    "lru_k": ["k=1", "k=3", "crp=3", "k=2,crp=2,history=0.5", "k=3,crp=1,history=2", "history=0"],
    "lirs": ["hir=0.3,ghosts=1", "hir=0.1,ghosts=0.5", "ghosts=0"],
    "pbm": [
        "remember=0,neighbours=off,scan_history=off",
        "samples=2,victims=3,remember=2,neighbours=off",
        "samples=1,victims=4,remember=0,lru_fallback=off",
        "samples=3,remember=16,frequency=on,scan_history=off",
        "frequency=off,index_scans=off,samples=4,remember=2",
    ],
    "pbm_pq": [
        "bucket=0.01,buckets_per_group=2,groups=5,victims=1,corrections=2",
        "bucket=0.001,buckets_per_group=1,groups=12,victims=3,corrections=1",
        "bucket=0.1,buckets_per_group=5,groups=1,victims=2",
    ],
    "tac": [
        "extent=3,aging=0.5",
        "extent=2,aging=1,window=3,sequential_above=1,heap_refresh=1",
        "extent=1,admit_margin=0.5,heap_refresh=0",
        "extent=4,window=2,aging=0,admit_margin=0",
    ],
    "page_temperature": [
        "admit_margin=0.01",
        "extent=5,aging=0.5,burst=0.1,burst_weight=1,admit_margin=0.5,sample=3",
        "extent=8,streams=off,pages=off,burst_weight=0,admit_margin=0",
        "extent=40,aging=2,burst=0,burst_weight=0.5,sample=2,admit_margin=0",
    ],
    "lirs2": ["hir=0.3,ghosts=1", "hir=0.5,ghosts=4"],
}

SPECS = [
    f"{policy.name}:{variant}" if variant else policy.name
    for policy in policies()
    for variant in ["", *VARIANTS.get(policy.name, [])]
]

Operation = tuple[Any, ...]  # the name of a method of Pair, and its arguments

FLAGS = [0, 0, 0, WRITE, CORRELATED, VACUUM, WRITE | CORRELATED, WRITE | VACUUM]
RELATION_BLOCKS = 896
# scans, by kind: how they go through their relation, and blocks per second
KINDS = [
    (Shape(RELATION_BLOCKS), 0),
    (Shape(RELATION_BLOCKS), 1e5),
    (Shape(RELATION_BLOCKS, backward=True), 1e6),
    (Shape(RELATION_BLOCKS, backward=True), 1e7),
    (Shape(RELATION_BLOCKS, bitmap=True), 3e5),
    (Shape(), 0),
    (Shape(backward=True), 1e6),
    (Shape(512, low=128), 1e4),
    (Shape(RELATION_BLOCKS, backward=True, bitmap=True), 0),
]
WAITS = [1, 3, 10, 100, 10**5, 2 * 10**6]  # the last is beyond the patience with scans


class Pair:
    """A pool and its model, driven together, on this many pages."""

    def __init__(self, spec: str, frames: int, pages: int, seed: int) -> None:
        parsed = parse_policy(spec)
        self.scans = Registries(capacity=3, bitmaps=1)
        self.pool = Pool(
            parsed, frames=frames, capacity=CAPACITY, seed=seed, scans=self.scans.scans
        )
        self.model: Model = MODELS[parsed.policy.name](
            parsed.params(), seed, ghosts_per_frame(parsed), CAPACITY
        )
        self.model.scans = self.scans.model
        for frame in range(frames):
            self.model.join(frame)
        self.pages = pages
        self.most_frames = min(CAPACITY, 2 * frames + 1)
        self.pinned: dict[int, None] = {}  # frames, pinned longest ago first
        self.backend = 0
        self.misses: list[tuple[int, int, int]] = []  # under way: frame, page, flags
        self.ahead = self.pool.lookahead()

    # ---- single steps ----

    def absent(self, page: int) -> int | None:
        """The page's number, unless it is resident."""
        page = self.number(page)
        return page if self.pool.find(page) is None else None

    def number(self, page: int) -> int:
        """The number of a page: they are of two relations, in several block groups."""
        page %= self.pages
        block = page // len(OFFSETS) * 128 + OFFSETS[page % len(OFFSETS)]
        return block if page % 3 else 1 << 34 | block

    def victim(self, page: int, flags: int) -> int | None:
        ours = self.pool.victim(page, self.pinned, flags, self.backend)
        theirs = self.model.victim(page, self.pinned, flags, self.backend)
        assert ours == theirs, (
            f"victim {ours}, model {theirs}, pool {self.pool}, model {self.model.describe()}"
        )
        return ours

    def claimed_frame(self, page: int, flags: int) -> int | None:
        """A frame for the page: a victim's, which is evicted if it must be."""
        frame = self.victim(page, flags)
        if frame is None or frame == REFUSED:
            return None
        if self.pool.is_free(frame):
            self.pool.claim(frame)
            self.model.claim(frame)
        else:
            self.pool.evict(frame, flags, self.backend)
            self.model.evict(frame, flags, self.backend)
        return frame

    def release(self, frame: int) -> None:
        self.pool.release(frame)
        self.model.release(frame)

    def admit(self, frame: int, page: int, flags: int) -> None:
        """If it was evicted a moment ago, that eviction cannot be undone any more."""
        for claimed, evicted in self.model.claimed.items():
            if evicted is not None and evicted.page == page:
                self.model.claimed[claimed] = None
        self.pool.admit(frame, page, flags, self.backend)
        self.model.admit(frame, page, flags, self.backend)

    def compare(self) -> None:
        assert self.pool.check() == []
        assert str(self.pool) == self.model.describe()

    def read(self, page: int) -> None:
        """As of a tier below memory, which reads its own pages as well as those it has not."""
        self.pool.read(page)
        self.model.read(page)

    # ---- the operations ----

    def reference(self, page: int, flags: int = 0) -> None:
        page = self.number(page)
        self.wait(1)
        self.read(page)
        frame = self.pool.find(page)
        if frame is not None:
            self.pool.hit(frame, flags, self.backend)
            self.model.hit(frame, flags, self.backend)
            return
        frame = self.claimed_frame(page, flags)
        if frame is not None:
            self.admit(frame, page, flags)

    def references(self, coded: bytes) -> None:
        """A byte each: PAGES times an index in FLAGS, plus the page; 0 stands for none.

        So a failing run shrinks to the few references that matter.
        """
        for byte in filter(None, coded):
            self.reference(byte % PAGES, FLAGS[byte // PAGES % len(FLAGS)])
            self.compare()

    def scan(self, first: int, count: int) -> None:
        for i in range(count):
            self.reference(first + i)
            self.compare()

    def switch(self, backend: int) -> None:
        """References are this backend's from now on."""
        self.backend = backend

    def unpin(self) -> None:
        self.pinned.clear()

    def unpin_one(self, number: int) -> None:
        """The one that was pinned as the first (0), second, ... of those pinned."""
        if self.pinned:
            del self.pinned[list(self.pinned)[number % len(self.pinned)]]

    def pin(self, frame: int) -> None:
        self.pinned[frame] = None

    def pin_page(self, page: int) -> None:
        """The page is read, if need be, and pinned, as by a scan that reads ahead."""
        self.reference(page)
        frame = self.pool.find(self.number(page))
        if frame is not None:
            self.pinned[frame] = None

    def pin_all_but(self, member: int) -> None:
        members = self.model.members
        self.pinned = dict.fromkeys(
            frame for i, frame in enumerate(members) if i != member % len(members)
        )

    def pin_victim(self, page: int, flags: int) -> None:
        frame = self.propose(page, flags)
        if frame is not None and frame != REFUSED:
            self.pinned[frame] = None

    def propose(self, page: int, flags: int) -> int | None:
        incoming = self.absent(page)
        return None if incoming is None else self.victim(incoming, flags)

    def evict_only(self, page: int, flags: int) -> None:
        incoming = self.absent(page)
        if incoming is not None:
            frame = self.claimed_frame(incoming, flags)
            if frame is not None:
                self.release(frame)

    def begin_miss(self, page: int, flags: int) -> None:
        """The page is being read into a frame, which is claimed meanwhile."""
        incoming = self.absent(page)
        if incoming is not None:
            frame = self.claimed_frame(incoming, flags)
            if frame is not None:
                self.misses.append((frame, incoming, flags))

    def end_misses(self) -> None:
        """Some have turned out to be resident meanwhile."""
        for frame, page, flags in self.misses:
            if self.pool.find(page) is None:
                self.admit(frame, page, flags)
            else:
                self.release(frame)
            self.compare()
        self.misses.clear()

    def restore_misses(self, flags: int) -> None:
        """The frames of misses under way get their old pages back, if they had any."""
        for frame, _, _ in self.misses:
            evicted = self.model.claimed[frame]
            if evicted is not None:
                self.pool.restore(frame, flags, self.backend)
                self.model.restore(frame, flags, self.backend)
            else:
                self.release(frame)
            self.compare()
        self.misses.clear()

    def restore_victim(self, page: int, flags: int) -> None:
        """An eviction that is undone at once."""
        self.begin_miss(page, flags)
        if self.misses:
            others, self.misses = self.misses[:-1], self.misses[-1:]
            self.restore_misses(flags)
            self.misses = others

    def forget(self, first: int, count: int) -> None:
        for i in range(count):
            frame = self.pool.find(self.number(first + i))
            if frame is not None:
                self.pool.forget(frame)
                self.model.forget(frame)
                self.compare()

    def wait(self, microseconds: int) -> None:
        self.pool.now += microseconds
        self.model.now = self.scans.now = self.pool.now

    def join(self, first: int, count: int) -> None:
        for i in range(count):
            frame = (first + i) % CAPACITY
            if self.model.c < self.most_frames and frame not in self.model.members:
                self.pool.join(frame)
                self.model.join(frame)
                self.compare()

    def leave(self, count: int) -> None:
        for _ in range(count):
            frame = self.claimed_frame(2**40, 0)
            if frame is not None:
                self.pool.leave(frame)
                self.model.leave(frame)
                self.compare()

    def move(self) -> None:
        self.pool.move()
        self.scans.move()

    def look_ahead(self, victims: int, looks: int, spared: int) -> None:
        """A round of looking for the next victims, in slices; some frames are not looked for."""
        unwanted = {frame for frame in range(CAPACITY) if spared >> frame & 1}
        self.ahead.begin(victims)
        found: list[int] = []
        while not self.ahead.over:
            found += self.ahead.slice(looks, unwanted)
        assert self.model.may_find(found, victims, unwanted), (
            f"found {found}, model {self.model.upcoming(victims, unwanted)}, pool {self.pool}"
        )

    # ---- scans ----

    def begin_scan(self, first: int, count: int, kind: int) -> None:
        """Of either relation or, which takes places only, of a third."""
        shape, speed = KINDS[kind]
        first = 1 << 35 if first % 8 == 7 else self.number(first)
        self.scans.begin(first, count, shape, speed=speed, owner=kind % 2)

    def begin_index_scan(self, index: int) -> None:
        self.scans.begin_index_scan(index)

    def through(self, handle: int) -> None:
        """References are made through this scan from now on, if it is one."""
        handles = self.scans.handles
        self.pool.scan = self.model.scan = handles[handle % len(handles)]

    def advance(self, page: int) -> None:
        """The scans come to a page, or near a tuple that is marked."""
        for handle in self.scans.handles[-4:]:
            self.scans.advance(handle, self.number(page))
            for tuple_ in range(page, page + 20):
                self.scans.tuple(handle, tuple_)
        self.scans.compare(map(self.number, range(0, PAGES, 5)))

    def end_scan(self, handle: int) -> None:
        self.scans.end(self.scans.handles[handle % len(self.scans.handles)])

    def end_owner(self, owner: int) -> None:
        self.scans.end_owner(owner)

    def run(self, operations: list[Operation]) -> None:
        for name, *args in operations:
            getattr(self, name)(*args)
            self.compare()
            assert self.pool.coldest() == self.model.coldest()


def ghosts_per_frame(spec: PolicySpec) -> int:
    return int(lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array()))


def test_every_policy_has_a_model() -> None:
    assert {policy.name for policy in policies()} == set(MODELS)


# ---- walks ----


def page(random: Random) -> int:
    """Lower pages are hotter."""
    return int(PAGES * random.random() ** random.choice([1, 3]))


# Operations: how often, and with which arguments.
WALK: dict[str, tuple[int, Callable[[Random], tuple[Any, ...]]]] = {
    "reference": (200, lambda r: (page(r), r.choice(FLAGS))),
    "scan": (8, lambda r: (page(r), r.randint(1, PAGES))),
    "switch": (8, lambda r: (r.randrange(20),)),
    "unpin": (30, lambda r: ()),
    "unpin_one": (4, lambda r: (int(CAPACITY * r.random() ** 4),)),
    "pin": (4, lambda r: (r.randrange(CAPACITY),)),
    "pin_page": (4, lambda r: (page(r),)),
    "pin_all_but": (4, lambda r: (r.randrange(CAPACITY),)),
    "pin_victim": (4, lambda r: (page(r), r.choice(FLAGS))),
    "propose": (4, lambda r: (page(r), r.choice(FLAGS))),
    "evict_only": (4, lambda r: (page(r), r.choice(FLAGS))),
    "begin_miss": (12, lambda r: (page(r), r.choice(FLAGS))),
    "end_misses": (12, lambda r: ()),
    "restore_misses": (4, lambda r: (r.choice(FLAGS),)),
    "restore_victim": (4, lambda r: (page(r), r.choice(FLAGS))),
    "forget": (6, lambda r: (page(r), r.randint(1, 4))),
    "wait": (6, lambda r: (r.choice(WAITS),)),
    "join": (12, lambda r: (r.randrange(CAPACITY), r.randint(1, 4))),
    "leave": (6, lambda r: (r.randint(1, 4),)),
    "move": (1, lambda r: ()),
    "look_ahead": (
        20,
        lambda r: (
            r.randint(1, CAPACITY),
            r.randint(1, CAPACITY),
            r.choice([0, r.getrandbits(CAPACITY)]),
        ),
    ),
    "begin_scan": (
        12,
        lambda r: (r.randrange(PAGES), r.randint(1, RELATION_BLOCKS), r.randrange(len(KINDS))),
    ),
    "begin_index_scan": (3, lambda r: (r.randrange(2),)),
    "through": (12, lambda r: (r.randrange(-4, 1),)),
    "advance": (12, lambda r: (r.randrange(PAGES),)),
    "end_scan": (2, lambda r: (r.randrange(-4, 0),)),
    "end_owner": (1, lambda r: (r.randrange(2),)),
}
OFTEN = {name: often for name, (often, _) in WALK.items()}
CALM = {
    name: OFTEN[name]
    for name in (
        "reference",
        "scan",
        "wait",
        "look_ahead",
        "begin_scan",
        "through",
        "advance",
        "end_scan",
        "end_owner",
    )
}
PINNING = OFTEN | {"pin_page": 120, "unpin_one": 110, "pin_victim": 20, "unpin": 2}


def walk(random: Random, often: dict[str, int], length: int) -> list[Operation]:
    chosen = random.choices(list(often), list(often.values()), k=length)
    return [(name, *WALK[name][1](random)) for name in chosen]


@pytest.mark.parametrize("spec", SPECS)
def test_equals_model_on_walks(spec: str) -> None:
    for frames in (1, 2, 3, 5, 8, 13):
        for pages in (frames + 2, 2 * frames + 1, PAGES):
            random = Random(frames * 100 + pages)
            for often, length in ((OFTEN, 300), (CALM, 150), (PINNING, 300)):
                seed = random.getrandbits(64)
                Pair(spec, frames, pages, seed).run(walk(random, often, length))


# ---- searches ----

pages = st.integers(0, PAGES - 1)
flags = st.sampled_from(FLAGS)
operation = st.one_of(
    st.tuples(st.just("reference"), pages, flags),
    st.tuples(st.just("references"), st.binary(min_size=16, max_size=64)),
    st.tuples(st.just("references"), st.binary(min_size=16, max_size=64)),
    st.tuples(st.just("scan"), pages, st.integers(1, PAGES)),
    st.tuples(st.just("switch"), st.integers(0, 20)),
    st.tuples(st.just("unpin")),
    st.tuples(st.just("unpin")),
    st.tuples(st.just("unpin")),
    st.tuples(st.just("unpin_one"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("unpin_one"), st.integers(0, 2)),
    st.tuples(st.just("pin"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("pin_page"), pages),
    st.tuples(st.just("pin_page"), pages),
    st.tuples(st.just("pin_all_but"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("pin_victim"), pages, flags),
    st.tuples(st.just("propose"), pages, flags),
    st.tuples(st.just("evict_only"), pages, flags),
    st.tuples(st.just("begin_miss"), pages, flags),
    st.tuples(st.just("begin_miss"), pages, flags),
    st.tuples(st.just("end_misses")),
    st.tuples(st.just("restore_misses"), flags),
    st.tuples(st.just("restore_victim"), pages, flags),
    st.tuples(st.just("forget"), pages, st.integers(1, 4)),
    st.tuples(st.just("wait"), st.sampled_from(WAITS)),
    st.tuples(st.just("join"), st.integers(0, CAPACITY - 1), st.integers(1, 4)),
    st.tuples(st.just("leave"), st.integers(1, 4)),
    st.tuples(st.just("move")),
    st.tuples(
        st.just("look_ahead"),
        st.integers(1, CAPACITY),
        st.integers(1, CAPACITY),
        st.integers(0, 2**CAPACITY - 1),
    ),
    st.tuples(
        st.just("begin_scan"),
        pages,
        st.integers(1, RELATION_BLOCKS),
        st.integers(0, len(KINDS) - 1),
    ),
    st.tuples(st.just("begin_index_scan"), st.integers(0, 1)),
    st.tuples(st.just("through"), st.integers(-4, 0)),
    st.tuples(st.just("advance"), pages),
    st.tuples(st.just("end_scan"), st.integers(-4, -1)),
    st.tuples(st.just("end_owner"), st.integers(0, 1)),
)
# (a plain list would have about ten operations, however long it may be)
operations = st.integers(0, 40).flatmap(lambda n: st.lists(operation, min_size=n, max_size=n))


@pytest.mark.parametrize("spec", SPECS)
@given(
    frames=st.integers(1, 6) | st.integers(1, CAPACITY),
    more_pages=st.integers(1, PAGES - CAPACITY),
    seed=st.integers(0, 2**64 - 1),
    operations=operations,
)
def test_equals_model(
    spec: str, frames: int, more_pages: int, seed: int, operations: list[Operation]
) -> None:
    Pair(spec, frames, frames + more_pages, seed).run(operations)
