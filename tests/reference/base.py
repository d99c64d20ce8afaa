"""What all models share: membership, the free list, page identities, randomness."""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from tidepool.scans import Scans

WRITE, CORRELATED, VACUUM = 0x01, 0x02, 0x04

MASK = 2**64 - 1


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


class Model:
    """A pool under one policy.

    A subclass implements on_hit, choose, on_evict, on_admit, on_forget,
    coldest and state, and on_join and on_leave if bounds depend on c.  It
    keeps its lists as Python lists of frames (resident) or pages (ghosts),
    most recent first.  ``page`` maps resident frames to pages, ``c`` is the
    number of frames, ``now`` the time of the operation in microseconds,
    ``backend`` who made the reference being served, ``scan`` the handle of
    the scan it was made through, ``scans`` the running scans.
    """

    counts_all = False  # on_hit is also told of references that do not promote

    def __init__(self, params: dict[str, float], seed: int, ghosts_per_frame: int) -> None:
        self.params = params
        self.random_state = seed
        self.now = 0
        self.backend = 0
        self.scan = 0
        self.scans: Scans | None = None
        self.ghosts_per_frame = ghosts_per_frame
        self.members: list[int] = []
        self.free: list[int] = []  # next to be used first
        self.page: dict[int, int] = {}
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
        if self.scans is None:
            return inf
        self.scans.now = self.now
        return self.scans.next_access(page)

    # ---- randomness, as core/include/tidepool/random.h ----

    def random(self) -> int:
        self.random_state = (self.random_state + 0x9E3779B97F4A7C15) & MASK
        return mix64(self.random_state)

    def random_below(self, n: int) -> int:
        return ((self.random() >> 32) * n) >> 32

    # ---- the operations ----

    def join(self, frame: int) -> None:
        self.members.append(frame)
        self.free.append(frame)
        self.origin.pop(frame, None)
        self.on_join(frame)

    def leave(self, frame: int) -> None:
        """The last member takes the place of the one that leaves."""
        self.free.remove(frame)
        limit = (self.c - 1) * self.ghosts_per_frame + 1 if self.c > 1 else 0
        self.trim_ghosts(limit)
        slot = self.members.index(frame)
        last = self.members.pop()
        if last != frame:
            self.members[slot] = last
        self.on_leave(frame, slot)

    def hit(self, frame: int, flags: int, backend: int = 0) -> None:
        self.backend = backend
        if promotes(flags) or self.counts_all:
            self.on_hit(frame, flags)

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
        self.on_evict(frame, flags)
        del self.page[frame]
        self.free.insert(0, frame)

    def admit(self, frame: int, page: int, flags: int, backend: int = 0) -> None:
        self.backend = backend
        self.free.remove(frame)
        self.page[frame] = page
        self.on_admit(frame, page, flags)

    def forget(self, frame: int) -> None:
        self.origin.pop(frame, None)
        self.on_forget(frame)
        del self.page[frame]
        self.free.insert(0, frame)

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
