"""A pool of frames under one policy, one operation at a time.

For teaching, debugging and tests: every operation of the core's interface
(core/include/tidepool/pool.h) and the policy's lists as text.

>>> pool = Pool("arc", frames=3)
>>> pool.reference(1, 1, 2, 3, 4, 2)
>>> print(pool)
T1: 4 | T2: 2 1 | B1: 3 | B2: | p=1
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from tidepool._sim import ffi, lib
from tidepool.errors import PolicyError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.scans import Scans

WRITE: int = lib.TP_WRITE
CORRELATED: int = lib.TP_CORRELATED
VACUUM: int = lib.TP_VACUUM

REFUSED = -1  # in place of a victim: the policy does not want the page


class Pool:
    """A policy at work on ``frames`` frames, with room for ``capacity``.

    Frames are numbered from 0; frames 0 … frames-1 belong to the pool at
    first.  Pages are numbers below 2**64 (relation << 34 | fork << 32 |
    block).  Preconditions are the caller's: a frame to hit, evict or forget
    is resident, one to admit into or to leave is free or claimed.  References are made
    at time ``now`` and through the scan with handle ``scan``; ``scans`` is
    whom the policy may ask what will be read next.

    Raises PolicyError if there can be no such pool.
    """

    def __init__(
        self,
        policy: str | PolicySpec,
        frames: int,
        capacity: int | None = None,
        seed: int = 0,
        scans: Scans | None = None,
    ) -> None:
        spec = parse_policy(policy) if isinstance(policy, str) else policy
        if not isinstance(spec, PolicySpec):
            raise PolicyError(f"{policy!r} is not a policy", 'Use a name: "arc", "lirs:hir=2%".')
        for count in (frames, frames if capacity is None else capacity):
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
                raise PolicyError(
                    f"{count!r} is not a number of frames",
                    "Use a whole number: a pool alone knows no pages to have a share of.",
                )
        if spec.policy.handle is None:
            raise PolicyError(
                f'policy "{spec.policy.name}" is offline', "It exists in simulation only."
            )
        self.spec = spec
        self.capacity = max(frames, capacity or 0)
        if not 1 <= self.capacity < 2**31:
            raise PolicyError(
                f"a pool of {self.capacity} frames is not possible", "Use 1 to 2147483647."
            )
        cache = lib.tps_cache_new(spec.policy.handle, spec.array(), self.capacity, frames, seed)
        if cache == ffi.NULL:
            raise MemoryError(f"no memory for a pool of {self.capacity} frames")
        self._cache = ffi.gc(cache, lib.tps_cache_free)
        self._scans = scans
        if scans is not None:
            lib.tps_cache_set_scans(cache, scans.handle)
        self.now = 0
        self.scan = 0

    def find(self, page: int) -> int | None:
        """Return the frame that holds the page, if one does."""
        return self._frame(lib.tps_cache_find(self._cache, page))

    def read(self, page: int) -> None:
        """Say that the page is read from below the pool: policies may keep count of that (tac)."""
        lib.tps_cache_read(self._cache, page)

    def join(self, frame: int) -> None:
        """Give the pool a frame that it does not have."""
        lib.tps_cache_join(self._cache, frame)

    def leave(self, frame: int) -> None:
        """Take a free frame away from the pool."""
        lib.tps_cache_leave(self._cache, frame)

    def hit(self, frame: int, flags: int = 0, backend: int = 0) -> None:
        """Tell the policy of a reference to a resident page."""
        lib.tps_cache_hit(self._cache, frame, self._access(flags, backend))

    def victim(
        self, page: int, unusable: Collection[int] = (), flags: int = 0, backend: int = 0
    ) -> int | None:
        """Return the frame that the policy offers to the incoming page.

        None if no frame is usable; REFUSED if the page is not to be cached.
        """
        marks = ffi.NULL
        if unusable:
            marks = ffi.new("unsigned char[]", self.capacity)
            for frame in unusable:
                marks[frame] = 1
        access = self._access(flags, backend)
        victim: int = lib.tps_cache_victim(self._cache, page, marks, access)
        return REFUSED if victim == lib.TP_REFUSED else self._frame(victim)

    def evict(self, frame: int, flags: int = 0, backend: int = 0) -> None:
        """Carry out the eviction of the page in this frame, which is claimed then."""
        lib.tps_cache_evict(self._cache, frame, self._access(flags, backend))

    def admit(self, frame: int, page: int, flags: int = 0, backend: int = 0) -> None:
        """Load a page that is not resident into a free or claimed frame."""
        lib.tps_cache_admit(self._cache, frame, page, self._access(flags, backend))

    def restore(self, frame: int, flags: int = 0, backend: int = 0) -> None:
        """Undo the eviction of this frame's page, the last thing that happened to the frame."""
        lib.tps_cache_restore(self._cache, frame, self._access(flags, backend))

    def claim(self, frame: int) -> None:
        """Take a free frame: it is no longer offered as a victim."""
        lib.tps_cache_claim(self._cache, frame)

    def release(self, frame: int) -> None:
        """Give a claimed frame back: it is free, and the next victim."""
        lib.tps_cache_release(self._cache, frame)

    def forget(self, frame: int) -> None:
        """Say that the page in this frame ceased to exist: the frame is free."""
        lib.tps_cache_forget(self._cache, frame)

    def is_free(self, frame: int) -> bool:
        """Whether a frame of the pool holds no page: it is free or claimed."""
        return bool(lib.tps_cache_is_free(self._cache, frame))

    def is_claimed(self, frame: int) -> bool:
        """Whether a frame of the pool holds no page, and is not offered as a victim."""
        return bool(lib.tps_cache_is_claimed(self._cache, frame))

    def page_of(self, frame: int) -> int:
        """Return the page in a resident frame."""
        return int(lib.tps_cache_page_of(self._cache, frame))

    def coldest(self) -> list[int]:
        """Return the resident frames, next victim first."""
        frames = ffi.new("uint32_t[]", self.capacity)
        n = lib.tps_cache_coldest(self._cache, frames)
        return list(frames[0:n])

    def walk(self) -> Walk:
        """Begin to walk the resident frames as coldest does, in slices."""
        return Walk(self)

    def lookahead(self) -> Lookahead:
        """Begin to look ahead of evictions, as a background writer does."""
        return Lookahead(self)

    def move(self) -> None:
        """Move the state to another place in memory; nothing else changes."""
        if not lib.tps_cache_move(self._cache):
            raise MemoryError("no memory to move the pool to")

    def check(self) -> list[str]:
        """Return the invariants that do not hold: an empty list, unless there is a defect."""
        text = ffi.new("char[]", 4096)
        bad = lib.tps_cache_check(self._cache, text, len(text))
        lines = ffi.string(text).decode().splitlines()
        return lines if lines or not bad else [f"{bad} violations"]

    def reference(self, *pages: int, flags: int = 0, backend: int = 0) -> None:
        """Reference the pages in turn: hit, or victim, evict and admit; time advances by 1 each."""
        for page in pages:
            self.now += 1
            frame = self.find(page)
            if frame is not None:
                self.hit(frame, flags, backend)
                continue
            self.read(page)
            frame = self.victim(page, flags=flags, backend=backend)
            if frame is None or frame == REFUSED:
                continue
            if not self.is_free(frame):
                self.evict(frame, flags, backend)
            self.admit(frame, page, flags, backend)

    def _access(self, flags: int, backend: int) -> Any:
        access = ffi.new("tp_access *")
        access.now, access.flags, access.backend = self.now, flags, backend
        access.scan = self.scan
        return access

    def __str__(self) -> str:
        size = lib.tps_cache_describe(self._cache, ffi.NULL, 0) + 1
        text = ffi.new("char[]", size)
        lib.tps_cache_describe(self._cache, text, size)
        return str(ffi.string(text), "ascii")

    @staticmethod
    def _frame(frame: int) -> int | None:
        return None if frame == lib.TP_NONE else frame


class Walk:
    """A walk over a pool's resident frames, next victim first.

    Between its slices the pool may change: then frames may be missed or come
    twice, but the walk ends.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._cursor = ffi.new("tp_cursor *")

    @property
    def over(self) -> bool:
        """Whether the walk has ended."""
        return bool(self._cursor.over)

    def slice(self, looks: int) -> list[int]:
        """Return the frames that come of so many looks, at least one."""
        frames = ffi.new("uint32_t[]", looks)
        n = lib.tps_cache_coldest_slice(self._pool._cache, self._cursor, looks, frames)
        return list(frames[0:n])


class Lookahead:
    """Rounds of looking for frames that are likely to be evicted soon, in slices."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._ahead = ffi.new("tp_lookahead *")

    def begin(self, victims: int) -> None:
        """Begin a round: so many evictions, at least one, are expected until the next."""
        lib.tps_cache_upcoming_begin(self._ahead, victims)

    @property
    def over(self) -> bool:
        """Whether the round has ended."""
        return bool(self._ahead.cursor.over)

    def slice(self, looks: int, unwanted: Collection[int] = ()) -> list[int]:
        """Return the frames, but the unwanted, that come of so many looks, at least one."""
        marks = ffi.new("unsigned char[]", self._pool.capacity)
        for frame in unwanted:
            marks[frame] = 1
        frames = ffi.new("uint32_t[]", looks)
        n = lib.tps_cache_upcoming_slice(self._pool._cache, self._ahead, marks, looks, frames)
        return list(frames[0:n])
