"""Clock with usage counts."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import VACUUM, Model


class Clock(Model):
    """The members are the ring; ``hand`` is the index of the one it will look at next."""

    policy = "clock"

    counts_all = True
    per_frame = ("usage",)

    def init(self) -> None:
        self.hand = 0
        self.usage: dict[int, int] = {}  # of resident frames

    def on_leave(self, frame: int, slot: int) -> None:
        if self.hand >= self.c:
            self.hand = 0

    def on_hit(self, frame: int, flags: int) -> None:
        """VACUUM's references raise the count to 1 at most, as PostgreSQL's rings do."""
        if self.usage[frame] < (1 if flags & VACUUM else self.params["max_usage"]):
            self.usage[frame] += 1

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        if all(frame in unusable for frame in self.page):
            return None
        while True:
            frame = self.members[self.hand]
            self.hand = (self.hand + 1) % self.c
            if frame not in self.page or frame in unusable:
                continue
            if self.usage[frame] == 0:
                return frame
            self.usage[frame] -= 1

    def on_evict(self, frame: int, flags: int) -> None:
        del self.usage[frame]

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.usage[frame] = int(self.params["initial"])

    def on_forget(self, frame: int) -> None:
        del self.usage[frame]

    def coldest(self) -> list[int]:
        """The order in which the hand would find them at zero."""
        turn = [self.members[(self.hand + i) % self.c] for i in range(self.c)]
        return sorted(
            (frame for frame in turn if frame in self.page), key=lambda frame: self.usage[frame]
        )

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return [frame for frame in self.coldest() if self.usage[frame] == 0][:victims]

    def state(self) -> dict[str, list[str] | str]:
        ring = [self.show(frame, self.usage[frame]) for frame in self.members if frame in self.page]
        return {"ring": ring, "hand": str(self.hand)}
