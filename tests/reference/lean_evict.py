"""LeanEvict: pages picked at random cool down in a queue."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import Evicted, Model

DRAWS = 64  # for a victim, at most


class LeanEvict(Model):
    policy = "lean_evict"
    linked = ("cooling",)

    def init(self) -> None:
        self.cooling: list[int] = []

    @property
    def target(self) -> int:
        return max(1, floor(self.params["cooling"] * self.c)) if self.c else 0

    @property
    def hot(self) -> list[int]:
        return [f for f in self.members if f in self.page and f not in self.cooling]

    def on_join(self, frame: int) -> None:
        while len(self.cooling) > self.target:
            self.cooling.pop(0)

    def on_leave(self, frame: int, slot: int) -> None:
        self.on_join(frame)

    def on_hit(self, frame: int, flags: int) -> None:
        if frame in self.cooling:
            self.cooling.remove(frame)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        self.cool(unusable)
        for frame in reversed(self.cooling):
            if frame not in unusable:
                return frame
        start = self.random_below(self.c)
        for frame in self.members[start:] + self.members[:start]:
            if frame in self.hot and frame not in unusable:
                return frame
        return None

    def cool(self, unusable: Collection[int]) -> None:
        for _ in range(DRAWS):
            if len(self.cooling) >= self.target or not self.hot:
                return
            frame = self.members[self.random_below(self.c)]
            if frame in self.hot and frame not in unusable:
                self.cooling.insert(0, frame)

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None: ...

    def on_forget(self, frame: int) -> None:
        if frame in self.cooling:
            self.cooling.remove(frame)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        """Hot, if enough others are cooling meanwhile."""
        if len(self.cooling) < self.target:
            super().on_restore(frame, evicted)

    def coldest(self) -> list[int]:
        return self.cooling[::-1] + self.hot

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.cooling[::-1][:victims]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "hot": [self.show(frame) for frame in self.hot],
            "cooling": [self.show(frame) for frame in self.cooling],
            "target": str(self.target),
        }
