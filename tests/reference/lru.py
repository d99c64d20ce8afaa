"""Least recently used."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Frames, Model, search


class LRU(Model):
    policy = "lru"
    linked = ("recent",)

    def init(self) -> None:
        self.recent = Frames()

    def on_hit(self, frame: int, flags: int) -> None:
        self.recent.to_head(frame)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return search([self.recent], unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.recent.remove(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.recent.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        self.recent.remove(frame)

    def coldest(self) -> list[int]:
        return self.recent[::-1]

    def state(self) -> dict[str, list[str] | str]:
        return {"recent": self.show_list(self.recent)}
