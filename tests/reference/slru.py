"""Segmented LRU: Karedla, Love and Wherry."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import Evicted, Frames, Model, search


class SLRU(Model):
    policy = "slru"
    linked = ("probation", "protected")

    def init(self) -> None:
        self.probation = Frames()
        self.protected = Frames()

    @property
    def limit(self) -> int:
        return floor(self.params["protected"] * self.c)

    def demote(self) -> None:
        while len(self.protected) > self.limit:
            self.probation.insert(0, self.protected.pop())

    def on_leave(self, frame: int, slot: int) -> None:
        self.demote()

    def on_hit(self, frame: int, flags: int) -> None:
        if frame in self.probation:
            self.probation.remove(frame)
            self.protected.insert(0, frame)
        self.protected.to_head(frame)
        self.demote()

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return search([self.probation, self.protected], unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        super().on_restore(frame, evicted)
        self.demote()

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.probation.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        (self.probation if frame in self.probation else self.protected).remove(frame)

    def coldest(self) -> list[int]:
        return self.probation[::-1] + self.protected[::-1]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "probation": self.show_list(self.probation),
            "protected": self.show_list(self.protected),
            "limit": str(self.limit),
        }
