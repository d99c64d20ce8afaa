"""The operations: each is carried out on a pool and on its model."""

from __future__ import annotations

from typing import Any

from reference import MODELS
from reference.base import CORRELATED, REFUSED, VACUUM, WRITE, Model
from reference.registries import Registries, Shape
from tidepool import PolicySpec, Pool, parse_policy
from tidepool._sim import lib

CAPACITY = 16
PAGES = 25  # at most
OFFSETS = [0, 1, 64, 127]  # of pages in a block group

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
WAITS = [1, 3, 10, 100, 10**5, 2 * 10**6]  # the last is beyond the timeout of scans


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
        assert self.model.is_shown_as(str(self.pool)), f"{self.pool}, model {self.model.describe()}"

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
            assert self.model.may_be_coldest(self.pool.coldest())


def ghosts_per_frame(spec: PolicySpec) -> int:
    return int(lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array()))
