"""Random replacement."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Model
from reference.sweep import Sweep


class Random(Model):
    """The resident pages have no order but that of the members."""

    policy = "random"

    def init(self) -> None:
        self.sweep = Sweep(1, 1, lambda frame: 0)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        for _ in range(16):
            frame = self.members[self.random_below(self.c)]
            if frame in self.page and frame not in unusable:
                return frame
        start = self.random_below(self.c)
        for i in range(self.c):
            frame = self.members[(start + i) % self.c]
            if frame in self.page and frame not in unusable:
                return frame
        return None

    def on_evict(self, frame: int, flags: int) -> None: ...

    def on_admit(self, frame: int, page: int, flags: int) -> None: ...

    def on_forget(self, frame: int) -> None: ...

    def coldest(self) -> list[int]:
        return [frame for frame in self.members if frame in self.page]

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.sweep.round(self, victims, unwanted)

    def state(self) -> dict[str, list[str] | str]:
        return {"frames": [self.show(frame) for frame in self.coldest()]}
