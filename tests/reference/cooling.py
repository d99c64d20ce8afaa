"""The clock proposed for PostgreSQL 20: pages are hot, with a reference bit, or cool."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import VACUUM, Model


class Cooling(Model):
    """The members are the ring; ``hand`` is the index of the one it will look at next."""

    policy = "cooling"
    counts_all = True
    per_frame = ("hot", "referenced")

    def init(self) -> None:
        self.hand = 0
        self.hot: dict[int, bool] = {}  # of resident frames
        self.referenced: dict[int, bool] = {}

    def on_leave(self, frame: int, slot: int) -> None:
        if self.hand >= self.c:
            self.hand = 0

    def on_hit(self, frame: int, flags: int) -> None:
        if not flags & VACUUM:
            self.hot[frame] = self.referenced[frame] = True

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        if all(frame in unusable for frame in self.page):
            return None
        while True:
            frame = self.members[self.hand]
            self.hand = (self.hand + 1) % self.c
            if frame not in self.page or frame in unusable:
                continue
            if not self.hot[frame]:
                return frame
            if self.referenced[frame]:
                self.referenced[frame] = False
            else:
                self.hot[frame] = False

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.hot[frame] = self.referenced[frame] = False

    def on_forget(self, frame: int) -> None:
        del self.hot[frame], self.referenced[frame]

    def passes(self, frame: int) -> int:
        """How often the hand passes the page before it evicts it."""
        return self.hot[frame] + self.referenced[frame]

    def coldest(self) -> list[int]:
        turn = [self.members[(self.hand + i) % self.c] for i in range(self.c)]
        return sorted((frame for frame in turn if frame in self.page), key=self.passes)

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return [frame for frame in self.coldest() if not self.hot[frame]][:victims]

    def state(self) -> dict[str, list[str] | str]:
        resident = [frame for frame in self.members if frame in self.page]
        return {
            "ring": [self.show(frame, self.passes(frame)) for frame in resident],
            "hand": str(self.hand),
        }
