"""What S3-FIFO and Clock2Q+ share: a small and a main queue, and ghosts of the small one."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import Frames, Model, promotes
from reference.queue_pair import choose_of_pair


class SmallMain(Model):
    linked = ("small", "main")
    ghost_lists = ("ghost",)
    per_frame: tuple[str, ...] = ("count",)

    def init(self) -> None:
        self.small = Frames()
        self.main = Frames()
        self.ghost: list[int] = []  # pages
        self.count: dict[int, int] = {}  # references of resident frames, as the policy counts

    @property
    def target(self) -> int:
        """Size from which on the small queue gives the victims."""
        return max(1, floor(self.params["small"] * self.c))

    @property
    def ghost_limit(self) -> int:
        return floor(self.params["ghost"] * self.c)

    def small_has_turn(self) -> bool:
        return len(self.small) >= self.target

    def goes(self, frame: int) -> bool:
        """Whether the page is evicted when its queue gives it up."""
        raise NotImplementedError

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_ghosts(self.ghost_limit)

    def spared(self, frame: int) -> bool:
        if self.goes(frame):
            return False
        self.count[frame] = 0 if frame in self.small else self.count[frame] - 1
        return True

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return choose_of_pair((self.small, self.main), self.small_has_turn, self.spared, unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        if frame in self.small and self.ghost_limit > 0:
            self.trim_ghosts(self.ghost_limit - 1)
            self.ghost.insert(0, self.page[frame])
            self.origin[frame] = "ghost"
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        remembered = page in self.ghost
        if remembered:
            self.ghost.remove(page)
        (self.main if remembered and promotes(flags) else self.small).insert(0, frame)
        self.count[frame] = 0

    def on_forget(self, frame: int) -> None:
        (self.small if frame in self.small else self.main).remove(frame)
        del self.count[frame]

    def trim_ghosts(self, limit: int) -> None:
        while len(self.ghost) > limit:
            self.ghost.pop()

    def coldest(self) -> list[int]:
        """By the promotions and second chances that a page has yet to use up."""
        small, main = self.small[::-1], self.main[::-1]
        turns = small + main if self.small_has_turn() else main + small
        order = [frame for frame in turns if self.goes(frame)]
        order += [frame for frame in small if not self.goes(frame)]
        kept = [frame for frame in main if not self.goes(frame)]
        return order + sorted(kept, key=self.count.__getitem__)

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        small = [frame for frame in self.small[::-1] if self.goes(frame)]
        main = [frame for frame in self.main[::-1] if self.goes(frame)]
        return small[:victims] + main[:victims]
