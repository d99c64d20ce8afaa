"""Clock2Q+: Zhai, Marthen and others."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import Frames, Model, last_usable, promotes


class Clock2QPlus(Model):
    policy = "clock2q_plus"
    linked = ("small", "main")
    ghost_lists = ("ghost",)
    per_frame = ("referenced", "inserted")

    def init(self) -> None:
        self.small = Frames()
        self.main = Frames()
        self.ghost: list[int] = []  # pages
        self.referenced: dict[int, bool] = {}  # of resident frames
        self.inserted: dict[int, int] = {}  # number of the insertion into small
        self.insertions = 0

    @property
    def target(self) -> int:
        """Size from which on the small queue gives the victims."""
        return max(1, floor(self.params["small"] * self.c))

    @property
    def window(self) -> int:
        return floor(self.params["window"] * self.target)

    @property
    def ghost_limit(self) -> int:
        return floor(self.params["ghost"] * self.c)

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_ghosts(self.ghost_limit)

    def on_hit(self, frame: int, flags: int) -> None:
        newer = self.insertions - self.inserted[frame]
        if frame in self.main or newer >= self.window:
            self.referenced[frame] = True

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        searched_in_vain: set[str] = set()
        while len(searched_in_vain) < 2:
            turn = ["small", "main"] if len(self.small) >= self.target else ["main", "small"]
            name = next(name for name in turn if name not in searched_in_vain)
            queue: Frames = getattr(self, name)
            frame = queue.search(unusable)
            if frame is None:
                searched_in_vain.add(name)
                continue
            if not self.referenced[frame]:
                return frame
            self.referenced[frame] = False
            if queue is self.main:
                queue.to_head(frame)
            else:
                queue.remove(frame)
                self.main.insert(0, frame)
            searched_in_vain.discard("main")
        return last_usable(self.main + self.small, unusable)

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
        self.referenced[frame] = False
        self.inserted[frame] = 0
        if remembered and promotes(flags):
            self.main.insert(0, frame)
        else:
            self.insertions += 1
            self.inserted[frame] = self.insertions
            self.small.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        (self.small if frame in self.small else self.main).remove(frame)
        del self.referenced[frame], self.inserted[frame]

    def trim_ghosts(self, limit: int) -> None:
        while len(self.ghost) > limit:
            self.ghost.pop()

    def coldest(self) -> list[int]:
        """By the turns that a page has yet to get before it goes."""
        groups = [
            [frame for frame in queue[::-1] if self.referenced[frame] == referenced]
            for referenced in (False, True)
            for queue in (self.small, self.main)
        ]
        if len(self.small) < self.target:
            groups[0], groups[1] = groups[1], groups[0]
        return [frame for group in groups for frame in group]

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        queues = (self.small, self.main)
        return [
            frame
            for queue in queues
            for frame in [frame for frame in queue[::-1] if not self.referenced[frame]][:victims]
        ]

    def state(self) -> dict[str, list[str] | str]:
        bits = {frame: int(bit) for frame, bit in self.referenced.items()}
        return {
            "small": self.show_list(self.small, bits),
            "main": self.show_list(self.main, bits),
            "ghost": [self.show_page(page) for page in self.ghost],
            "target": str(self.target),
            "window": str(self.window),
        }
