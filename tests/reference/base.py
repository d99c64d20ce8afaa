"""What all models share: membership, the free list, page identities, randomness."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, SupportsIndex

if TYPE_CHECKING:
    from reference.scans import ScanModel

WRITE, CORRELATED, VACUUM = 0x01, 0x02, 0x04

MASK = 2**64 - 1

REFUSED = -1  # in place of a victim: the page is not to be cached


def mix64(x: int) -> int:
    """The finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def promotes(flags: int) -> bool:
    return not flags & (CORRELATED | VACUUM)


def last_usable(frames: list[int], unusable: Collection[int]) -> int | None:
    """The first usable frame from the tail of a list."""
    for frame in reversed(frames):
        if frame not in unusable:
            return frame
    return None


class Passed:
    """What searches have passed of one list, as in core/include/tidepool/parts/search.h.

    A list is given as a Python list, most recent first.
    """

    def __init__(self) -> None:
        self.passed: set[int] = set()  # always those at the end
        self.hand: int | None = None

    def search(
        self, frames: list[int], unusable: Collection[int], use_hand: bool = True
    ) -> int | None:
        order = frames[::-1]
        if self.passed:
            tail, *others = order[: len(self.passed)]
            if tail not in unusable:
                return tail
            if use_hand and others:
                i = others.index(self.hand) if self.hand in others else 0
                self.hand = others[i]
                if self.hand not in unusable:
                    return self.hand
                self.hand = others[i + 1] if i + 1 < len(others) else None
        for frame in order[len(self.passed) :]:
            if frame not in unusable:
                return frame
            self.passed.add(frame)
        return None

    def leave(self, frames: list[int], frame: int) -> None:
        """A frame is about to leave the list."""
        if self.hand == frame:
            before = frames[frames.index(frame) - 1] if frames[0] != frame else None
            self.hand = before if before in self.passed else None
        self.passed.discard(frame)

    def join(self, frames: list[int], frame: int) -> None:
        """A frame has been put back onto the list."""
        i = frames.index(frame)
        if i == len(frames) - 1:
            self.clear()
        elif i > 0 and frames[i - 1] in self.passed:
            self.passed.add(frame)

    def clear(self) -> None:
        self.passed, self.hand = set(), None

    def marks(self, frames: list[int], frame: int) -> str:
        """What tp_describe shows behind a frame."""
        last = len(self.passed) > 0 and frame == frames[-len(self.passed)]
        return "^" * last + "@" * (frame == self.hand)


class Frames(list[int]):
    """A linked list of frames, most recent first, that is searched."""

    def __init__(self, frames: Iterable[int] = ()) -> None:
        super().__init__(frames)
        self.passed = Passed()

    def search(self, unusable: Collection[int], use_hand: bool = True) -> int | None:
        return self.passed.search(self, unusable, use_hand)

    def remove(self, frame: int) -> None:
        self.passed.leave(self, frame)
        super().remove(frame)

    def pop(self, i: SupportsIndex = -1) -> int:
        frame = self[i]
        self.remove(frame)
        return frame

    def to_head(self, frame: int) -> None:
        """A frame that is there moves to the head."""
        if self[0] != frame:
            self.remove(frame)
            self.insert(0, frame)

    def marks(self, frame: int) -> str:
        return self.passed.marks(self, frame)


def search(lists: Sequence[Frames], unusable: Collection[int]) -> int | None:
    """Search lists in turn; at last look at all that was passed."""
    for frames in lists:
        frame = frames.search(unusable)
        if frame is not None:
            return frame
    for frames in lists:
        frame = last_usable(frames, unusable)
        if frame is not None:
            return frame
    return None


class PassedList(list[int]):
    """Frames that searches found unusable, apart from the others; last looked at first."""

    def look_again(self, unusable: Collection[int]) -> Iterator[int]:
        """Look at the last two; yield those that are usable, for the caller to take out."""
        for _ in range(min(2, len(self))):
            if self[-1] in unusable:
                self.insert(0, self.pop())
            else:
                yield self[-1]


Place = tuple[int, int | None, int | None]  # a list's number, what was before and behind


@dataclass
class Evicted:
    """A claimed frame's last page, and what the policy had of it."""

    page: int
    place: Place | None  # None: on no list, or on one without order
    known: dict[str, object]


def neighbours(items: list[int], item: int) -> tuple[int | None, int | None]:
    """What is before and behind it."""
    i = items.index(item)
    return items[i - 1] if i > 0 else None, items[i + 1] if i + 1 < len(items) else None


def put_back(items: list[int], item: int, before: int | None, behind: int | None) -> None:
    """Between those that it was between, if they are neighbours; else at the end."""
    if behind in items and neighbours(items, behind)[0] == before:
        items.insert(items.index(behind), item)
    else:
        items.append(item)
    if isinstance(items, Frames):
        items.passed.join(items, item)


def any_order(text: str, name: str) -> list[list[str]]:
    """The parts of a description, that of the named list in alphabetical order."""
    parts = [part.split() for part in text.split(" | ")]
    return [sorted(part) if part[0] == name + ":" else part for part in parts]


class Model:
    """A pool under one policy.

    A subclass names its policy and implements on_hit, choose, on_evict, on_admit, on_forget,
    coldest and state, and on_join and on_leave if bounds depend on c.  It
    keeps its lists as Python lists of frames (resident, named in ``linked``)
    or pages (ghosts, named in ``ghost_lists``), most recent first. ``page``
    maps resident frames to pages, ``c`` is the number of frames, ``now`` the
    time of the operation in microseconds, ``backend`` who made the reference
    being served, ``scan`` the handle of the scan it was made through,
    ``scans`` the running scans, ``capacity`` the number of frames that there
    may be.
    """

    policy: str
    knows_dirty = False  # the pool is told which pages must be written before they leave
    heap = ""  # the list that the pool shows in the order of its heap
    counts_all = False  # on_hit is also told of references that do not promote
    # attributes: lists of frames, lists of pages, dictionaries by frame
    linked: tuple[str, ...] = ()
    ghost_lists: tuple[str, ...] = ()
    per_frame: tuple[str, ...] = ()

    def __init__(
        self, params: dict[str, float], seed: int, ghosts_per_frame: int, capacity: int = 0
    ) -> None:
        self.params = params
        self.capacity = capacity
        self.random_state = seed
        self.now = 0
        self.backend = 0
        self.scan = 0
        self.scans: ScanModel | None = None
        self.ghosts_per_frame = ghosts_per_frame
        self.members: list[int] = []
        self.free: list[int] = []  # next to be used first
        self.claimed: dict[int, Evicted | None] = {}  # None: not by an eviction
        self.page: dict[int, int] = {}
        self.dirty: set[int] = set()  # frames with such pages
        self.origin: dict[int, str] = {}  # of a free frame: ghost list of its last page
        self.init()

    @property
    def c(self) -> int:
        return len(self.members)

    @property
    def ghost_slots(self) -> int:
        """Those that come with the frames, and the spare one."""
        return self.c * self.ghosts_per_frame + 1

    def init(self) -> None:
        """Set up the policy's own lists."""

    # ---- running scans ----

    def next_access(self, page: int) -> float:
        """In how many microseconds a scan will read the page."""
        return inf if self.scans is None else self.scans.next_access(page, self.now)

    # ---- randomness, as core/include/tidepool/parts/random.h ----

    def random(self) -> int:
        self.random_state = (self.random_state + 0x9E3779B97F4A7C15) & MASK
        return mix64(self.random_state)

    def random_below(self, n: int) -> int:
        return ((self.random() >> 32) * n) >> 32

    # ---- the operations ----

    def read(self, page: int) -> None:
        """The page is read from below the pool."""

    def join(self, frame: int) -> None:
        self.members.append(frame)
        self.free.append(frame)
        self.origin.pop(frame, None)
        self.on_join(frame)

    def leave(self, frame: int) -> None:
        """The last member takes the place of the one that leaves."""
        self.vacate(frame)
        limit = (self.c - 1) * self.ghosts_per_frame + 1 if self.c > 1 else 0
        self.trim_ghosts(limit)
        slot = self.members.index(frame)
        last = self.members.pop()
        if last != frame:
            self.members[slot] = last
        self.on_leave(frame, slot)

    def hit(self, frame: int, flags: int, backend: int = 0) -> None:
        self.backend = backend
        self.note_write(frame, flags)
        if promotes(flags) or self.counts_all:
            self.on_hit(frame, flags)

    def note_write(self, frame: int, flags: int) -> None:
        if self.knows_dirty and flags & WRITE:
            self.dirty.add(frame)

    def victim(
        self, page: int, unusable: Collection[int], flags: int, backend: int = 0
    ) -> int | None:
        self.backend = backend
        for frame in self.free:
            if frame not in unusable:
                return frame
        if not self.page:
            return None
        return self.choose(page, unusable, flags)

    def evict(self, frame: int, flags: int, backend: int = 0) -> None:
        self.backend = backend
        self.origin.pop(frame, None)
        evicted = Evicted(self.page[frame], self.place(frame), self.what_is_known(frame))
        self.on_evict(frame, flags)
        del self.page[frame]
        self.claimed[frame] = evicted

    def restore(self, frame: int, flags: int, backend: int = 0) -> None:
        """Undo the eviction of the page that was in this frame."""
        self.backend = backend
        evicted = self.claimed.pop(frame)
        assert evicted is not None
        self.page[frame] = evicted.page
        self.on_restore(frame, evicted)

    def claim(self, frame: int) -> None:
        self.free.remove(frame)
        self.claimed[frame] = None

    def release(self, frame: int) -> None:
        del self.claimed[frame]
        self.free.insert(0, frame)

    def vacate(self, frame: int) -> None:
        """The frame, which holds no page, is neither free nor claimed any more."""
        if frame in self.claimed:
            del self.claimed[frame]
        else:
            self.free.remove(frame)

    def admit(self, frame: int, page: int, flags: int, backend: int = 0) -> None:
        self.backend = backend
        self.vacate(frame)
        self.page[frame] = page
        self.dirty.discard(frame)
        self.note_write(frame, flags)
        self.on_admit(frame, page, flags)

    def forget(self, frame: int) -> None:
        """The frame is free then."""
        self.origin.pop(frame, None)
        self.on_forget(frame)
        del self.page[frame]
        self.free.insert(0, frame)

    # ---- for restore ----

    def frame_lists(self) -> list[list[int]]:
        return [getattr(self, name) for name in self.linked]

    def place(self, frame: int) -> Place | None:
        for i, frames in enumerate(self.frame_lists()):
            if frame in frames:
                return i, *neighbours(frames, frame)
        return None

    def what_is_known(self, frame: int) -> dict[str, object]:
        return {name: copy(getattr(self, name)[frame]) for name in self.per_frame}

    def drop_ghost(self, page: int) -> None:
        for name in self.ghost_lists:
            if page in getattr(self, name):
                getattr(self, name).remove(page)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        """The page is in self.page again."""
        self.drop_ghost(evicted.page)
        if evicted.place is not None:
            number, before, behind = evicted.place
            put_back(self.frame_lists()[number], frame, before, behind)
        for name, value in evicted.known.items():
            getattr(self, name)[frame] = value

    # ---- the policy's ----

    def on_join(self, frame: int) -> None: ...

    def on_leave(self, frame: int, slot: int) -> None: ...

    def on_hit(self, frame: int, flags: int) -> None: ...

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        raise NotImplementedError

    def on_evict(self, frame: int, flags: int) -> None:
        """The page is still in self.page.  Sets self.origin[frame] if a ghost is left."""
        raise NotImplementedError

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        raise NotImplementedError

    def on_forget(self, frame: int) -> None:
        raise NotImplementedError

    def trim_ghosts(self, limit: int) -> None: ...

    def coldest(self) -> list[int]:
        raise NotImplementedError

    def may_be_coldest(self, found: list[int]) -> bool:
        """Whether a walk may yield the frames in this order."""
        return found == self.coldest()

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        """The frames that a round of looking ahead finds; unwanted ones may be among them."""
        return self.coldest()[:victims]

    def may_find(self, found: list[int], victims: int, unwanted: Collection[int]) -> bool:
        """Whether a round finds these, the unwanted left out."""
        return found == [f for f in self.upcoming(victims, unwanted) if f not in unwanted]

    def state(self) -> dict[str, list[str] | str]:
        """Lists by name, then fields by name, in the order of tp_describe."""
        raise NotImplementedError

    # ---- text, as tp_describe ----

    def show(self, frame: int, count: int = 0, mark: int = 0) -> str:
        """A resident frame as tp_describe shows it."""
        text = self.show_page(self.page[frame])
        if count:
            text += f"*{count}"
        if mark:
            text += f"!{mark}"
        return text

    def show_list(self, frames: Frames, count: Mapping[int, int] | None = None) -> list[str]:
        """A linked list as tp_describe shows it."""
        counts = count or {}
        return [self.show(frame, counts.get(frame, 0)) + frames.marks(frame) for frame in frames]

    @staticmethod
    def show_page(page: int) -> str:
        relation, block = page >> 32, page & 0xFFFFFFFF
        return f"{relation}:{block}" if relation else str(block)

    @staticmethod
    def show_number(value: float) -> str:
        """A field as tp_describe shows it: at most three decimals."""
        return f"{int(value * 1000 + 0.5) / 1000:.3f}".rstrip("0").rstrip(".")

    def describe(self) -> str:
        parts = []
        for name, value in self.state().items():
            parts.append(
                f"{name}={value}" if isinstance(value, str) else " ".join([name + ":", *value])
            )
        return " | ".join(parts)

    def is_shown_as(self, text: str) -> bool:
        """Whether this describes the pool: heaps have cells, models do not."""
        return any_order(text, self.heap) == any_order(self.describe(), self.heap)
